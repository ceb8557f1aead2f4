"""Networks in which a node stands several times in a product, with mild priors."""

from __future__ import annotations

from functools import cache

from pgbn import Categories, Gamma, Network, Poisson, distinct, zoo
from pgbn.extend import Mix
from tests.helpers.models import MILD

__all__ = ["degrees", "directed", "edges", "graphs", "triples", "two_vertices"]


def directed() -> Network:
    """x_ij ~ Pois(φ_i φ_j) for all i ≠ j; φ has no collapsed parent."""
    phi = Gamma("phi", 2.0, Gamma("c", 4.0, 4.0), dims="vertex")
    pairs = phi.rename(vertex="i") * phi.rename(vertex="j")
    return Network(Poisson("x", distinct(pairs, "i", "j", ordered=True), dims=("i", "j")))


def degrees() -> Network:
    """d_i ~ Pois(φ_i Σ_{j≠i} φ_j): the pairs are summed, and the counts thinned among them."""
    phi = Gamma("phi", Gamma("a", 4.0, 4.0, dims="vertex"), 4.0, dims="vertex")
    pairs = phi.rename(vertex="i") * phi.rename(vertex="j")
    rate = distinct(pairs, "i", "j", ordered=True)
    return Network(Poisson("x", Mix(factors=(rate,), over="j"), dims="i"))


def triples() -> Network:
    """x_ijk ~ Pois(φ_i φ_j φ_k) for i < j < k."""
    phi = Gamma("phi", Gamma("a", 4.0, 4.0, dims="vertex"), 4.0, dims="vertex")
    i, j, k = (phi.rename(vertex=dim) for dim in "ijk")
    rate = distinct(distinct(distinct(i * j * k, "i", "j"), "j", "k"), "i", "k")
    return Network(Poisson("x", rate, dims=("i", "j", "k")))


def two_vertices() -> Network:
    """x ~ Pois(Σ_k φ_1k φ_2k) with a shape for each vertex, which the data say much about."""
    phi = Gamma("phi", Gamma("a", 1.0, 1.0, dims="vertex"), 1.0, dims=("vertex", "part"))
    pairs = Mix(factors=(phi.rename(vertex="i"), phi.rename(vertex="j")), over="part")
    return Network(Poisson("x", distinct(pairs, "i", "j"), dims=("i", "j")), sizes={"part": 3})


def edges() -> Network:
    """x_e ~ Pois(Σ_k r_k φ_{source(e),k} φ_{target(e),k}) at some pairs only."""
    first, second = [0, 0, 1, 3, 2], [1, 2, 2, 0, 1]
    source = Categories("source", dims="edge", of="vertex", values=first)
    target = Categories("target", dims="edge", of="vertex", values=second)
    phi = Gamma("phi", Gamma("a", 4, 4, dims="vertex"), Gamma("c", 4, 4), dims=("vertex", "part"))
    rate = Mix(factors=(Gamma("r", 4, 4, dims="part"), phi[source], phi[target]), over="part")
    return Network(Poisson("x", rate, dims="edge"), sizes={"part": 2})


@cache
def graphs() -> dict[str, tuple[Network, dict[str, int]]]:
    """The networks and tiny sizes for them."""
    return {
        "epm": (zoo.epm(2, False, MILD, MILD, MILD, MILD), {"vertex": 3}),
        "epm, weighted": (zoo.epm(2, True, MILD, MILD, MILD, MILD), {"vertex": 3}),
        "hgp_epm": (zoo.hgp_epm(2, True, 2.0, MILD, MILD, MILD, MILD, MILD), {"vertex": 3}),
        "pgds, shrinkage": (
            zoo.pgds(2, 0.5, 0.5, 1.5, 2.0, MILD, MILD, True, MILD),
            {"time": 3, "term": 3},
        ),
        "directed": (directed(), {"vertex": 3}),
        "degrees": (degrees(), {"vertex": 3}),
        "triples": (triples(), {"vertex": 4}),
        "edges": (edges(), {"vertex": 4}),
    }
