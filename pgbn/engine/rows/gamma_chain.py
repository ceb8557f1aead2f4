"""Rows that are a chain of gamma layers above Dirichlet loadings: kernels do all sweeps of a row.
`by_kernels` is tried before the general sampler of rows.

    n_j ~ Pois(Φ^(1) θ^(1)_j),  θ^(t)_j ~ Gam(Φ^(t+1) θ^(t+1)_j, c^(t+1)_j),  θ^(T)_j ~ Gam(r, c_j)

with c^(2) = (1 − p)/p, p ~ Beta(a0, b0), the other c ~ Gam(e0, f0), and Φ and r given. The counts n
are the data, or the latent counts behind them. `find_chain` finds the chain in a graph, by its form
alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.data.cells import Cells
from pgbn.engine.rows.new_rows import CountLaw, Found, Quantity, RowTask
from pgbn.engine.shards.worker import own_cells
from pgbn.engine.steps.gamma_layers import draws_as
from pgbn.network.layers import Layer, layers_above
from pgbn.network.network import Network
from pgbn.nodes.base import Node
from pgbn.nodes.bernoulli_poisson import BernoulliPoisson
from pgbn.nodes.beta import BetaOdds
from pgbn.nodes.expression import Constant
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.poisson import Poisson
from pgbn.nodes.poisson_gamma import PoissonGamma
from pgbn.nodes.rules import find_link
from pgbn.samplers.documents.sweeps import (
    Documents,
    GivenNetwork,
    Moments,
    Sweeps,
    count_law,
    hash_documents,
    infer_documents,
    most_labels,
    project_terms,
)
from pgbn.samplers.documents.units import pack_layers
from pgbn.samplers.executor import Executor, Threads
from pgbn.samplers.random import stream_key, word_of
from pgbn.samplers.worker_pool import WorkerPool

Matrix = NDArray[np.float64]


_LAWS: dict[type[Node], CountLaw] = {
    Poisson: CountLaw(None, True),
    BernoulliPoisson: CountLaw("truncated_poisson", True),
    PoissonGamma: CountLaw("bessel", False),
}


@dataclass(frozen=True)
class GammaChain:
    """``phi[t]`` (K_t, K_{t-1}) has one row for each unit, ``prior`` is (a0, b0, e0, f0)."""

    phi: Sequence[Matrix]
    r: Matrix
    prior: tuple[float, ...]
    law: CountLaw
    noise: float = 1.0

    def run(
        self, cells: Cells, sweeps: Sweeps, moments: Moments, seed: int, executor: Executor,
        number: int = 0,
    ) -> None:  # fmt: skip
        """Fill the moments of all rows; ``number`` distinguishes runs with the same seed."""
        pool = executor.worker_pool()
        if pool is not None:
            self._run_remote(pool, cells, sweeps, moments, seed, number)
            return
        # Counts as integers and reals as floats, whatever else is in the batch.
        values = cells.values.astype(np.int64 if self.law.whole else np.float64)
        hashes = np.empty(cells.rows, np.uint64)
        executor.rows(hash_documents, cells.rows, 0, cells.indptr, cells.indices,
                 values.view(np.uint64), hashes)  # fmt: skip
        # Φ^(1) of the terms that occur, one row for each, and the terms renumbered accordingly.
        used, renumbered = np.unique(cells.indices, return_inverse=True)
        phi, indices = np.ascontiguousarray(self.phi[0][:, used].T), renumbered.astype(np.int32)
        layers = pack_layers(self.phi, self.r, self.prior)
        projected = np.zeros((0, 0), np.float32)
        if len(self.phi) > 1:
            projected = np.zeros((phi.shape[0], int(layers.at[2] - layers.at[1])), np.float32)
            executor.rows(project_terms, phi.shape[0], 0, phi, layers, projected)
        documents = Documents(cells.indptr, indices, values.astype(np.float64), hashes)
        labelled = (
            self.law.latent is None and most_labels(cells.indptr, values, len(self.phi[0]))[1]
        )
        law = None if labelled else count_law(self.law.latent, self.noise)
        network = GivenNetwork(phi, projected, layers)
        key = stream_key(seed, word_of("infer"), *([number] if number else []))
        executor.rows(infer_documents, cells.rows, key, documents, law, network, sweeps, moments)

    def _run_remote(
        self, pool: WorkerPool, cells: Cells, sweeps: Sweeps, moments: Moments, seed: int,
        number: int,
    ) -> None:  # fmt: skip
        """The same by workers, each of which has some of the rows. Sums that were begun go with
        the rows, so that they are added up in the same order."""
        starts, chain = cells.indptr, pool.share(self)
        wanted = np.arange(1, pool.number) * ((starts[-1] + cells.rows) / pool.number)
        cuts = np.searchsorted(starts + np.arange(starts.size), wanted)
        ranges = [(a, b) for a, b in pairwise((0, *cuts.tolist(), cells.rows)) if b > a]

        def job(first: int, last: int) -> tuple[Any, ...]:
            own = slice(starts[first], starts[last])
            part = Cells(cells.dims, (last - first, cells.columns), 1,
                         starts[first : last + 1] - own.start, cells.indices[own],
                         cells.values[own])  # fmt: skip
            begun = [a[first:last] if a.any() else (last - first, a.shape[1]) for a in moments[1:]]
            return pool.threads, chain, part, sweeps, moments.column, begun, seed, number

        found = pool.map(run_rows, (job(*each) for each in ranges))
        for (first, last), arrays in zip(ranges, found, strict=True):
            for target, array in zip(moments[1:], arrays, strict=True):
                target[first:last] = array


def run_rows(
    state: Any, threads: int, chain: GammaChain, cells: Cells, sweeps: Sweeps,
    column: NDArray[np.int64], begun: Sequence[Any], seed: int, number: int,
) -> list[Matrix]:  # fmt: skip
    """`GammaChain.run` by a worker: the moments of its rows, from sums that were begun, or from
    zeros of a shape."""
    arrays = [np.zeros(each) if isinstance(each, tuple) else np.array(each) for each in begun]
    moments = Moments(np.array(column), *arrays)
    chain.run(own_cells(cells), sweeps, moments, seed, Threads(threads), number)
    return arrays


def by_kernels(
    task: RowTask, cells: Mapping[str, Cells], executor: Executor
) -> dict[Quantity, Found] | None:
    """The moments of the rows of a chain of gamma layers; None if there is no such chain, or if
    more than moments is asked for."""
    pattern, wanted, given = find_chain(task.network, task.plate), task.wanted, task.given
    if task.law is None or isinstance(pattern, str) or wanted.levels or wanted.draws:
        return None
    if not set(wanted.names) <= set(pattern.scores):
        return None
    own = cells[pattern.observed]
    chains = [pattern.chain(given.values(number), task.law) for number in range(given.count)]
    widths = [len(phi) if name in wanted.names else 0
              for name, phi in zip(pattern.scores, chains[0].phi, strict=True)]  # fmt: skip
    ends = np.cumsum(widths)
    column = np.where(np.array(widths) > 0, ends - widths, -1).astype(np.int64)
    shares, units = ends[-1] * wanted.proportions, ends[-1] * wanted.values
    sums = [np.zeros((own.rows, size)) for size in (shares, shares, units, units)]
    moments = Moments(column, *sums)
    for number, chain in enumerate(chains):
        chain.run(own, Sweeps(given.settle, given.each), moments, task.seed, executor, number)
    found = {}
    for each in wanted.quantities:
        layer = pattern.scores.index(each.name)
        place = slice(column[layer], ends[layer])
        both = sums[:2] if each.share else sums[2:]
        mean, square = (total[:, place] / given.count for total in both)
        found[each] = Found(mean, np.sqrt(np.maximum(square - mean**2, 0.0)), None, None)
    return found


def find_law(
    network: Network, rows: str, data: Mapping[str, Cells], given: Mapping[str, NDArray[Any]]
) -> CountLaw | None:
    """The law of the data of a chain. It exists if kernels know it and no cell is missing. Every
    datum above 0 must also have a unit that could have caused it, in each of the draws
    ``given``."""
    pattern = find_chain(network, rows)
    if isinstance(pattern, str) or data[pattern.observed].missing is not None:
        return None
    used = np.unique(data[pattern.observed].indices)
    if not (given[pattern.loadings[0]][:, :, used].max(axis=1) > 0).all():
        return None
    return _LAWS.get(type(network[pattern.observed]))


@dataclass(frozen=True)
class ChainPattern:
    """The nodes of a chain: data, scores and loadings from the first layer up, the shape of the
    top, the noise of the data if they have some; and the priors of the rates."""

    observed: str
    scores: tuple[str, ...]
    loadings: tuple[str, ...]
    top: str
    noise: str | None
    prior: tuple[float, ...]

    def chain(self, values: Mapping[str, Matrix], law: CountLaw) -> GammaChain:
        """The chain with given values, each in the order of its node's dims."""
        noise = float(values[self.noise]) if self.noise is not None else 1.0
        phi = [values[name] for name in self.loadings]
        return GammaChain(phi, values[self.top], self.prior, law, noise)


