"""Expressions brought to their normal form: one file for each kind of expression."""

from pgbn.network.lowering import (  # noqa: F401  (they register)
    edges,
    indexed,
    leaves,
    paired,
    products,
    renamed,
    shifted,
)
from pgbn.network.lowering.walk import lower

__all__ = ["lower"]
