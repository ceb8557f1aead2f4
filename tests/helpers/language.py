"""Networks of the language beyond the zoo that several tests share. tests/evidence has their law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.stats import poisson

import pgbn as pg
from pgbn.samplers import vectorised
from tests.helpers.normal_networks import features
from tests.helpers.own_edges import Carried

Make = Callable[[], pg.Network]


# ---- hidden counts and choices ------------------------------------------------------------------

HIDDEN_SIZES = {"i": 3, "k": 2}


def hidden_in_a_shape(update: str = "") -> pg.Network:
    rate = pg.Gamma("r", 4, 2, dims="k") + pg.Gamma("s", 4, 4, dims="i")
    h = pg.HiddenPoisson("h", rate, dims=("i", "k"), update=update)
    theta = pg.Gamma("theta", 0.5 + h, pg.Gamma("c", 6, 3, dims="k"), dims=("i", "k"))
    return pg.Network(pg.Poisson("x", theta, dims=("i", "k")))


def hidden_in_a_rate() -> pg.Network:
    h = pg.HiddenPoisson("h", pg.Gamma("r", 4, 1), dims="i")
    return pg.Network(pg.Poisson("x", h * pg.Gamma("a", 4, 4, dims="k") + 0.2, dims=("i", "k")))


def hidden_in_several_shapes() -> pg.Network:
    h = pg.HiddenPoisson("h", pg.Gamma("r", 4, 2), dims="i")
    theta = pg.Gamma("theta", 0.3 + 0.5 * h + pg.Gamma("b", 3, 3), 1.5, dims=("i", "k"))
    return pg.Network(pg.Poisson("x", theta, dims=("i", "k")))


HIDDEN_COUNTS: dict[str, Make] = {
    "Bessel": hidden_in_a_shape,
    "slice": lambda: hidden_in_a_shape("slice"),
    "in a rate": hidden_in_a_rate,
    "in several shapes": hidden_in_several_shapes,
}


def randomised(offset: float) -> pg.Network:
    rate = pg.Gamma("r", 2, 1, dims="k") + pg.Gamma("s", 3, 3, dims="i")
    theta = pg.RandomisedGamma("theta", rate, 2.0, offset=offset, dims=("i", "k"))
    return pg.Network(pg.Poisson("x", theta, dims=("i", "k")))


def chosen_rates(by_team: bool = True) -> pg.Network:
    """x_jv ~ Pois(λ_{z(j) g(j) v}): read by a hidden choice and by known categories."""
    pi = pg.Dirichlet("pi", 1.0, over="component")
    z = pg.Categorical("z", pi, over="component", dims="doc")
    team = pg.Categories("g", dims="doc", of="team", values=[0, 1, 0, 1])
    dims = ("component", "team", "term") if by_team else ("component", "term")
    rate = pg.Gamma("rate", 1.5, 1.0, dims=dims)
    x = pg.Poisson("x", rate[z, team] if by_team else rate[z], dims=("doc", "term"))
    return pg.Network(x, sizes={"component": 2, "term": 2})


# ---- links that must see zeros ------------------------------------------------------------------

CELLS = {"doc": 2, "term": 3}


class Unseen(pg.extend.Observed):
    """y = n with probability ``seen``, else 0; n ~ Pois(rate): zero inflation within a link."""

    tag: ClassVar[str] = "tests.unseen"

    rate: pg.extend.Slot
    seen: pg.extend.Slot

    def generate(self, stream: Any, **slots: Any) -> Any:
        n = vectorised.poisson(stream, slots["rate"])
        return n * vectorised.bernoulli(stream.child("seen"), slots["seen"]).astype(np.int64)

    def log_density(self, value: Any, **slots: Any) -> Any:
        rate, seen = slots["rate"], slots["seen"]
        return np.log(seen * poisson.pmf(value, rate) + (value == 0) * (1 - seen))


def _unseen(rate: Any, seen: Any) -> Any:
    """P(not seen | y = 0)."""
    return (1 - seen) / (1 - seen + seen * np.exp(-rate))


def _law(drawn: Any, value: Any, rate: Any, seen: Any) -> Any:
    w = _unseen(rate, seen)
    zero = w * poisson.pmf(drawn, rate) + (1 - w) * (drawn == 0)
    return np.log(np.where(value > 0, drawn == value, zero))


@pg.extend.link_rule(Unseen, "rate", all_cells=True, log_probability=_law)
def _counts(stream: Any, value: Any, rate: Any, seen: Any) -> Any:
    hidden = vectorised.bernoulli(stream.child("hidden"), _unseen(rate, seen)) > 0
    n = vectorised.poisson(stream, rate)
    return np.where(value > 0, value, np.where(hidden, n, 0)).astype(np.int64)


pg.extend.evidence_rule(Unseen, "rate", relation="given", count="count", exposure=1.0)


class Flipped(pg.extend.Observed):
    """y = 1(n > 0), read wrongly with probability 0.2; n ~ Pois(rate)."""

    tag: ClassVar[str] = "tests.flipped"

    rate: pg.extend.Slot

    def generate(self, stream: Any, **slots: Any) -> Any:
        y = vectorised.poisson(stream, slots["rate"]) > 0
        return (y ^ (vectorised.bernoulli(stream.child("wrong"), 0.2) > 0)).astype(np.int64)

    def log_density(self, value: Any, **slots: Any) -> Any:
        one = 0.8 - 0.6 * np.exp(-slots["rate"])
        return np.log(np.where(value > 0, one, 1 - one))


def _positive(value: Any, rate: Any) -> Any:
    """P(n > 0 | y)."""
    some, none = 1 - np.exp(-rate), np.exp(-rate)
    right = np.where(value > 0, 0.8, 0.2)
    return right * some / (right * some + (1 - right) * none)


def _flipped_law(drawn: Any, value: Any, rate: Any) -> Any:
    p = _positive(value, rate)
    some = p * poisson.pmf(drawn, rate) / (1 - np.exp(-rate))
    return np.log(np.where(drawn > 0, some, 1 - p))


@pg.extend.link_rule(Flipped, "rate", all_cells=True, log_probability=_flipped_law)
def _behind(stream: Any, value: Any, rate: Any) -> Any:
    some = vectorised.bernoulli(stream.child("some"), _positive(value, rate)) > 0
    return np.where(some, vectorised.truncated_poisson(stream, rate), 0).astype(np.int64)


pg.extend.evidence_rule(Flipped, "rate", relation="given", count="count", exposure=1.0)


def all_cells(kind: str = "unseen") -> pg.Network:
    phi = pg.Dirichlet("phi", 1.0, over="term", dims="topic")
    theta = pg.Gamma("theta", pg.Gamma("r", 3, 2, dims="topic"), pg.Gamma("c", 4, 3),
                     dims=("doc", "topic"))  # fmt: skip
    rate, dims = phi @ theta + pg.Gamma("noise", 2, 3), ("doc", "term")
    data = Unseen("x", rate, 0.6, dims=dims) if kind == "unseen" else Flipped("x", rate, dims=dims)
    return pg.Network(data, sizes={"topic": 2})


# ---- proportions whose exposure varies from entry to entry --------------------------------------

COMPLETED_SIZES = {"doc": 3, "term": 4}
MASK = pg.Constant(np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1.0]]), dims=("doc", "term"))
SIZE = pg.Constant(np.array([1.0, 0.3, 2.0, 0.5]), dims="term")


def weighted_topics(factor: Any) -> pg.Network:
    """x ~ Pois(factor · Φθ)."""
    r, c = pg.Gamma("r", 4, 4, dims="topic"), pg.Gamma("c", 4, 4, dims="doc")
    theta = pg.Gamma("theta", r, c, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.7, over="term", dims="topic")
    x = pg.Poisson("x", factor * (phi @ theta), dims=("doc", "term"))
    return pg.Network(x, sizes={"topic": 2})


def zero_inflation() -> pg.Network:
    pi = pg.Beta("pi", 3, 2, dims="term")
    return weighted_topics(4.0 * pg.Bernoulli("h", pi, dims=("doc", "term")))


def known_and_latent_sizes() -> pg.Network:
    factors = pg.Gamma("b", 4, 4, dims="doc"), pg.Gamma("w", 4, 4, dims="term")
    return weighted_topics(3.0 * SIZE * factors[0] * factors[1])


def rates_of_units() -> pg.Network:
    """The exposure of phi2 is ln(1 + 1/c_v), with theta1 integrated out."""
    above = pg.Gamma("theta2", 2.0, 1.0, dims=("doc", "above"))
    phi2 = pg.Dirichlet("phi2", 0.7, over="topic", dims="above")
    c = pg.Gamma("c", 4, 4, dims="topic")
    theta = pg.Gamma("theta1", phi2 @ above, c, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.7, over="term", dims="topic")
    x = pg.Poisson("x", phi @ theta, dims=("doc", "term"))
    return pg.Network(x, sizes={"topic": 2, "above": 2})


def indexed() -> pg.Network:
    """Writers share out what is written; some have more documents than others."""
    author = pg.Categories("author", dims="doc", of="writer", values=[0, 0, 1])
    share = pg.Dirichlet("phi", 0.7, over="writer", dims="topic")
    weight = pg.Gamma("w", 4, 1, dims=("topic", "term"))
    x = pg.Poisson("x", share[author] @ weight, dims=("doc", "term"))
    return pg.Network(x, sizes={"topic": 2, "writer": 3})


COMPLETED: dict[str, Make] = {
    "mask": lambda: weighted_topics(MASK),
    "known and latent sizes": known_and_latent_sizes,
    "zero inflation": zero_inflation,
    "rates of units": rates_of_units,
    "indexed": indexed,
}


# ---- edges, linear predictors, shapes with a coefficient ----------------------------------------


def with_edge(edge: Callable[[Any], Any]) -> pg.Network:
    """An edge in a rate beside a factor and a further term, and one in a shape."""
    shape = pg.Gamma("a", 3, 2, dims=("day", "place"))
    above = edge(shape)
    event = pg.Gamma("event", above, pg.Gamma("c", 4, 3), dims=("place", "day"))
    felt = edge(event.rename(day="time")).rename(time="day")
    rate = pg.Gamma("scale", 4, 2, dims="place") * felt + pg.Gamma("noise", 2, 3, dims="day")
    return pg.Network(pg.Poisson("x", rate, dims=("day", "place")), sizes={"place": 2})


def carried(of: Any) -> Any:
    names = of.names if isinstance(of, pg.nodes.expression.Rename) else {}
    axes = getattr(of, "axes", None) or tuple(names.get(d, d) for d in of.of.axes)
    axis = 1 + next(i for i, dim in enumerate(axes) if dim in ("day", "time"))
    return Carried(of, axis=axis, weights=(0.5, 0.3))


def both_ways() -> pg.Network:
    """A node that one predictor sums over and another reads entry by entry; twice in one sum; with
    another normal node as its weight; and with a renamed dim."""
    w = pg.Normal("w", 0.3, 1.0, dims="feature")
    v = pg.Normal("v", 0.5, 2.0, dims="feature")
    one = pg.ObservedNormal("y", features() @ w + 0.5 * (features() @ w), 1.0, dims="doc")
    two = pg.ObservedNormal("z", v * w + 1.0, 2.0, dims="feature")
    three = pg.ObservedNormal("u", w.rename(feature="other"), 1.0, dims=("doc", "other"))
    return pg.Network(one, two, three, sizes={"doc": 4, "feature": 2, "other": 2})


def _of_shape(shape: Any, **sizes: int) -> pg.Network:
    theta = pg.Gamma("theta", shape, 1.0, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
    x = pg.Poisson("x", phi @ theta, dims=("doc", "term"))
    return pg.Network(x, sizes={"topic": 2, **sizes})


def _mix(name: str) -> pg.extend.Mix:
    """Φθ of a layer above."""
    theta = pg.Gamma(f"theta_{name}", 1.5, 1.0, dims=("doc", name))
    return pg.Dirichlet(f"phi_{name}", 0.5, over="topic", dims=name) @ theta


def scaled_mix() -> pg.Network:
    return _of_shape(0.3 * _mix("above"), above=2)


SHAPES: dict[str, Make] = {
    "scaled mix": scaled_mix,
    "scaled shared shape": lambda: _of_shape(2.0 * pg.Gamma("r", 1.5, 1.0, dims="topic")),
    "two mixes": lambda: _of_shape(_mix("left") + 0.5 * _mix("right"), left=2, right=2),
}


# ---- time ---------------------------------------------------------------------------------------

CHAIN_SIZES = {"time": 3, "term": 3}
LAG_SIZES = {"time": 5, "term": 3}
EARLIER_SIZES = {"time": 4, "k": 2, "term": 2}


def changing_topics(phi: pg.Dirichlet, **sizes: int) -> pg.Network:
    """Counts of topics that change with the time."""
    theta = pg.Gamma("theta", 2.0, 1.0, dims=("time", "topic"))
    x = pg.Poisson("x", phi @ theta, dims=("time", "term"))
    return pg.Network(x, sizes={"topic": 2, **sizes})


def changing_weights(shape: Any, rate: float = 1.5, **sizes: int) -> pg.Network:
    theta = pg.Gamma("theta", shape, rate, dims=("time", "topic"))
    phi = pg.Dirichlet("phi", 0.7, over="term", dims="topic")
    x = pg.Poisson("x", phi @ theta, dims=("time", "term"))
    return pg.Network(x, sizes={"topic": 2, **sizes})


def walk(lag: int = 1) -> pg.Network:
    """φ_t ~ Dir(c φ_{t−lag}), with c latent."""
    before = pg.Shift(pg.Gamma("c", 8, 2) * pg.Self(), along="time", initial=1.0, lag=lag)
    return changing_topics(pg.Dirichlet("phi", before, over="term", dims=("time", "topic")))


def mixture() -> pg.Network:
    """Topics of the row before mix, and the first row has a latent base."""
    b = pg.Gamma("b", 4, 2, dims=("before", "topic"))
    base = pg.Dirichlet("base", 1.0, over="term")
    lag = pg.Shift(b @ pg.Self(topic="before"), along="time", initial=3.0 * base)
    phi = pg.Dirichlet("phi", lag, over="term", dims=("time", "topic"))
    return changing_topics(phi, before=2)


def _transitions(initial: Any, lag: int = 1) -> pg.Shift:
    pi = pg.Dirichlet("pi", 1.0, over="topic", dims="before")
    return pg.Shift(pi @ pg.Self(topic="before"), along="time", initial=initial, lag=lag)


def two_shifts() -> pg.Network:
    """θ_t ~ Gam(Πθ_{t−1} + θ_{t−1} / 2, …)."""
    shape = _transitions(pg.Gamma("nu", 4, 2, dims="topic"))
    half = pg.Shift(0.5 * pg.Self(), along="time", initial=0.3)
    return changing_weights(shape + half, before=2)


def season(lag: int = 2) -> pg.Network:
    """θ_t ~ Gam(Π θ_{t−2}, c), and ν in the first two rows."""
    return changing_weights(_transitions(pg.Gamma("nu", 4, 2, dims="topic"), lag))


def two_lags() -> pg.Network:
    """θ_t ~ Gam(Π θ_{t−1} + θ_{t−3} / 2 + 0.2, c)."""
    late = pg.Shift(0.5 * pg.Self(), along="time", initial=0.5, lag=3)
    return changing_weights(_transitions(pg.Gamma("nu", 4, 2)) + late + 0.2)


def another() -> pg.Network:
    """θ_t ~ Gam(z_{t−2} + θ_{t−1} / 2, 1): the earlier row of another node, looked up."""
    z = pg.Gamma("z", pg.Shift(pg.Self(), along="time", initial=2.0), 2.0, dims="time")
    before = pg.Categories("before", dims="time", of="past", values=[0, 0, 0, 1, 2])
    own = pg.Shift(0.5 * pg.Self(), along="time", initial=0.3)
    theta = pg.Gamma("theta", z.rename(time="past")[before] + own, 1.0, dims="time")
    return pg.Network(pg.Poisson("x", theta, dims="time"), pg.Poisson("y", z, dims="time"))


def earlier_in_a_shape() -> pg.Network:
    z = pg.Gamma("z", pg.Gamma("a", 3, 2, dims="k"), pg.Gamma("c", 4, 3), dims=("time", "k"))
    shape = pg.Shift(z, along="time", initial=pg.Gamma("nu", 3, 2, dims="k"))
    theta = pg.Gamma("theta", shape, pg.Gamma("d", 4, 3), dims=("time", "k"))
    phi = pg.Dirichlet("phi", 1.0, over="term", dims="k")
    return pg.Network(pg.Poisson("x", phi @ theta, dims=("time", "term")), sizes={"k": 2})


def earlier_in_a_rate() -> pg.Network:
    z = pg.Gamma("z", 3, 2, dims=("time", "k"))
    phi = pg.Dirichlet("phi", 1.0, over="term", dims="k")
    late = pg.Shift(0.5 * (phi @ z), along="time", initial=0.3, lag=2)
    rate = phi @ z + late + pg.Gamma("b", 2, 2)
    return pg.Network(pg.Poisson("x", rate, dims=("time", "term")), sizes={"k": 2})


def beside_its_own() -> pg.Network:
    z = pg.Gamma("z", pg.Shift(pg.Self(), along="time", initial=2.0), 2.0, dims="time")
    step = pg.Self() + z * pg.Gamma("w", 3, 3)
    shape = pg.Shift(step, along="time", initial=1.5) + 0.2
    theta = pg.Gamma("theta", shape, pg.Gamma("d", 4, 3), dims="time")
    return pg.Network(pg.Poisson("x", theta, dims="time"), pg.Poisson("y", z, dims="time"))


def rates_in_turn() -> pg.Network:
    """θ_t ~ Gam(4, 3 c θ_{t−1}), a node for every row."""
    c, rows = pg.Gamma("c", 4.0, 3.0), [pg.Gamma("theta1", 4.0, 3.0)]
    for t in (2, 3):
        rows.append(pg.Gamma(f"theta{t}", 6.0, 3.0 * c * rows[-1]))
    return pg.Network(*(pg.Poisson(f"x{t}", row) for t, row in enumerate(rows, 1)))


CHAINS: dict[str, Make] = {"walk": walk, "mixture": mixture, "two shifts": two_shifts}
LAGS: dict[str, Make] = {
    "season": season,
    "two lags": two_lags,
    "proportions": lambda: walk(2),
    "another": another,
}
EARLIER: dict[str, Make] = {
    "in a shape": earlier_in_a_shape,
    "in a rate": earlier_in_a_rate,
    "beside its own": beside_its_own,
    "rates in turn": rates_in_turn,
}
