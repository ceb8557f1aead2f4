"""From log-gammas to points of a simplex."""

import math

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import exp, log1p
from pgbn.samplers.random import uniform
from pgbn.samplers.variates.gamma import draw_log_gamma


@njit(cache=True, nogil=True, forceinline=True)
def draw_log_beta_odds(rng, a, b):
    """ln((1 - p) / p), p ~ Beta(a, b), as ln Gam(b) - ln Gam(a): p is never formed."""
    log_a = log_b = 0.0
    for second in range(2):  # a loop, as what it draws is inlined: two copies take long to compile
        log_a, log_b = log_b, draw_log_gamma(rng, b if second else a)
    if log_a == -math.inf and log_b == -math.inf:
        # Shapes below about 1e-306: p is 1 with probability a / (a + b), else 0. The shapes
        # are compared at a scale where their sum does not underflow.
        a, b = a * 1e16, b * 1e16
        return -math.inf if uniform(rng) * (a + b) <= a else math.inf
    return log_b - log_a


@njit(cache=True, nogil=True, forceinline=True)
def draw_neg_log_beta(rng, a, n):
    """q = -ln s, s ~ Beta(a, n), as ln(1 + exp(ln Gam(n) - ln Gam(a))).

    The exposure that a Dirichlet node of total shape a passes on when its counts sum to n;
    0 at n = 0 and inf at a = 0 < n.
    """
    if n == 0:
        return 0.0
    odds = draw_log_beta_odds(rng, a, float(n))
    if odds > 0.0:
        return odds + log1p(exp(-odds))
    return log1p(exp(odds))
