"""How far single precision moves the gammas of the kernels: a bound, not a sample.

    python -m tests.evidence.precision

A kernel makes x = (u (1 + a/e))^(1/a) of a uniform u with 32 bits, in single precision, and accepts
it with the probability e^-x (x ≤ 1). Here the same u are turned into x by the code of the kernels
and in double precision. Let w be the probability of accepting. Then

    rounding    Σ w |x_single − x_double| / Σ w x_double

bounds the relative change of E[x], so also of a posterior mean of θ given its shape, count and rate.
32 bits of u are a sum of 2^32 equal steps in place of an integral: of a function of u that rises from 0
to at most e^(1/e) this is wrong by at most e^(1/e) 2^-33, which divided by E[x] P(accept) is the column
``steps``. Values below 2^-126 become 0: ``lost`` is their probability, and their share of E[x] is below
2^-126 / a.
"""

from __future__ import annotations

import math

import numpy as np

from pgbn.samplers.compiled import njit
from pgbn.samplers.variates.gamma import _log_proposal, _power

__all__ = ["bound", "table"]

SHAPES = (0.003, 0.01, 0.03, 0.1, 0.3, 0.9)
POINTS = 2**20


@njit(nogil=True)
def _proposals(words, shape, out):
    """x of every word, as the kernels make it."""
    short = np.float32(shape)
    for i in range(words.size):
        out[i] = _power(_log_proposal(words[i], short))


def bound(shape: float) -> dict[str, float]:
    """The figures of a shape."""
    high = np.linspace(0, 2**32 - 1, POINTS).astype(np.uint64)
    single = np.empty(POINTS)
    _proposals(high << np.uint64(32), shape, single)
    u = 1.0 - (high + 0.5) * 2.0**-32
    double = np.exp((np.log(u) + math.log1p(shape / math.e)) / shape)
    accepted = np.where(double <= 1.0, np.exp(-double), 0.0)  # beyond 1 in double from the start
    mean = float((accepted * double).mean())
    rounding = float((accepted * np.abs(single - double)).mean()) / mean
    steps = math.exp(1.0 / math.e) * 2.0**-33 / mean
    lost = float(np.mean(double < 2.0**-126))
    return {"shape": shape, "rounding": rounding, "steps": steps, "lost": lost}


def table() -> str:
    """The figures of some shapes in Markdown."""
    lines = ["| shape | rounding | steps | values below 2⁻¹²⁶ |", "|---|---|---|---|"]
    for row in map(bound, SHAPES):
        lines.append(f"| {row['shape']:g} | {row['rounding']:.1e} | {row['steps']:.1e} | "
                     f"{row['lost']:.1%} |")  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
