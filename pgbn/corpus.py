"""Corpora of counts and texts: the public name of `pgbn.storage.corpus`."""

from pgbn.storage.corpus import *  # noqa: F403
from pgbn.storage.corpus import __all__ as __all__
