"""Networks outside of the zoo: what a user composes, each as a function without arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import ClassVar

import numpy as np

import pgbn as pg
from pgbn.samplers import vectorised

__all__ = ["OWN", "OWN_SIZES"]

K = 6
OWN_SIZES = {
    "doc": 30, "term": 25, "tag": 8, "time": 15, "site": 4, "person": 20, "d": 3, "v": 3,
    "document": 30, "word": 25,
}  # fmt: skip


def _factors() -> pg.Gamma:
    return pg.Gamma("r", pg.Gamma("gamma0", 0.1, 0.1) / K, pg.Gamma("c0", 1, 1), dims="topic")


def _units(dims: tuple[str, ...] = ("doc", "topic")) -> pg.Gamma:
    return pg.Gamma("theta", _factors(), pg.Gamma("c", 1, 1, dims=dims[0]), dims=dims)


def _topics(term: str = "term") -> pg.Dirichlet:
    return pg.Dirichlet("phi", 0.05, over=term, dims="topic")


def _counts(rate: object, dims: tuple[str, ...] = ("doc", "term")) -> pg.Network:
    return pg.Network(pg.Poisson("x", rate, dims=dims), sizes={"topic": K})


def background() -> pg.Network:
    return _counts(_topics() @ _units() + pg.Gamma("background", 1, 1, dims="term"))


def product_and_sum() -> pg.Network:
    length = pg.Gamma("delta", 1, 1, dims="doc")
    return _counts(length * (_topics() @ _units()) + pg.Gamma("beta", 1, 1, dims="term"))


def tensor() -> pg.Network:
    """Three dims of data, one sum over topics."""
    site = pg.Gamma("site_weight", 1, 1, dims=("site", "topic"))
    return _counts(_topics() @ (site * _units()), ("site", "doc", "term"))


def words_and_tags() -> pg.Network:
    theta = _units()
    tags = pg.Dirichlet("phi_tags", 0.05, over="tag", dims="topic")
    return pg.Network(
        pg.Poisson("x", _topics() @ theta, dims=("doc", "term")),
        pg.BernoulliPoisson("tags", tags @ theta, dims=("doc", "tag")),
        sizes={"topic": K},
    )


def walk() -> pg.Network:
    before = pg.Shift(pg.Self(), along="time", initial=1.0)
    theta = pg.Gamma("theta", before, pg.Gamma("c", 4, 4, dims="time"), dims=("time", "topic"))
    return _counts(_topics() @ theta, ("time", "term"))


def walk_with_base() -> pg.Network:
    before = pg.Shift(pg.Self(), along="time", initial=pg.Gamma("first", 2, 2))
    shape = before + pg.Gamma("base", 1, 2, dims="topic")
    theta = pg.Gamma("theta", shape, 1.0, dims=("time", "topic"))
    return _counts(_topics() @ theta, ("time", "term"))


def shape_with_base() -> pg.Network:
    """Two layers, where the shape of the first is a mix and a base."""
    theta2 = pg.Gamma("theta2", 1, 1, dims=("doc", "topic2"))
    phi2 = pg.Dirichlet("phi2", 1, over="topic", dims="topic2")
    shape = phi2 @ theta2 + pg.Gamma("base", 2, 2)
    theta = pg.Gamma("theta", shape, 1, dims=("doc", "topic"))
    x = pg.Poisson("x", _topics() @ theta, dims=("doc", "term"))
    return pg.Network(x, sizes={"topic": K, "topic2": 3})


def _weights(dims: tuple[str, str]) -> pg.Constant:
    return pg.Constant([[0.2, 1.5, 0.3], [2.0, 0.1, 0.7], [0.5, 0.5, 3.0]], dims=dims)


def renamed_chain() -> pg.Network:
    """A chain in time that its data hear under another name of a dim."""
    before = pg.Shift(pg.Self(), along="time", initial=pg.Gamma("first", 3, 3))
    theta = pg.Gamma("theta", before, 2.0, dims=("time", "d"))
    rate = _weights(("z", "d")) @ theta.rename(d="z")
    return pg.Network(pg.Poisson("x", rate, dims=("time", "d")))


def order_interleaved() -> pg.Network:
    return pg.zoo.pgbn([6, 4], 0.1).with_order(
        ["counts(x)", "phi1", "counts(theta1)", "phi2", "counts(theta2)", "counts(r)", "c0",
         "gamma0", "r", "theta2", "c3", "p2", "theta1"]
    )  # fmt: skip


@cache
def _waiting() -> type[pg.extend.Observed]:
    """A node type of the user's own; made once, when it is asked for."""

    class SameBitsWaiting(pg.extend.Observed):
        """y ~ Exp(λ)."""

        tag: ClassVar[str] = "same_bits.waiting"
        rate: pg.extend.Slot

        def generate(self, stream, **slots):
            return vectorised.gamma(stream, 1.0, slots["rate"])

        def log_density(self, value, **slots):
            return np.log(slots["rate"]) - slots["rate"] * value

    @pg.extend.evidence_rule(SameBitsWaiting, "rate", relation="given", exposure="value",
                      equation=r"(1,\ y)", reference="gamma–exponential conjugacy")  # fmt: skip
    def tell_rate(value):
        return np.ones_like(value)

    return SameBitsWaiting


def own_node() -> pg.Network:
    speed = pg.Gamma("speed", 2, pg.Gamma("scale", 2, 2), dims="person")
    return pg.Network(_waiting()("y", rate=speed, dims="person"))


OWN: dict[str, Callable[[], pg.Network]] = {
    make.__name__: make
    for make in (
        background, product_and_sum, tensor, words_and_tags, walk, walk_with_base,
        shape_with_base, renamed_chain,
        order_interleaved, own_node,
    )
}  # fmt: skip
