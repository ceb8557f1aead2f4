"""The networks that are tested, by name: every model of the zoo, and the language beyond it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial

from pgbn import Network, zoo
from tests.helpers import (
    categories,
    kernel_networks,
    language,
    normal_networks,
    several_dims,
    weighted,
)
from tests.helpers.composed_networks import COMPOSED
from tests.helpers.first_layer_variants import VARIANT_SIZES, VARIANTS
from tests.helpers.graphs import graphs
from tests.helpers.models import MILD, algorithm1, interleaved, pgbn, sizes_of, zoo_models
from tests.helpers.state_networks import STATES, states_of
from tests.helpers.wider_models import wider_models

__all__ = ["NO_CONJUGACY", "Sized", "models_of_the_zoo", "networks"]

Sized = tuple[Network, Mapping[str, int]]
Make = Callable[[], Network]

# `check_conjugacy` reads no density of a chosen category, of a hidden count or of a gamma at 0, and
# no law of an exposure that is drawn row by row: there the joint-distribution test stands alone.
NO_CONJUGACY = frozenset({
    "hidden_markov", "poisson_mixture", "prgds, offset 0", "dynamic_topics",
    "hidden counts: Bessel", "hidden counts: slice", "hidden counts: in a rate",
    "hidden counts: in several shapes", "randomised gamma: offset 0.0", "lags: proportions",
    "chain: walk", "chain: mixture", "lookup: chosen rates", "prgds, latent tau",
})  # fmt: skip


@cache
def models_of_the_zoo() -> dict[str, Sized]:
    """Every model, under its name, and variants of it, under its name and a few words."""
    plain = zoo_models() | {
        "pgbn, T=3, Algorithm 1": pgbn(3).with_order(algorithm1(3)),
        "pgbn, T=3, interleaved": pgbn(3).with_order(interleaved(3)),
    }
    time = {"time": 4, "term": 3}
    settings = {"eta": 0.7, "gamma0_prior": (6, 2), "delta_prior": (3, 3)}
    variants = {
        "bptf, four modes": (zoo.bptf(2, tuple("abcd"), 1.5, MILD), dict.fromkeys("abcd", 2)),
        "dpfa_sbn, T=3": (
            zoo.dpfa_sbn([2, 2, 2], 1.0, (2.0, 2.0), MILD, (2.0, 4.0), MILD, MILD),
            {"doc": 3, "term": 3},
        ),
        "gp_dpfa, bernoulli": (
            zoo.gp_dpfa(2, 0.5, MILD, MILD, MILD, MILD, link="bernoulli"),
            {"time": 3, "term": 3},
        ),
        "hpf, cells": (zoo.hpf(2, 1.5, MILD, MILD, [1.0, 2.0, 0.5]), {"item": 2}),
        "prgds, offset 0": (zoo.prgds(2, 0.0, tau=1.5, **settings), time),
        "prgds, latent tau": (zoo.prgds(2, 0.0, tau=(6, 4), **settings), time),
        "prgds, offset and latent tau": (zoo.prgds(2, 0.7, tau=(6, 4), **settings), time),
    }
    return {name: (net, sizes_of(net)) for name, net in plain.items()} | wider_models() | variants


def _sized(group: str, makes: Mapping[str, Make], sizes: Mapping[str, int]) -> dict[str, Sized]:
    """Networks of one group, each with the sizes of the dims that it has and does not fix."""
    out: dict[str, Sized] = {}
    for name, make in makes.items():
        net = make()
        free = {dim: sizes[dim] for dim in net.dims if dim not in net.sizes and dim in sizes}
        out[f"{group}: {name}"] = net, free
    return out


def _by_name(makes: Iterable[Make]) -> dict[str, Make]:
    return {make.__name__.replace("_", " "): make for make in makes}


@cache
def networks() -> dict[str, Sized]:
    """The zoo, and a group for each part of the language."""
    lookups = (categories.authors, categories.grouped, categories.looked_up_pairs,
               language.chosen_rates)  # fmt: skip
    sequential = ("directed", "degrees", "triples", "edges")
    gammas = {f"offset {offset}": partial(language.randomised, offset) for offset in (0.0, 0.7)}
    cells = {kind: partial(language.all_cells, kind) for kind in ("unseen", "flipped")}
    edges = {"carried": partial(language.with_edge, language.carried)}
    return {
        **models_of_the_zoo(),
        **_sized("first layer", VARIANTS, VARIANT_SIZES),
        **_sized("shape", language.SHAPES, {"doc": 3, "term": 3}),
        **{f"in turn: {name}": graphs()[name] for name in sequential},
        **_sized("composed", COMPOSED, {d: 2 for make in COMPOSED.values() for d in make().dims}),
        **_sized("normal", {**normal_networks.NETWORKS, "both ways": language.both_ways}, {}),
        **{f"states: {n}": (m(), states_of(m())) for n, m in STATES.items()},
        **_sized("slice", kernel_networks.SLICED, kernel_networks.SIZES),
        **_sized("hidden counts", language.HIDDEN_COUNTS, language.HIDDEN_SIZES),
        **_sized("randomised gamma", gammas, {"i": 2, "k": 2}),
        **_sized("simplex of several dims", _by_name(several_dims.NETWORKS), {}),
        **_sized("all cells", cells, language.CELLS),
        **_sized("pseudo-counts", language.COMPLETED, language.COMPLETED_SIZES),
        **_sized("lookup", _by_name(lookups), {}),
        **_sized("sparse", _by_name(weighted.NETWORKS), {}),
        **_sized("own edge", edges, {"day": 3}),
        **_sized("lags", language.LAGS, language.LAG_SIZES),
        **_sized("chain", language.CHAINS, language.CHAIN_SIZES),
        **_sized("earlier rows", language.EARLIER, language.EARLIER_SIZES),
    }
