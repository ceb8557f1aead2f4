"""The zoo with mild priors, in sizes small enough for tests with real power."""

from __future__ import annotations

import inspect
from functools import cache

from pgbn import Network, zoo

MODEL_NAMES = [
    name
    for name in zoo.__all__
    if inspect.signature(getattr(zoo, name)).return_annotation == "Network"
]

MILD = (4.0, 4.0)
BETA = (2.0, 4.0)
SIZES = {
    "doc": 3, "term": 3, "time": 3, "previous": 2, "term_words": 3, "term_tags": 3, "term_ratings": 2,
}  # fmt: skip

# how the first layer may be drawn, for the networks that have a kernel of their own
LAYER1 = ("collapsed", "partial", "blocked", "composed")


def sizes_of(network: Network) -> dict[str, int]:
    """Tiny sizes of the dims that a network does not fix itself."""
    return {dim: SIZES[dim] for dim in network.dims if dim not in network.sizes}


def pgbn(depth: int, link: str = "poisson") -> Network:
    """The belief network with priors whose moments exist."""
    return zoo.pgbn([2] * depth, 0.5, BETA, MILD, MILD, MILD, link, MILD)


def algorithm1(depth: int) -> list[str]:
    """The order of Algorithm 1: counts and Φ upward; p and c; the roots; θ downward."""
    order = ["counts(x)", "phi1"]
    for t in range(2, depth + 1):
        order += [f"counts(theta{t - 1})", f"phi{t}"]
    order += [
        f"counts(theta{depth})",
        "counts(r)",
        "p2",
        *(f"c{t + 1}" for t in range(2, depth + 1)),
    ]
    return [*order, "c0", "gamma0", "r", *(f"theta{t}" for t in range(depth, 0, -1))]


def interleaved(depth: int) -> list[str]:
    """The order r, θᵀ, cᵀ⁺¹, θᵀ⁻¹, cᵀ, …, p², θ¹."""
    order = [name for name in algorithm1(depth) if name.startswith(("counts", "phi"))]
    order += ["c0", "gamma0", "r"]
    for t in range(depth, 1, -1):
        order += [f"theta{t}", f"c{t + 1}"]
    return [*order, "p2", "theta1"]


@cache
def zoo_models() -> dict[str, Network]:
    """Every model of the zoo."""
    return {
        "pfa": zoo.pfa(2, 0.5, BETA, MILD, MILD),
        "pgbn, T=1": pgbn(1),
        "pgbn, T=2": pgbn(2),
        "pgbn, T=3": pgbn(3),
        "pgbn, bernoulli, T=1": pgbn(1, "bernoulli"),
        "pgbn, bernoulli, T=2": pgbn(2, "bernoulli"),
        "pgbn, gamma, T=1": pgbn(1, "gamma"),
        "pgbn, gamma, T=2": pgbn(2, "gamma"),
        "lda": zoo.lda(2, 0.5, 0.5, total=[2, 0, 5]),
        "hdp_lda": zoo.hdp_lda(2, (8.0, 2.0), (8.0, 2.0), 0.5, total=[2, 0, 5]),
        "bnbp": zoo.bnbp(2, 0.5, 4.0, MILD),
        "multimodal": zoo.multimodal(
            [2, 2],
            {"words": "poisson", "tags": "bernoulli", "ratings": "gamma"},
            0.5, MILD, MILD, MILD, MILD,
        ),
        "gp_dpfa": zoo.gp_dpfa(2, 0.5, MILD, MILD, MILD, MILD),
        "pgds": zoo.pgds(2, 0.5, 0.5, 1.5, 4.0, MILD, MILD),
        "gated_pfa": zoo.gated_pfa(2, 0.5, (2.0, 2.0), BETA, MILD, MILD),
    }  # fmt: skip
