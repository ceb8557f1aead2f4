"""Expressions brought to their normal form: one file for each kind of expression."""

from pgbn.network.lowering import leaves, products, renamed, shifted  # noqa: F401  (they register)
from pgbn.network.lowering.walk import lower

__all__ = ["lower"]
