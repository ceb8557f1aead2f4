"""Every node type without a network: its density, its draws, what it rejects, where chains begin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, i1, ive

from pgbn import (
    Bernoulli,
    BernoulliPoisson,
    Beta,
    BetaOdds,
    Categorical,
    Dirichlet,
    Gamma,
    HiddenPoisson,
    LogitBernoulli,
    LogNormal,
    Multinomial,
    Network,
    Normal,
    ObservedNormal,
    PgbnWarning,
    Poisson,
    PoissonGamma,
    RandomisedGamma,
    nodes,
)
from pgbn.extend import Latent, Node, Observed
from pgbn.nodes.poisson import LARGEST_RATE
from pgbn.samplers.random import Stream
from tests.helpers.laws import assert_counts_follow, assert_follows
from tests.helpers.node_laws import density, draws

TINY = float(np.finfo(np.float64).tiny)  # what kernels draw where a shape is 0
GAMMA, BETA, ODDS, GATE = (
    Gamma("g", 1, 1),
    Beta("p", 1, 1),
    BetaOdds("c", 1, 1),
    Bernoulli("h", 0.5),
)
POISSON, BINARY, REAL = Poisson("x", 1.0), BernoulliPoisson("b", 1.0), PoissonGamma("y", 1.0, 1.0)
LOGIT, PHI = LogitBernoulli("h", 0.0), Dirichlet("phi", 1, over="term", dims="topic")
MIDDLE = {"mean": 0.5, "precision": 4.0}


def real(value: float, rate: float, noise: float) -> tuple[Node, float, dict[str, float], float]:
    """ln[√(aλ/y) I₁(2√(aλy)) e^{−λ−ay}], directly."""
    root = np.sqrt(noise * rate / value) * i1(2 * np.sqrt(noise * rate * value))
    return REAL, value, {"rate": rate, "noise": noise}, np.log(root) - rate - noise * value


DENSITIES: list[tuple[Node, float, dict[str, float], float]] = [
    (GAMMA, 0.7, {"shape": 2.0, "rate": 3.0}, stats.gamma(2, scale=1 / 3).logpdf(0.7)),
    (GAMMA, 0.7, {"shape": 0.0, "rate": 3.0}, -np.inf),  # of shape 0: a point mass at 0
    (GAMMA, 0.0, {"shape": 0.0, "rate": 3.0}, 0.0),
    (GAMMA, TINY, {"shape": 0.0, "rate": 3.0}, 0.0),
    (GAMMA, 1e-300, {"shape": 0.0, "rate": 3.0}, -np.inf),
    (BETA, 0.3, {"a": 2.0, "b": 3.0}, stats.beta(2, 3).logpdf(0.3)),
    *((ODDS, c, {"a": 2.0, "b": 3.0}, stats.betaprime(3, 2).logpdf(c)) for c in (1e-9, 0.4, 7.0)),
    (GATE, 1, {"probability": 0.3}, np.log(0.3)),
    (GATE, 0, {"probability": 0.3}, np.log(0.7)),
    (GATE, 0, {"probability": 0.0}, 0.0),
    (GATE, 1, {"probability": 1.0}, 0.0),
    (GATE, 1, {"probability": 0.0}, -np.inf),
    *((LOGIT, 1, {"logit": psi}, np.log(expit(psi))) for psi in (-1.0, 0.0, 3.0)),
    *((LOGIT, 0, {"logit": psi}, np.log(expit(-psi))) for psi in (-1.0, 0.0, 3.0)),
    (BINARY, 0, {"rate": 2.0}, -2.0),
    (BINARY, 1, {"rate": 2.0}, math.log(-math.expm1(-2.0))),
    *((node, x, {"rate": rate}, stats.poisson(rate).logpmf(x))
      for node in (POISSON, HiddenPoisson("h", 1.0))
      for x, rate in ((0, 2.5), (3, 2.5), (0, 0.0), (10**6, 1e6))),
    (REAL, 0.0, {"rate": 2.0, "noise": 3.0}, -2.0),
    (REAL, 1e-9, {"rate": 1e-9, "noise": 1.0}, math.log(1e-9) - 2e-9),
    (REAL, 1e7, {"rate": 1e7, "noise": 1.0}, math.log(ive(1, 2e7))),
    real(2.0, 3.0, 1.5),
    real(1e-7, 1e-7, 1.0),
    real(40.0, 30.0, 2.0),
    *((RandomisedGamma("t", 1, 1), y, {"rate": 1.7, "noise": 2.0, "offset": 0.0},
       density(REAL, y, rate=1.7, noise=2.0)) for y in (0.0, 0.3, 2.0)),
    *((kind("w", 0, 1), w, MIDDLE, stats.norm(0.5, 0.5).logpdf(w))
      for kind in (Normal, ObservedNormal) for w in (-1.0, 0.3)),
    *((LogNormal("a", 0, 1), a, MIDDLE, stats.lognorm(s=0.5, scale=np.exp(0.5)).logpdf(a))
      for a in (0.2, 1.0, 7.0)),
]  # fmt: skip


def test_every_type_has_a_density_here() -> None:
    """Vectors have theirs in `test_densities_of_vectors`."""
    public = [getattr(nodes, name) for name in nodes.__all__]
    types = {kind for kind in public if isinstance(kind, type) and "tag" in vars(kind)}
    tested = {type(node) for node, *_ in DENSITIES} | {Dirichlet, Multinomial, Categorical}
    assert {kind for kind in types if issubclass(kind, Node)} <= tested


@pytest.mark.parametrize(("node", "value", "slots", "expected"), DENSITIES)
def test_densities(node: Node, value: float, slots: dict[str, float], expected: float) -> None:
    assert density(node, value, **slots) == pytest.approx(expected, rel=1e-9)


def test_the_density_of_a_gamma_with_a_hidden_count_sums_to_one() -> None:
    grid = np.linspace(1e-9, 30.0, 300_001)
    node, slots = RandomisedGamma("t", 1, 1), {"rate": 1.7, "noise": 2.0, "offset": 1.4}
    total = np.exp(node.log_density(grid, **slots)).sum() * (grid[1] - grid[0])
    assert np.isclose(total, 1.0, atol=1e-4)


@pytest.mark.parametrize(
    ("node", "value", "slots"),
    [
        (GAMMA, 1e-300, {"shape": 5e-324, "rate": 1.0}),
        *((LOGIT, 1, {"logit": psi}) for psi in (-800.0, 800.0)),
        *((BETA, p, {"a": a, "b": a}) for p in (0.0, 1.0) for a in (0.01, 2.0)),
        *((REAL, y, {"rate": rate, "noise": 1.0})
          for y in (5e-324, 1e-310, 1e-8, 1.0, 1e8, 1e300) for rate in (1e-300, 1e-8, 1.0, 1e8)),
    ],
)  # fmt: skip
def test_densities_of_extreme_values_are_finite(
    node: Node, value: float, slots: dict[str, float]
) -> None:
    assert np.isfinite(density(node, value, **slots))


def test_a_probability_that_was_rounded_is_not_impossible() -> None:
    """A draw may round to 0 or 1; its density there is that beside it, not infinite."""
    h = Bernoulli("h", Beta("p", 1e-3, 1e-3, dims="i"), dims="i")
    net = Network(Poisson("x", Gamma("g", h * 1.0, 1.0, dims="i"), dims="i"))
    chain = net.chain({"x": np.zeros(4, int)}, seed=1)
    chain._program.values["p"] = np.round(chain._program.values["h"])  # as rounding leaves them
    assert np.isfinite(chain.log_joint())


def _binary(p: float) -> np.ndarray:
    return np.array([1 - p, p])


DRAWS: list[tuple[Node, dict[str, float], Callable[..., Any] | np.ndarray]] = [
    (GAMMA, {"shape": 2.0, "rate": 4.0}, stats.gamma(2, scale=1 / 4).cdf),
    (GAMMA, {"shape": 0.0, "rate": 4.0}, np.ones(1)),  # zeros
    (BETA, {"a": 2.0, "b": 3.0}, stats.beta(2, 3).cdf),
    (ODDS, {"a": 2.0, "b": 3.0}, stats.betaprime(3, 2).cdf),
    (GATE, {"probability": 0.3}, _binary(0.3)),
    (LOGIT, {"logit": -0.7}, _binary(expit(-0.7))),
    (BINARY, {"rate": 0.5}, _binary(1 - math.exp(-0.5))),
    (POISSON, {"rate": 2.5}, stats.poisson(2.5).pmf(np.arange(40))),
    (Normal("w", 0, 1), MIDDLE, stats.norm(0.5, 0.5).cdf),
    (LogNormal("a", 0, 1), MIDDLE, stats.lognorm(s=0.5, scale=np.exp(0.5)).cdf),
]


@pytest.mark.parametrize(("node", "slots", "law"), DRAWS)
def test_draws(node: Node, slots: dict[str, float], law: Any) -> None:
    found = draws(node, **slots)
    if callable(law):
        assert_follows(found, law)
    else:
        assert_counts_follow(found.astype(np.int64), law)


def test_reals_are_zero_where_their_count_is() -> None:
    """P(y = 0) = e^{−λ}, and else y ~ Gam(n, noise), n ~ Pois(λ) above 0."""
    found = draws(REAL, rate=1.5, noise=3.0)
    assert_counts_follow((found > 0).astype(np.int64), _binary(1 - math.exp(-1.5)))
    n = np.arange(1, 40)
    weights = stats.poisson(1.5).pmf(n) / -math.expm1(-1.5)
    laws = stats.gamma(n, scale=1 / 3.0)
    assert_follows(
        found[found > 0], lambda y: (laws.cdf(np.asarray(y)[..., None]) * weights).sum(-1)
    )


def test_rates_too_large_for_counts_are_reported() -> None:
    with pytest.warns(PgbnWarning, match="x: a rate of 1e.16 was drawn"):
        draws(POISSON, 2, rate=np.full((1, 1, 1, 1), 10 * LARGEST_RATE))


@pytest.mark.parametrize(
    ("node", "value", "words"),
    [
        (Gamma("g", 1, 1, dims="i"), [0.0, 2.0], None),
        (Gamma("g", 1, 1, dims="i"), [1.0, -2.0], "has the value -2; give finite values"),
        (Gamma("g", 1, 1, dims="i"), [1.0, np.nan], "has the value nan"),
        (Dirichlet("d", 1, over="k"), [0.25, 0.75], None),
        (Dirichlet("d", 1, over="k"), [0.5, 0.7], "sums to 1.2 over 'k'; divide by the sum"),
        (BETA, [0.0, 0.3, 1.0], None),
        (BETA, [0.3, 1.5], "has the value 1.5; a probability"),
        (ODDS, [1.5], None),
        (GATE, [0.0, 1.0], None),
        (GATE, [0.0, 0.5], "has the value 0.5; a gate is 0 or 1"),
    ],
)
def test_values_of_latent_nodes(node: Latent, value: list[float], words: str | None) -> None:
    complaint = node.refuses(np.array(value))
    assert complaint is None if words is None else words in str(complaint)


@pytest.mark.parametrize(
    ("node", "values", "words"),
    [
        (POISSON, [0, 1, 2**31 - 1], None),
        (POISSON, [0.0, 3.0], None),
        (POISSON, [], None),
        (POISSON, [0, -2], "negative values (least: -2); counts are 0, 1, 2, …"),
        (POISSON, [1.0, 1.5], "non-integer values (such as 1.5)"),
        (POISSON, [2**31], "below 2^31"),
        (BINARY, [0, 1, 1], None),
        (BINARY, [0, 2], "the value 2; BernoulliPoisson takes 0 and 1 (try data > 0)"),
        (REAL, [0.0, 1.5], None),
        (REAL, [0.5, -0.5], "negative values (least: -0.5)"),
    ],
)
def test_data(node: Observed, values: list[float], words: str | None) -> None:
    complaint = node.check(np.array(values))
    assert complaint is None if words is None else words in str(complaint)


@pytest.mark.parametrize(
    ("node", "value", "first"),
    [
        (GAMMA, [0.0, 1e-200, 3.0, 1e9], [0.0, 0.01, 3.0, 100.0]),  # what is switched off stays
        (ODDS, [1e-9, 1.0, 1e9], [0.01, 1.0, 100.0]),
        (RandomisedGamma("t", 1, 1), [0.0, 1e-200, 3.0], [0.1, 0.01, 3.0]),
    ],
)
def test_chains_begin_within_bounds(node: Latent, value: list[float], first: list[float]) -> None:
    assert node.begin(np.array(value)).tolist() == first


# ---- vectors ------------------------------------------------------------------------------------

CONCENTRATION, PROBABILITY = np.array([0.5, 1.0, 2.0]), np.array([0.2, 0.3, 0.5])


def test_densities_of_vectors() -> None:
    value = np.array([0.2, 0.3, 0.5])
    found = PHI.log_density(value, concentration=CONCENTRATION, axis=0).sum()
    assert found == pytest.approx(stats.dirichlet(CONCENTRATION).logpdf(value), rel=1e-12)
    underflowed = PHI.log_density(np.array([0.0, 1.0]), concentration=np.array(0.1), axis=0)
    assert np.isfinite(underflowed).all()
    node, counts = Multinomial("x", 0.5, over="k"), np.array([2, 0, 5])
    found = node.log_density(counts, probability=PROBABILITY, axis=0).sum()
    assert found == pytest.approx(stats.multinomial(7, PROBABILITY).logpmf(counts), rel=1e-12)
    choice = Categorical("z", 0.5, over="k").log_density(
        np.array([0, 1, 0]), probability=PROBABILITY
    )
    assert choice.sum() == pytest.approx(np.log(0.3))


@pytest.mark.parametrize("axis", [2, 3])
def test_proportions_sum_to_one_along_their_axis(axis: int) -> None:
    shape = (1, 1, 20_000, 3) if axis == 3 else (1, 20_000, 3, 1)
    concentration = CONCENTRATION.reshape([3 if a == axis else 1 for a in range(4)])
    found = PHI.generate(Stream(7, shape, simplex=axis), concentration=concentration)
    np.testing.assert_allclose(found.sum(axis=axis), 1.0)
    mean = np.moveaxis(found, axis, 0).reshape(3, -1).mean(axis=1)
    np.testing.assert_allclose(mean, CONCENTRATION / 3.5, atol=0.01)


def test_multinomial_counts_have_their_total() -> None:
    node, stream = Multinomial("x", 0.5, over="k", total=6), Stream(5, (1, 1, 5000, 3))
    found = node.generate(stream, total=6.0, probability=PROBABILITY.reshape(1, 1, 1, 3))
    assert (found.sum(axis=3) == 6).all()
    np.testing.assert_allclose(found.mean(axis=(0, 1, 2)), 6 * PROBABILITY, atol=0.08)
