"""Langevin steps of gamma variables and proportions, by their exact transition.

    dω = (a − ω) dt + √(2ω) dW,
    ω(h) | ω(0):  n ~ Pois(ω(0) / (eʰ − 1)),  ω(h) ~ (1 − e⁻ʰ) Gam(a + n)

is the Riemannian Langevin diffusion whose law in the long run is Gam(a, 1), a process of Cox,
Ingersoll and Ross. Its transition is known, so that no step is too long and none leaves the
positive numbers: with a fixed, every h leaves Gam(a, 1) as it is. Proportions φ ~ Dir(a) are
ω / Σω, where Σω ~ Gam(Σa) is independent of φ and drawn anew.

Reference: Baker, Fearnhead, Fox & Nemeth, Large-scale stochastic sampling from the probability
simplex, NeurIPS 2018.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.samplers import vectorised
from pgbn.samplers.elementwise import expm1_of
from pgbn.samplers.stream import Stream

__all__ = ["step_proportions"]

MOST = 2.0**53  # of a Poisson mean


def step_proportions(
    stream: Stream, value: NDArray[np.float64], concentration: NDArray[np.float64], time: Any
) -> NDArray[np.float64]:
    """φ after the time h, given φ: n_v ~ Pois(G φ_v / (eʰ − 1)), G ~ Gam(Σ_v a_v), then
    φ ~ Dir(a + n). Arrays have the shape of the stream; ``time`` has size 1 on its axis
    ``simplex``."""
    axis = stream.simplex
    lines = stream.child("total", without=axis)
    total = vectorised.gamma(lines, concentration.sum(axis=axis, keepdims=True), 1.0)
    mean = np.minimum(value * (total / expm1_of(np.asarray(time, np.float64))), MOST)
    kept = vectorised.poisson(stream.child("kept"), mean)
    return vectorised.dirichlet(stream.child("value"), concentration + kept, axis)
