"""What nodes need of a room above them: formulas in plain text."""

from __future__ import annotations

__all__ = ["plain_formula"]


def plain_formula(latex: str) -> str:
    """LaTeX as unicode for a terminal."""
    from pgbn.explain.formulas import to_unicode

    return to_unicode(latex)
