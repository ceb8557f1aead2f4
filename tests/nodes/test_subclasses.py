"""Types of a user's own that inherit from ours: their rules are used, and what they return is
checked. Posteriors are compared with exact ones."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

import pgbn
from pgbn import Dirichlet, Gamma, Network, NetworkError, Poisson
from pgbn.nodes.base import Array
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream

X = np.array([[5, 1, 0], [2, 0, 3], [9, 4, 4], [0, 1, 1]])


class Capped(Gamma):
    """A gamma below 1, drawn by the inherited rule: its posterior is a gamma below 1 again."""

    tag: ClassVar[str] = "tests.capped"

    def generate(self, stream: Stream, **slots: Any) -> Array:
        shape, rate = slots["shape"] * np.ones(stream.shape), slots["rate"]
        most = stats.gamma.cdf(1.0, shape, scale=1 / rate)
        return stats.gamma.ppf(vectorised.beta(stream, 1.0, 1.0) * most, shape, scale=1 / rate)


class Tilted(Dirichlet):
    """A Dirichlet whose draw leaves the counts out: wrong, and plain to see."""

    tag: ClassVar[str] = "tests.tilted"


@pgbn.extend.draw_rule(Tilted, constant_over_simplex=True)
def _tilted(count: Array, concentration: Array) -> dict[str, Array]:
    return {"concentration": 0.0 * count + 1e4 * concentration}


class Named(Gamma):
    """A gamma with another name only."""

    tag: ClassVar[str] = "tests.named"


class NamedDirichlet(Dirichlet):
    tag: ClassVar[str] = "tests.named_dirichlet"


def means(net: Network, name: str, sampler: str) -> Array:
    draws = net.sample({"x": X}, burn_in=50, draws=1500, sampler=sampler, threads=1, progress=False)
    assert draws.attributes["sampler"] == net.chain({"x": X}, sampler=sampler).sampler
    return draws[name].mean(axis=(0, 1))


@pytest.mark.parametrize("sampler", ["auto", "blocked", "composed"])
def test_a_layer_with_its_own_generate_is_drawn_by_it(sampler: str) -> None:
    """θ ~ Gam(2, 1) below 1, x ~ Pois(θ): the posterior is Gam(2 + x, 2) below 1."""
    net = Network(Poisson("x", Capped("theta", 2, 1, dims=("i", "j")), dims=("i", "j")))
    shape = 2.0 + X
    exact = shape / 2 * stats.gamma.cdf(1, shape + 1, scale=0.5)
    exact /= stats.gamma.cdf(1, shape, scale=0.5)
    assert np.allclose(means(net, "theta", sampler), exact, atol=0.03)


@pytest.mark.parametrize("scores", [Capped, Gamma])
def test_kernels_of_the_first_layer_leave_own_rules_alone(scores: type[Gamma]) -> None:
    loadings = Dirichlet if scores is Capped else Tilted
    theta = scores("theta", 2, 1, dims=("doc", "topic"))
    phi = loadings("phi", 1, over="term", dims="topic")
    net = Network(Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": 2})
    own = "theta" if scores is Capped else "phi"
    for sampler in ("auto", "blocked"):
        chain = net.chain({"x": X}, sampler=sampler).sweep(20)
        assert chain.sampler == "composed"
        if scores is Capped:
            assert chain.values["theta"].max() <= 1
        else:  # Dir(1e4, 1e4, 1e4)
            assert np.allclose(chain.values["phi"], 1 / 3, atol=0.05)
    for sampler in ("collapsed", "partial"):
        with pytest.raises(NetworkError, match=f"{own} .* has rules or a generate of its own"):
            net.chain({"x": X}, sampler=sampler)


def test_a_subclass_with_another_name_keeps_the_kernels() -> None:
    def net(gamma: type[Gamma], dirichlet: type[Dirichlet]) -> Network:
        theta = gamma("theta", Gamma("r", 1, 1, dims="topic"), 1, dims=("doc", "topic"))
        phi = dirichlet("phi", 1, over="term", dims="topic")
        return Network(Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": 2})

    for sampler in ("collapsed", "partial", "blocked"):
        ours = net(Gamma, Dirichlet).chain({"x": X}, sampler=sampler).sweep(3)
        own = net(Named, NamedDirichlet).chain({"x": X}, sampler=sampler).sweep(3)
        assert own.sampler == sampler
        assert all(np.array_equal(ours.values[n], own.values[n]) for n in ours.values)


class Doubled(pgbn.extend.Observed):
    """Counts that its rule does not pass on as they are."""

    rate: pgbn.extend.Slot

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.poisson(stream, slots["rate"])

    def log_density(self, value: Array, **slots: Any) -> Array:
        return stats.poisson.logpmf(value, slots["rate"])


pgbn.extend.counts_are_data(Doubled, "rate")
pgbn.extend.evidence_rule(Doubled, "rate", relation="given", exposure=1.0)(
    lambda stream, count: 2 * count
)


def test_counts_that_a_rule_changes_have_no_kernel() -> None:
    theta = Gamma("theta", 2, 1, dims=("doc", "topic"))
    phi = Dirichlet("phi", 1, over="term", dims="topic")
    net = Network(Doubled("x", rate=phi @ theta, dims=("doc", "term")), sizes={"topic": 2})
    chain = net.chain({"x": X}).sweep()
    assert chain.sampler == "composed"
    assert chain.counts["theta"].sum() == 2 * X.sum()


# ---- what a draw rule returns -------------------------------------------------------------------


class Returns(Gamma):
    """A gamma whose draw rule returns what a test wants."""

    answer: ClassVar[Any] = None


@pgbn.extend.draw_rule(Returns)
def _returns(count: Array, exposure: Array, shape: Array, rate: Array) -> Any:
    return Returns.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"shpae": 2.0}, "theta: the draw rule of Returns .*'shpae'.* shape, rate"),
        (np.ones(3), "theta: the draw rule of Returns returned ndarray; return a dict"),
        (None, "theta: the draw rule of Returns returned NoneType"),
        (
            {"shape": "a"},
            "theta: the draw rule of Returns returned 'a' for 'shape'; return numbers",
        ),
        ({"rate": np.array([1.0, np.nan, 1.0])}, "theta: the draw rule of Returns .*NaN .*'rate'"),
    ],
)
@pytest.mark.parametrize("chained", [False, True])
def test_answers_of_a_draw_rule_are_checked(
    monkeypatch: pytest.MonkeyPatch, answer: Any, message: str, chained: bool
) -> None:
    monkeypatch.setattr(Returns, "answer", answer)
    shape = pgbn.Shift(pgbn.Self(), along="i", initial=1.0) if chained else 1.0
    net = Network(Poisson("x", Returns("theta", shape, 1, dims="i"), dims="i"))
    chain = net.chain({"x": [1, 2, 3]})
    with pytest.raises(NetworkError, match=message):
        chain.sweep()
