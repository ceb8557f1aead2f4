"""The warning that pgbn gives where it can go on, but a user should know."""

__all__ = ["PgbnWarning"]


class PgbnWarning(UserWarning):
    """Data that were handled in a way worth knowing: empty documents, unknown terms, …"""
