"""What a node type says of its law, asked without a network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn import Node
from pgbn.nodes.rules.registry import find_draw
from pgbn.samplers.random import Stream

__all__ = ["density", "draws", "posterior"]


def density(node: Node, value: float, **slots: float) -> float:
    """ln p(value | slots)."""
    arrays = {name: np.array(number, np.float64) for name, number in slots.items()}
    return float(node.log_density(np.array(value), **arrays))


def draws(node: Node, number: int = 20_000, **slots: Any) -> NDArray[Any]:
    """Independent draws, given the slots."""
    return node.generate(Stream(7, (1, 1, 1, number)), **slots).reshape(-1)


def posterior(node: Node, kind: str = "poisson", **received: Any) -> dict[str, Any]:
    """The new slots of a node that has heard evidence of a kind."""
    return dict(find_draw(node, kind).posterior(**received))
