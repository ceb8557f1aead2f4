"""All cases by name, about a hundred. Importing a module registers its cases.

They run every node type of the zoo, every sampler of the first layer, every kernel and every saved
format. Other executors are compared with threads, bit by bit, in tests/samplers and
tests/engine/shards.
"""

from __future__ import annotations

from . import chains, draws, evaluating, stopping, training
from .registry import CASES, Case

__all__ = ["CASES", "MODULES", "Case"]

MODULES = (chains, draws, training, evaluating, stopping)
