"""The version of pgbn, and those of what it stands on."""

__all__ = ["__version__"]

__version__ = "0.1.0"
