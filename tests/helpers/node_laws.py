"""What a node type says of its law, asked without a network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.extend import Node
from pgbn.samplers.random import Stream

__all__ = ["density", "draws"]


def density(node: Node, value: float, **slots: float) -> float:
    """ln p(value | slots)."""
    arrays = {name: np.array(number, np.float64) for name, number in slots.items()}
    return float(node.log_density(np.array(value), **arrays))


def draws(node: Node, number: int = 20_000, **slots: Any) -> NDArray[Any]:
    """Independent draws, given the slots."""
    return node.generate(Stream(7, (1, 1, 1, number)), **slots).reshape(-1)