class _NoChain(Exception):
    """Why a network has another form."""


@lru_cache(maxsize=16)
def find_chain(network: Network, rows: str) -> ChainPattern | str:
    """The chain of a network whose nodes without the plate are given, or the reason why not."""
    try:
        return _find(network, rows)
    except _NoChain as reason:
        return str(reason)


def _need(holds: object, reason: str) -> None:
    if not holds:
        raise _NoChain(reason)


def _find(network: Network, rows: str) -> ChainPattern:
    _need(len(network.observed) == 1, "there are several observed nodes")
    data = network[network.observed[0]]
    link = find_link(data)
    _need(link is not None and link.slot == "rate", f"{type(data).__name__} has no kernel")
    layers = layers_above(network, data.name)
    _need(layers, f"the rate of {data.name} is not loadings times scores")
    below: Node = data
    for layer in layers:
        _check_layer(network, below, layer, rows)
        below = network[layer.scores]
    top = _only(network, below.name, "shape", network.given)
    _need(network[top].axes == below.axes[1:], f"{top} varies over other dims")
    rates = [_only(network, layer.scores, "rate", network.free) for layer in layers]
    noise = _only(network, data.name, "noise", network.given) if "noise" in data.slots() else None
    known = {layer.scores for layer in layers} | set(rates)
    _need(known == set(network.free), "other nodes belong to the rows")
    return ChainPattern(
        data.name,
        tuple(layer.scores for layer in layers),
        tuple(layer.loadings for layer in layers),
        top,
        noise,
        _prior(network, rates, rows),
    )


