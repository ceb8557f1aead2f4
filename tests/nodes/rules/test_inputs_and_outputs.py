"""Every rule of pgbn, with inputs and the exact output: counts, exposures, new parameters, laws.

A rule that draws has its law written out, by hand or by scipy, and 20,000 draws are compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, gammaln

import pgbn  # noqa: F401 - its types register their rules
from pgbn.extend import Evidence
from pgbn.nodes.rules import registered
from pgbn.samplers.random import Stream
from tests.helpers.laws import DRAWS, assert_counts_follow, assert_follows

SHAPE = (1, 1, 1, DRAWS)  # independent draws of one entry
EVIDENCE_RULES, LINK_RULES, DRAW_RULES = (
    {key(rule): rule for rule in rules if key(rule)[0].startswith("pgbn.")}
    for rules, key in zip(
        registered(),
        (
            lambda r: (r.child.__module__, r.child.__name__, r.slot, r.kind),
            lambda r: (r.node.__module__, r.node.__name__, r.slot),
            lambda r: (r.node.__module__, r.node.__name__, r.name or r.kind),
        ),
        strict=True,
    )
)


def table(rules: Mapping[tuple[str, ...], Any]) -> dict[tuple[str, ...], Any]:
    """Rules by type and slot, or type and kind."""
    return {key[1:]: rule for key, rule in rules.items()}


def pmf(log_weights: Any) -> np.ndarray:
    """Probabilities that are proportional to e^(log weights)."""
    weights = np.exp(np.asarray(log_weights) - np.max(log_weights))
    return weights / weights.sum()


def whole(values: Any) -> np.ndarray:
    return np.asarray(values).reshape(-1).astype(np.int64)


# ---- evidence: (count, exposure) ------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """Probabilities of 0, 1, …, of a count that is drawn."""

    probability: np.ndarray


@dataclass(frozen=True)
class Told:
    """What is passed on: exact numbers, or the law of a count."""

    relation: str
    inputs: dict[str, Any]
    count: Any
    exposure: Any


def tables(count: int, shape: float) -> np.ndarray:
    """CRT(m, a): the number of successes of b_i ~ Bern(a / (a + i − 1)), i = 1 … m."""
    out = np.ones(1)
    for i in range(count):
        p = shape / (shape + i)
        out = np.convolve(out, [1 - p, p])
    return out


def bessel(order: float, w: float, size: int = 40) -> np.ndarray:
    """P(h) ∝ w^h / (h! Γ(order + 1 + h))."""
    h = np.arange(size)
    return pmf(h * np.log(w) - gammaln(h + 1.0) - gammaln(order + 1.0 + h))


NUMBERS = np.array([0.0, 1.0, 3.0])
NORMAL = {"value": np.array([-1.0, 2.0]), "mean": 0.5, "precision": 4.0}
LOGS = {"value": np.exp(np.array([-1.0, 2.0])), "mean": 0.5, "precision": 4.0}
EVIDENCE: dict[tuple[str, str, str], Told] = {
    ("Bernoulli", "probability", "probability"): Told(
        "given", {"value": np.array([0.0, 1.0])}, [0, 1], [1, 0]
    ),
    ("BernoulliPoisson", "rate", "poisson"): Told("given", {"count": NUMBERS}, NUMBERS, 1.0),
    ("Categorical", "probability", "poisson"): Told("given", {"value": NUMBERS}, NUMBERS, 0.0),
    ("Gamma", "shape", "poisson"): Told(
        "collapsed",
        {"count": np.full(SHAPE, 3), "shape": np.full((1, 1, 1, 1), 0.5), "exposure": 3.0, "rate": 2.0},
        Law(tables(3, 0.5)),
        np.log(2.5),
    ),
    ("Gamma", "rate", "poisson"): Told("given", {"shape": 2.0, "value": NUMBERS}, 2.0, NUMBERS),
    ("Gamma", "rate", "odds"): Told("collapsed", {"count": NUMBERS, "shape": 2.0}, NUMBERS, 2.0),
    ("HiddenPoisson", "rate", "poisson"): Told("given", {"value": NUMBERS}, NUMBERS, 1.0),
    ("Normal", "mean", "quadratic"): Told("given", NORMAL, [-4.0, 8.0], 4.0),
    ("Normal", "precision", "poisson"): Told("given", NORMAL, [0.5, 0.5], [1.125, 1.125]),
    ("LogNormal", "mean", "quadratic"): Told("given", LOGS, [-4.0, 8.0], 4.0),
    ("LogNormal", "precision", "poisson"): Told("given", LOGS, [0.5, 0.5], [1.125, 1.125]),
    ("ObservedNormal", "mean", "quadratic"): Told("given", NORMAL, [-4.0, 8.0], 4.0),
    ("ObservedNormal", "precision", "poisson"): Told("given", NORMAL, [0.5, 0.5], [1.125, 1.125]),
    ("Poisson", "rate", "poisson"): Told("given", {"count": NUMBERS}, NUMBERS, 1.0),
    ("Multinomial", "probability", "poisson"): Told("given", {"count": NUMBERS}, NUMBERS, 0.0),
    ("PoissonGamma", "rate", "poisson"): Told("given", {"count": NUMBERS}, NUMBERS, 1.0),
    ("PoissonGamma", "noise", "poisson"): Told(
        "given", {"count": NUMBERS, "value": np.array([0.0, 0.3, 2.0])}, NUMBERS, [0.0, 0.3, 2.0]
    ),
    ("RandomisedGamma", "rate", "poisson"): Told(
        "given",
        {"value": np.full(SHAPE, 1.7), "rate": 3.0, "noise": 2.0, "offset": 0.7},
        Law(bessel(-0.3, 1.7 * 3.0 * 2.0)),
        1.0,
    ),
}  # fmt: skip
# whose exposure is drawn with the count: each has a test of its own below
TOGETHER = {("Dirichlet", "concentration", "poisson"), ("LogitBernoulli", "logit", "quadratic")}


def made(source: Any, inputs: Mapping[str, Any], names: tuple[str, ...], *stream: Stream) -> Any:
    """A count or an exposure: a number, something passed on, or a function of what it reads."""
    if isinstance(source, str):
        return inputs[source]
    return source(*stream, **{n: inputs[n] for n in names}) if callable(source) else source


@pytest.mark.parametrize("key", EVIDENCE, ids=" ".join)
def test_evidence(key: tuple[str, str, str]) -> None:
    rule, told = table(EVIDENCE_RULES)[key], EVIDENCE[key]
    assert rule.relation == told.relation
    stream = (Stream(5, SHAPE),) if rule.is_random else ()
    count = made(rule.count, told.inputs, rule.count_reads, *stream)
    if isinstance(told.count, Law):
        assert_counts_follow(whole(count), told.count.probability)
    else:
        np.testing.assert_allclose(np.broadcast_to(count, np.shape(told.count)), told.count)
    exposure = made(rule.exposure, told.inputs, rule.exposure_reads)
    np.testing.assert_allclose(exposure, told.exposure, rtol=1e-14)


def test_evidence_of_a_dirichlet() -> None:
    """ℓ ~ CRT(n, a) of every entry, and one −ln s of the vector, s ~ Beta(a_·, n_·)."""
    rule = table(EVIDENCE_RULES)["Dirichlet", "concentration", "poisson"]
    stream = Stream(3, (1, 1, DRAWS, 2))
    count = np.broadcast_to(np.array([3, 0]), stream.shape).copy()
    found = rule.count(stream, count, np.array([0.5, 0.7]).reshape(1, 1, 1, 2))
    assert isinstance(found, Evidence)
    assert (rule.relation, found.exposure.shape) == ("collapsed", (1, 1, DRAWS, 1))
    assert_counts_follow(whole(found.count[..., 0]), tables(3, 0.5))
    assert not found.count[..., 1].any()
    assert_follows(np.exp(-found.exposure.reshape(-1)), stats.beta(1.2, 3).cdf)


@pytest.mark.parametrize("logit", [0.0, -1.5, 4.0])
def test_evidence_of_a_logistic_gate(logit: float) -> None:
    """κ = h − ½ and ω ~ PG(1, ψ), of mean tanh(ψ/2) / 2ψ."""
    rule = table(EVIDENCE_RULES)["LogitBernoulli", "logit", "quadratic"]
    value = np.zeros(SHAPE)
    found = rule.count(Stream(3, SHAPE), value, np.full(SHAPE, logit))
    assert (found.count == -0.5).all()
    mean = np.tanh(logit / 2) / (2 * logit) if logit else 0.25
    drawn = found.exposure.reshape(-1)
    assert abs(drawn.mean() - mean) < 4 * drawn.std() / np.sqrt(DRAWS)


# ---- links: the counts behind data ----------------------------------------------------------

LINKS: dict[tuple[str, str], tuple[dict[str, Any], np.ndarray] | None] = {
    ("Poisson", "rate"): None,  # the data are the counts
    ("Multinomial", "probability"): None,
    ("BernoulliPoisson", "rate"): (
        {"rate": np.full((1, 1, 1, 1), 0.5)},
        np.append(0.0, stats.poisson(0.5).pmf(np.arange(1, 20))) / -np.expm1(-0.5),
    ),
    ("PoissonGamma", "rate"): (  # P(n) ∝ w^n / (n! (n − 1)!), n ≥ 1
        {n: np.full((1, 1, 1, 1), v) for n, v in {"value": 2.0, "rate": 1.5, "noise": 3.0}.items()},
        np.append(0.0, pmf([n * np.log(9.0) - gammaln(n + 1) - gammaln(n) for n in range(1, 40)])),
    ),
}


@pytest.mark.parametrize("key", LINKS, ids=" ".join)
def test_links(key: tuple[str, str]) -> None:
    link, expected = table(LINK_RULES)[key], LINKS[key]
    if expected is None:
        assert link.counts is None
        return
    inputs, law = expected
    assert_counts_follow(whole(link.counts(Stream(1, SHAPE), **inputs)), law)


# ---- draws: new parameters ------------------------------------------------------------------

COUNT, EXPOSURE = np.array([0.0, 3.0]), np.array([0.5, 2.0])
POSTERIORS: dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]] = {
    ("Gamma", "poisson"): ({"shape": 2.0, "rate": 1.0}, {"shape": [2, 5], "rate": [1.5, 3.0]}),
    ("Beta", "probability"): ({"a": 2.0, "b": 3.0}, {"a": [2, 5], "b": [3.5, 5.0]}),
    ("BetaOdds", "odds"): ({"a": 2.0, "b": 3.0}, {"a": [2, 5], "b": [3.5, 5.0]}),
    ("Dirichlet", "poisson"): ({"concentration": 0.5}, {"concentration": [0.5, 3.5]}),
    ("Bernoulli", "poisson"): (  # π e^(−q) / (π e^(−q) + 1 − π), and 1 where there is a count
        {"probability": np.array([0.4, 0.01])},
        {"probability": [0.4 * np.exp(-0.5) / (0.4 * np.exp(-0.5) + 0.6), 1.0]},
    ),
    ("LogitBernoulli", "poisson"): ({"logit": np.array([0.3, 0.3])}, {"logit": [-0.2, np.inf]}),
}  # fmt: skip


@pytest.mark.parametrize("key", POSTERIORS, ids=" ".join)
def test_posteriors(key: tuple[str, str]) -> None:
    rule, (slots, expected) = table(DRAW_RULES)[key], POSTERIORS[key]
    known = {"count": COUNT, "exposure": EXPOSURE, **slots}
    found = rule.posterior(**{name: known[name] for name in rule.reads})
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-14)


# ---- draws: kernels ---------------------------------------------------------------------------


class Known:
    """A log density in place of a conditional."""

    def __init__(self, log_density: Callable[[Any], Any], support: str) -> None:
        self.log_density, self.support, self.coupled = log_density, support, ()

    def __call__(self, value: Any) -> Any:
        return np.asarray(self.log_density(value))


def normal_draws(rule: Any) -> None:
    """N(S (τμ + b), S), S = (τI + A)⁻¹."""
    matrix, vector = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, -2.0])
    many = np.broadcast_to(matrix, (1, DRAWS, 2, 2)), np.broadcast_to(vector, (1, DRAWS, 2))
    mean = np.full((1, DRAWS, 2), 0.5)
    drawn = rule.posterior(Stream(2, (1, 1, DRAWS, 2)), many[1], many[0], mean, 4.0)[0]
    S = np.linalg.inv(4.0 * np.eye(2) + matrix)
    expected = S @ (2.0 + vector)
    for place in (0, 1):
        assert_follows(drawn[:, place], stats.norm(expected[place], np.sqrt(S[place, place])).cdf)
    assert np.cov(drawn.T) == pytest.approx(S, abs=0.01)


def log_normal_draws(rule: Any) -> None:
    """p(ln a) ∝ e^(m ln a − q a − τ (ln a − μ)² / 2)."""
    number = {"count": 3.0, "exposure": 2.0, "mean": 0.3, "precision": 1.5}
    drawn = rule.posterior(Stream(2, SHAPE), **{n: np.full(SHAPE, v) for n, v in number.items()})
    grid = np.linspace(-8.0, 5.0, 40_001)
    p = pmf(3.0 * grid - 2.0 * np.exp(grid) - 0.75 * (grid - 0.3) ** 2).cumsum()
    assert_follows(np.log(drawn.reshape(-1)), lambda x: np.interp(x, grid, p))


def randomised_gamma_draws(rule: Any) -> None:
    """Gam(ε + h + m, c + q) with P(h) ∝ Γ(ε + h + m) / (h! Γ(ε + h)) (λc / (c + q))^h."""
    count, exposure, rate, noise, offset = 3, 2.0, 1.5, 2.0, 0.7
    slots = (np.full(SHAPE, count), exposure, rate, noise, np.full(SHAPE, offset))
    drawn = rule.posterior(Stream(2, SHAPE), *slots).reshape(-1)
    h = np.arange(60)
    weights = pmf(gammaln(offset + h + count) - gammaln(h + 1.0) - gammaln(offset + h)
                  + h * np.log(rate * noise / (noise + exposure)))  # fmt: skip
    laws = stats.gamma(offset + h + count, scale=1 / (noise + exposure))
    assert_follows(drawn, lambda x: (laws.cdf(np.asarray(x)[..., None]) * weights).sum(axis=-1))


def bits(rule: Any, log_odds: Callable[[float], dict[str, Any]]) -> None:
    """σ(ψ_d + b_d − ½ A_dd − Σ A_dd' h_d') of one bit after another: the first given the old
    second, the second given the new first."""
    matrix, vector, psi = np.array([[1.0, 0.7], [0.7, 2.0]]), np.array([0.4, 1.3]), -0.3
    old = np.broadcast_to([0.0, 1.0], (1, DRAWS, 2))
    many = {"count": np.broadcast_to(vector, old.shape),
            "exposure": np.broadcast_to(matrix, (1, DRAWS, 2, 2)), **log_odds(psi)}  # fmt: skip
    drawn = rule.posterior(Stream(2, (1, 1, DRAWS, 2)), old, **many)[0]
    first = expit(psi + 0.4 - 0.5 - 0.7)
    second = [expit(psi + 1.3 - 1.0 - 0.7 * on) for on in (0, 1)]
    joint = [(1 - first) * (1 - second[0]), (1 - first) * second[0],
             first * (1 - second[1]), first * second[1]]  # fmt: skip
    assert_counts_follow(whole(2 * drawn[:, 0] + drawn[:, 1]), np.array(joint))


def shaped(value: float) -> np.ndarray:
    return np.full((1, DRAWS, 2), value)


def slices(rule: Any) -> None:
    """Draws of the law are draws of it after a move, and have moved."""
    law = stats.gamma(1.5, scale=2.0)
    start = law.rvs(SHAPE, random_state=1)
    drawn = rule.posterior(Stream(2, SHAPE), start, Known(law.logpdf, "positive"))
    assert (drawn != start).mean() > 0.99
    assert_follows(drawn.reshape(-1), law.cdf)


def choices(rule: Any) -> None:
    """P(z = k) ∝ e^(log conditional of choice k)."""
    p = np.array([0.2, 0.5, 0.3])
    shape = (1, 1, DRAWS, 3)
    logs = Known(lambda z: (np.log(p) * z).sum(axis=3, keepdims=True), "choice")
    drawn = rule.posterior(Stream(2, shape, simplex=3), logs)
    assert_counts_follow(whole(drawn.argmax(axis=3)), p)


def hidden_counts(rule: Any) -> None:
    """A move from Poisson counts leaves their law as it is."""
    law = stats.poisson(3.0)
    start = law.rvs(SHAPE, random_state=1).astype(float)
    drawn = rule.posterior(Stream(2, SHAPE), start, np.full(SHAPE, 3.0), Known(law.logpmf, "whole"))
    assert (drawn != start).mean() > 0.3
    assert_counts_follow(whole(drawn), law.pmf(np.arange(60)))


KERNELS: dict[tuple[str, str], Callable[[Any], None]] = {
    ("Normal", "quadratic"): normal_draws,
    ("LogNormal", "poisson"): log_normal_draws,
    ("RandomisedGamma", "poisson"): randomised_gamma_draws,
    ("Bernoulli", "quadratic"): lambda rule: bits(rule, lambda psi: {"probability": shaped(expit(psi))}),
    ("LogitBernoulli", "quadratic"): lambda rule: bits(rule, lambda psi: {"logit": shaped(psi)}),
    ("Latent", "slice"): slices,
    ("Categorical", "poisson"): choices,
    ("HiddenPoisson", "poisson"): hidden_counts,
}  # fmt: skip


@pytest.mark.parametrize("key", KERNELS, ids=" ".join)
def test_kernels(key: tuple[str, str]) -> None:
    KERNELS[key](table(DRAW_RULES)[key])


def test_every_rule_is_in_the_tables() -> None:
    assert set(table(EVIDENCE_RULES)) == {*EVIDENCE, *TOGETHER}
    assert set(table(LINK_RULES)) == set(LINKS)
    assert set(table(DRAW_RULES)) == {*POSTERIORS, *KERNELS}
