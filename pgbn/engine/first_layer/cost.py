"""What a sweep of the first layer costs, from the sizes of the data.

Nanoseconds on one core, fitted to times that were measured (docs/performance.md) and right within
a factor of two: enough to see where labels for every token cost many times more than a split of
every cell. It is a formula and not a clock, nor does it know the threads: the same data and widths
give the same choice, and so the same chain, everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["blocked_is_cheaper", "nanoseconds"]

# One sweep of the collapsed sampler moves further than one of the blocked, which holds Φ and θ.
_WORTH = 4.0


def nanoseconds(
    counts: NDArray[np.integer], documents: int, vocabulary: int, topics: int
) -> dict[str, float]:
    """The cost of a sweep by sampler; ``counts`` are those of the non-zero cells.

    The collapsed sampler draws a label for every token; the blocked one splits every cell, token by
    token up to 4 K of them and by binomials beyond, and draws Φ and θ.
    """
    cells, tokens = float(counts.size), float(counts.sum(dtype=np.float64))
    drawn = float(np.minimum(counts, 4 * topics).sum(dtype=np.float64))
    return {
        "collapsed": tokens * (25.0 + 0.05 * topics) + cells * (20.0 + 0.05 * topics),
        "blocked": drawn * (10.0 + 0.04 * topics)
        + cells * (70.0 + 0.1 * topics)
        + 11.0 * topics * (documents + vocabulary),
    }


def blocked_is_cheaper(
    counts: NDArray[np.integer], documents: int, vocabulary: int, topics: int
) -> bool:
    """Whether so many tokens are in so few cells that labels are not worth their cost."""
    cost = nanoseconds(counts, documents, vocabulary, topics)
    return _WORTH * cost["blocked"] < cost["collapsed"]
