"""All cases by name. Importing a module registers its cases."""

from __future__ import annotations

from . import chains, draws, evaluating, stopping, training
from .registry import CASES, Case

__all__ = ["CASES", "MODULES", "Case"]

MODULES = (chains, draws, training, evaluating, stopping)
