"""The data of the golden files, made by arithmetic: they need no random generator to be made again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BESIDE", "documents"]

ROWS, TERMS = 12, 9


def documents(link: str = "poisson") -> NDArray[Any]:
    """12 documents × 9 terms of two themes."""
    row, column = np.indices((ROWS, TERMS))
    x = np.where((row + column) % 2 == 0, (7 * row + 5 * column) % 6, (3 * row * column) % 11 // 9)
    if link == "bernoulli":
        return (x > 0).astype(np.int64)
    return x * (1.0 + (row + 2 * column) % 5 / 8.0) if link == "gamma" else x


# what is saved with an object
BESIDE: dict[str, Any] = {
    "vocabulary": [f"word {v}" for v in range(TERMS - 1)] + ["Größe"],
    "names": [f"text {j}" for j in range(ROWS)],
    "record": {"corpus": "made up", "number": 1.5}, "data": documents(),
}  # fmt: skip