def _check_layer(network: Network, below: Node, layer: Layer, rows: str) -> None:
    """below ← loadings · scores, with loadings that are given and sum to one over units below."""
    scores, loadings = network[layer.scores], network[layer.loadings]
    slot = "shape" if isinstance(below, Gamma) else "rate"
    term = network.wiring.polynomials[below.name, slot].terms[0]
    _need(below.axes[:-1] == (rows,) and term.coefficient == 1.0, f"{below.name} has another form")
    _need(draws_as(network.wiring, scores, Gamma), f"{scores.name} is not drawn as a Gamma")
    _need(loadings.name in network.given, f"{loadings.name} is not given")
    _need(loadings.simplex == below.axes[-1], f"{loadings.name} does not sum to one")
    _need(loadings.axes == (layer.dim, below.axes[-1]), f"{loadings.name} has other dims")
    _need(scores.axes == (rows, layer.dim), f"{scores.name} has other dims")
    _need(len(network.wiring.sources[scores.name]) == 1, f"{scores.name} has other children")


def _only(network: Network, name: str, slot: str, known: Sequence[str]) -> str:
    """The node that is a slot, alone."""
    polynomial = network.wiring.polynomials[name, slot]
    term = polynomial.terms[0]
    plain = polynomial.is_plain and len(term.factors) == 1 and term.coefficient == 1.0
    plain = plain and not term.factors[0].lookups
    _need(plain and term.factors[0].name in known, f"the {slot} of {name} has another form")
    return term.factors[0].name


def _prior(network: Network, rates: list[str], rows: str) -> tuple[float, ...]:
    """(a0, b0) of the odds of the first layer and (e0, f0) of the rates above it."""
    found = []
    for kind, name in zip((BetaOdds, *[Gamma] * len(rates)), rates, strict=False):
        node = network[name]
        slots = [getattr(node, slot) for slot in node.slots()]
        numbers = [s for s in slots if isinstance(s, Constant) and not s.value.ndim]
        _need(draws_as(network.wiring, node, kind), f"{name} is not drawn as a {kind.__name__}")
        _need(node.axes == (rows,) and len(numbers) == 2, f"the prior of {name} is not two numbers")
        _need(len(network.wiring.sources[name]) == 1, f"{name} has other children")
        found.append(tuple(float(number.value) for number in numbers))
    _need(len(set(found[1:])) <= 1, "the rates of the layers have different priors")
    return (*found[0], *(found[1] if found[1:] else (1.0, 1.0)))
