"""Chains: every sampler of the first layer on the zoo, and on networks and data of other kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

import pgbn as pg
from pgbn.testing import geweke
from tests.helpers.wider_models import wider_models

from .networks import LARGE_SIZES, SMALL_SIZES, data_for, large_zoo, small_zoo, topical
from .own_networks import OWN, OWN_SIZES
from .registry import case

__all__ = ["everything_of"]

FIRST_LAYER = ("collapsed", "partial", "blocked")
ONE_PATTERN = (*FIRST_LAYER, "composed")
AUTO = ("auto",)
LINKS = ("poisson", "bernoulli", "gamma")
WIDER = ("epm", "hgp_epm", "covariates", "cpgbn", "dirbn", "dpfa_sbn", "dynamic_topics",
         "hidden_markov", "nbfa", "prgds", "tucker")  # fmt: skip


def everything_of(chain: pg.Chain, imputed: tuple[str, ...] = ()) -> dict[str, object]:
    """All that can be read from a chain; the state first, before looking draws more nodes."""
    return {
        "state": chain.state(),
        "values": chain.values,
        "counts": chain.counts,
        "seen state": chain.state(),
        "log_joint": chain.log_joint(),
        "log_likelihood": chain.log_likelihood(),
        "imputed": {name: chain.imputed(name) for name in imputed},
        "layer1": chain.sampler,
        "schedule": chain.schedule.names,
        "sweeps": chain.sweeps,
    }


def _add(
    name: str,
    make: Callable[[], tuple[pg.Network, Mapping[str, Any]]],
    sweeps: int,
    samplers: tuple[str, ...] = AUTO,
) -> None:
    for sampler in samplers:

        def run(threads: int, sampler: str = sampler) -> object:
            network, data = make()
            chain = network.chain(data, seed=3, sampler=sampler, threads=threads)
            return everything_of(chain.sweep(sweeps))

        case(f"chain/{name}/{sampler}", run)


def _zoo() -> None:
    small = small_zoo()
    deep = small["pgbn poisson 1"]
    _add("small pgbn poisson 1", lambda: (deep, data_for(deep, SMALL_SIZES, 2.0)), 4,
         ("collapsed",))  # fmt: skip
    for name, network in large_zoo().items():
        samplers = {"pgbn poisson": ONE_PATTERN, "hdp_lda": ("partial", "auto")}.get(name, AUTO)
        _add(f"large {name}", lambda n=network: (n, data_for(n, LARGE_SIZES)), 4, samplers)


def _own() -> None:
    special = {
        "background": ("blocked", "composed", "auto"),
        "product_and_sum": ("partial", "auto"),
    }
    for name, make in OWN.items():

        def both(make: Callable[[], pg.Network] = make) -> tuple[pg.Network, Mapping[str, Any]]:
            network = make()
            return network, data_for(network, OWN_SIZES)

        _add(f"own {name}", both, 4, special.get(name, AUTO))


def _wider() -> None:
    """Normal and log-normal nodes, gates, categories, hidden counts, pairs and lookups."""
    for name, (network, sizes) in wider_models().items():

        def both(
            n: pg.Network = network, s: dict[str, int] = sizes
        ) -> tuple[pg.Network, Mapping[str, Any]]:
            drawn = n.generate(5, {dim: size for dim, size in s.items() if dim not in n.sizes})
            return n, {name: drawn[name] for name in n.observed}

        if name in WIDER:
            _add(f"wider {name}", both, 6)


def _sizes() -> None:
    """Sizes at which rows are shared among threads, and where cells hold many counts."""
    for link in LINKS:
        network = pg.zoo.pgbn([14, 9], link=link)
        sizes = {"doc": 2400, "term": 50}
        _add(f"many documents {link}", lambda n=network, s=sizes: (n, data_for(n, s, 0.2)), 2,
             FIRST_LAYER if link == "poisson" else AUTO)  # fmt: skip
    lda, wide, deep = pg.zoo.lda(14), pg.zoo.pgbn([150, 40]), pg.zoo.pgbn([12, 8])
    _add("many documents lda", lambda: (lda, {"x": topical(2400, 50, 0.2)}), 2, ("collapsed",))
    _add("many topics", lambda: (wide, {"x": topical(150, 300, 0.3)}), 2, FIRST_LAYER)
    _add("large counts", lambda: (deep, {"x": topical(40, 30, 2000.0)}), 2, FIRST_LAYER)
    _add("hardly any counts", lambda: (deep, {"x": topical(40, 30, 0.002)}), 3, ("collapsed",))
    _add("sparse input", lambda: (deep, {"x": sp.csr_array(topical(60, 80, 0.3))}), 2)


def _masked(network: pg.Network, sizes: dict[str, int]) -> dict[str, Any]:
    """Data with every seventh cell missing."""
    out = {}
    for name, values in data_for(network, sizes).items():
        hidden = (np.arange(values.size) % 7 == 3).reshape(values.shape)
        out[name] = np.ma.masked_array(values, mask=hidden)
    return out


def _missing() -> None:
    for name in ("multimodal", "pgbn poisson"):
        network = large_zoo()[name]
        _add(f"masked {name}", lambda n=network: (n, _masked(n, LARGE_SIZES)), 3)

    def imputed(threads: int) -> object:
        network = pg.zoo.pgbn([6, 4])
        chain = network.chain(_masked(network, LARGE_SIZES), seed=5, threads=threads).sweep(3)
        return everything_of(chain, ("x",))

    case("chain/imputed", imputed)


def _beginnings() -> None:
    data = {"x": topical(60, 80, 0.5)}
    network = pg.zoo.pgbn([6, 4])

    def given(threads: int) -> object:
        values = network.chain(data, seed=1, threads=threads).sweep(2).values
        init = {name: values[name] for name in ("phi1", "theta1", "r")}
        chain = network.chain(data, seed=2, chain=3, start=init, threads=threads)
        return [everything_of(chain), everything_of(chain.sweep(2))]

    def restored(threads: int) -> object:
        first = network.chain(data, seed=1, threads=threads).sweep(2)
        second = network.chain(data, seed=1, threads=threads).restore(first.state(), 2)
        return everything_of(second.sweep(2))

    def unswept(threads: int) -> object:
        out = []
        for sampler in ONE_PATTERN:
            first, second = (network.chain(data, 1, sampler=sampler, threads=threads) for _ in "ab")
            out.append(everything_of(second.restore(first.state(), 0).sweep(2)))
        return out

    def nodes_on_demand(threads: int) -> object:
        chain = network.chain(data, seed=1, sampler="collapsed", threads=threads)
        return [chain.sweep()._select(["phi1"]) for _ in range(3)]

    case("chain/init and number", given)
    case("chain/restored", restored)
    case("chain/restored before a sweep", unswept)
    case("chain/nodes on demand", nodes_on_demand)


def _replicates() -> None:
    for name in ("multimodal", "hdp_lda", "pgbn poisson 2"):
        network = small_zoo()[name]
        sizes = {dim: SMALL_SIZES[dim] for dim in network.dims if dim not in network.sizes}
        samplers = ("blocked", "composed") if "pgbn poisson" not in name else ONE_PATTERN

        def run(
            threads: int,
            network: pg.Network = network,
            sizes: dict[str, int] = sizes,
            samplers: tuple[str, ...] = samplers,
        ) -> object:
            chains = (pg.Chain._replicated(network, sizes, 300, 2, sampler, threads)
                      for sampler in samplers)  # fmt: skip
            return [everything_of(chain.sweep(2)) for chain in chains]

        case(f"replicated/{name}", run)

    network, sizes = small_zoo()["pgbn poisson 2"], {"doc": 3, "term": 3}

    def joint(threads: int) -> object:
        found = geweke(network, sizes, 400, 3, seed=1, threads=threads)
        return [found.z, found.shifts]

    case("testing/geweke", joint)


_zoo()
_own()
_wider()
_sizes()
_missing()
_beginnings()
_replicates()
