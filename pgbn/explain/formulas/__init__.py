"""Formulas: the LaTeX that explain writes is read once, and shown as plain text or as MathML."""

from pgbn.explain.formulas.mathml import aligned_mathml, inline_mathml
from pgbn.explain.formulas.plain import to_unicode

__all__ = ["aligned_mathml", "inline_mathml", "to_unicode"]
