"""Corpora of counts and texts: the public name of `pgbn.storage.corpus`."""

from pgbn.storage.blocks import Corpus
from pgbn.storage.corpus import count_terms, read_corpus
from pgbn.storage.sources import FORMATS

__all__ = ["FORMATS", "Corpus", "count_terms", "read_corpus"]
