"""A corpus that needs no download: the public name of `pgbn.storage.docstrings`."""

from pgbn.storage.docstrings import docstrings

__all__ = ["docstrings"]
