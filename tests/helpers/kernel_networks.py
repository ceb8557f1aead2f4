"""Small networks with nodes that are drawn by kernels."""

from __future__ import annotations

from collections.abc import Callable

from pgbn import Bernoulli, Beta, Dirichlet, Gamma, Network, Poisson

__all__ = ["SLICED", "sizes_of"]

SIZES = {"i": 3, "k": 2, "d": 2, "v": 3, "from": 3, "to": 3}


def sizes_of(network: Network) -> dict[str, int]:
    """The sizes of the dims of a network."""
    return {dim: SIZES[dim] for dim in network.dims}


def shape_of_gammas() -> Network:
    """The shape of held gammas, beside their rate, which is conjugate."""
    theta = Gamma("theta", Gamma("a", 2, 2, update="slice"), Gamma("c", 3, 2), dims="i")
    return Network(Poisson("x", theta, dims="i"))


def beside_conjugate() -> Network:
    """A vector of shapes times a scalar that hears tables: the counts go stale."""
    a, r = Gamma("a", 2, 2, dims="k", update="slice"), Gamma("r", 3, 3)
    return Network(Poisson("x", Gamma("theta", a * r, 2, dims=("i", "k")), dims=("i", "k")))


def twice() -> Network:
    """A node in the shape and in the rate of the same gammas: no conjugate update."""
    a = Gamma("a", 3, 3, update="slice")
    return Network(Poisson("x", Gamma("theta", a, 2 * a, dims="i"), dims="i"))


def concentrations() -> Network:
    """Entries that depend on each other given the rest, through a simplex."""
    phi = Dirichlet("phi", Gamma("e", 2, 2, dims="v", update="slice"), over="v", dims="k")
    return Network(Poisson("x", phi @ Gamma("theta", 2, 2, dims=("d", "k")), dims=("d", "v")))


def scores() -> Network:
    """Entries that depend on each other given the rest, through a sum."""
    phi = Dirichlet("phi", 1.0, over="v", dims="k")
    theta = Gamma("theta", 2, 2, dims=("d", "k"), update="slice")
    return Network(Poisson("x", phi @ theta, dims=("d", "v")))


def probability() -> Network:
    """A probability, on the scale of its log odds."""
    h = Bernoulli("h", Beta("p", 2, 2, update="slice"), dims="i")
    return Network(Poisson("x", Gamma("g", h * 2.0, 1.5, dims="i"), dims="i"))


def squares() -> Network:
    """An entry times itself, beside a factor that is conjugate."""
    a = Gamma("a", 3, 3, dims="i", update="slice")
    return Network(Poisson("x", a * a * Gamma("c", 3, 2), dims="i"))


def self_loops() -> Network:
    """All pairs of vertices, each with itself too: a cell depends on two entries."""
    phi = Gamma("phi", 3, 3, dims="v", update="slice")
    rate = phi.rename(v="from") * Gamma("c", 3, 2) * phi.rename(v="to")
    return Network(Poisson("x", rate, dims=("from", "to")))


SLICED: dict[str, Callable[[], Network]] = {
    build.__name__: build
    for build in (shape_of_gammas, beside_conjugate, twice, concentrations, scores, probability,
                  squares, self_loops)
}  # fmt: skip
