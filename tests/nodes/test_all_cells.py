"""Links that must see zeros: counts behind data of 0, `link_rule(…, all_cells=True)`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import poisson

import pgbn as pg
from pgbn.nodes.rules import registry
from pgbn.samplers import vectorised
from pgbn.storage import read_limits
from pgbn.testing import geweke
from pgbn.zoo.links import Link, register_link

SIZES = {"doc": 2, "term": 3}


class Unseen(pg.Observed):
    """y = n with probability ``seen``, else 0; n ~ Pois(rate): zero inflation within a link."""

    tag: ClassVar[str] = "tests.unseen"
    positional: ClassVar[tuple[str, ...]] = ("rate", "seen")

    rate: pg.Slot
    seen: pg.Slot

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


@pg.link_rule(Unseen, "rate", all_cells=True, log_probability=_law)
def _counts(stream: Any, value: Any, rate: Any, seen: Any) -> Any:
    hidden = vectorised.bernoulli(stream.child("hidden"), _unseen(rate, seen)) > 0
    n = vectorised.poisson(stream, rate)
    return np.where(value > 0, value, np.where(hidden, n, 0)).astype(np.int64)


pg.evidence_rule(Unseen, "rate", relation="held", count="count", exposure=1.0)


class Flipped(pg.Observed):
    """y = 1(n > 0), read wrongly with probability 0.2; n ~ Pois(rate)."""

    tag: ClassVar[str] = "tests.flipped"
    positional: ClassVar[tuple[str, ...]] = ("rate",)

    rate: pg.Slot

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


@pg.link_rule(Flipped, "rate", all_cells=True, log_probability=_flipped_law)
def _behind(stream: Any, value: Any, rate: Any) -> Any:
    some = vectorised.bernoulli(stream.child("some"), _positive(value, rate)) > 0
    return np.where(some, vectorised.truncated_poisson(stream, rate), 0).astype(np.int64)


pg.evidence_rule(Flipped, "rate", relation="held", count="count", exposure=1.0)


def network(kind: str = "unseen") -> pg.Network:
    phi = pg.Dirichlet("phi", 1.0, over="term", dims="topic")
    theta = pg.Gamma("theta", pg.Gamma("r", 3, 2, dims="topic"), pg.Gamma("c", 4, 3),
                     dims=("doc", "topic"))  # fmt: skip
    rate = phi @ theta + pg.Gamma("noise", 2, 3)
    data = Unseen("x", rate, 0.6, dims=("doc", "term")) if kind == "unseen" else Flipped(
        "x", rate, dims=("doc", "term"))  # fmt: skip
    return pg.Network(data, sizes={"topic": 2})


@pytest.mark.parametrize(("kind", "node"), [("unseen", Unseen), ("flipped", Flipped)])
def test_without_the_zeros_it_is_seen(
    kind: str, node: type[pg.Observed], monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = registry._links[node]
    monkeypatch.setitem(registry._links, node, replace(rule, all_cells=False))
    assert geweke(network(kind), SIZES, replicates=3_000, sweeps=5).worst > 6


X = np.array([[2, 0, 1], [0, 0, 3]])


def test_all_forms_of_data_are_the_same() -> None:
    net = network()
    given = [X, sp.csr_array(X), sp.coo_array((X[X > 0], np.nonzero(X)), shape=X.shape)]
    draws = [net.sample({"x": x}, burn_in=2, draws=2, progress=False)["theta"] for x in given]
    assert all(np.array_equal(draws[0], other) for other in draws[1:])
    chain = net.chain({"x": X})
    assert chain.program.cells["x"].values.size == X.size
    assert chain.layer1 == "composed"


def test_masked_cells_say_nothing() -> None:
    net = network()
    masked = np.ma.masked_array(X, X == 3)
    chain = net.chain({"x": masked}).sweep(3)
    assert chain.program.cells["x"].missing.sum() == 1
    assert np.isfinite(chain.log_joint())


def test_the_density_counts_every_zero() -> None:
    net = network()
    chain = net.chain({"x": X}, seed=3).sweep(2)
    values = chain.values
    rate = np.einsum("kv,jk->jv", values["phi"], values["theta"]) + values["noise"]
    wanted = net["x"].log_density(X, rate=rate, seen=0.6).sum()
    assert chain.log_likelihood() == pytest.approx(wanted)


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    net = network()
    monkeypatch.setattr(read_limits, "memory", lambda: 20_000_000)
    large = sp.csr_array(([1], ([0], [0])), shape=(1_000, 1_000))
    with pytest.raises(pg.DataError, match="of which Unseen needs every one"):
        net.chain({"x": large})


def test_links_of_the_table_are_refused() -> None:
    with pytest.raises(pg.NetworkError, match="looks at every cell"):
        register_link(Link("flipped", takes="bits", node=Flipped, latent="truncated_poisson"))
