"""Kernels that do several rules at once, used in place of the composed rules if they fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw, Run, SlotCounts, maker, posterior_of
from pgbn.network.terms import Polynomial
from pgbn.nodes.base import Node
from pgbn.nodes.gamma import Gamma, tables_of_gamma
from pgbn.nodes.hidden_poisson import HiddenPoisson
from pgbn.nodes.rules import is_own, is_own_rule
from pgbn.samplers import vectorised
from pgbn.samplers.executor import SERIAL
from pgbn.samplers.gamma_layers import count_tables, draw_layer, draw_top, share_tables
from pgbn.samplers.lanes import LANES
from pgbn.samplers.row_kernels import BLOCK, PARALLEL

if TYPE_CHECKING:
    from pgbn.network.wiring import Wiring


def draws_as(wiring: Wiring, node: Node, built_in: type[Node]) -> bool:
    """Whether a node is generated and drawn like a built-in type, so that a kernel for that type
    may replace its rules. A subclass may have its own `generate` or draw rule."""
    if not isinstance(node, built_in) or type(node).generate is not built_in.generate:
        return False
    if node.name in wiring.completed:
        return False
    rule = wiring.draws[node.name]
    return rule.node is built_in and not is_own(rule.posterior)


@dataclass(frozen=True, slots=True)
class LayerMix:
    """coefficient · φ·θ: the names of the two nodes, and the size of the dim summed over."""

    coefficient: float
    phi: str
    theta: str
    topics: int


def find_mix(program: Program, node: Node, slot: str) -> LayerMix | None:
    """The mix in a slot, if that is its form and if φ has the dims (last dim of the node, topic)
    and θ (the other dims, topic), in memory."""
    polynomial = program.wiring.polynomials[node.name, slot]
    if len(polynomial.terms) != 1 or polynomial.along is not None or not node.axes:
        return None
    term = polynomial.terms[0]
    if len(term.contracted) != 1 or len(term.factors) != 2 or any(f.lookups for f in term.factors):
        return None
    topic, dims = term.contracted[0], program.storage[node.name]
    factors = {
        program.factor(f).dims: f.name for f in term.factors if f.name in program.network.latent
    }
    phi, theta = factors.get((dims[-1], topic)), factors.get((*dims[:-1], topic))
    if phi is None or theta is None:
        return None
    return LayerMix(term.coefficient, phi, theta, program.sizes[topic])


def _rows_of(program: Program, node: Node) -> int:
    return prod(program.sizes[dim] for dim in program.storage[node.name][:-1])


class LayerTables(ABC):
    """The tables of a layer of gammas: a step, or `begin`, some `rows` and `end`.

    Each thread has counts of its own for ``parent``, which are added up at the end.
    """

    def __init__(self, program: Program, node: Node, parent: str) -> None:
        self.program, self.node, self.parent = program, node.name, parent
        self.documents = _rows_of(program, node)
        self._received = program.received_count(node.name).get

    def __call__(self, key: int) -> None:
        draw_tables([(self, key)])

    def begin(self, key: int) -> None:
        """Find the arrays; the counts that are read need not be there yet."""
        rows = self.program.replicates * self.documents
        self._key, self._m = (
            self.program.executor._row_key(key, rows),
            self._received().reshape(rows, -1),
        )
        self._shares: list[NDArray[np.int64]] = []

    def rows(self, start: int, stop: int) -> None:
        """Draw the tables of some rows. Calls on several threads add to shares of their own, one
        after another to the same."""
        try:
            share = self._shares.pop()
        except IndexError:  # all are in use
            share = np.zeros(self.program.shape[self.parent], np.int64)
        self.draw(start, stop, share)
        self._shares.append(share)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays with rows, after `begin`."""
        return (self._m,)

    @abstractmethod
    def draw(self, start: int, stop: int, share: NDArray[np.int64]) -> None:
        """Draw the tables of some rows, and add those of the parent to ``share``."""

    def end(self) -> None:
        """Pass the counts on: integers, whose sum does not depend on the order of blocks."""
        total = self._shares.pop()
        for share in self._shares:
            total += share
        self.program.counts[self.node, self.parent] = total


def draw_tables(tables: Sequence[tuple[LayerTables, int]]) -> None:
    """The tables of layers with the same rows, with their keys. Each block of rows takes one layer
    after the other; a layer depends on the previous one alone."""
    for part, key in tables:
        part.begin(key)
    arrays = [array for part, _ in tables for array in part.arrays()]
    executor, rows = tables[0][0].program.executor, len(arrays[0])
    large = sum(array.size for array in arrays) > PARALLEL
    blocks = executor.shares(rows, *arrays) if large else [(0, rows)]

    def draw(start: int, stop: int) -> None:
        for part, _ in tables:
            part.rows(start, stop)

    executor.calls([partial(draw, start, stop) for start, stop in blocks])
    for part, _ in tables:
        part.end()


class SplitTables(LayerTables):
    """CRT and split of a gamma whose shape is φ·θ."""

    def __init__(self, program: Program, node: Node, mix: LayerMix) -> None:
        super().__init__(program, node, mix.phi)
        self.mix = mix

    def begin(self, key: int) -> None:
        super().begin(key)
        program, mix, rows = self.program, self.mix, len(self._m)
        self._theta = program.values[mix.theta].reshape(rows, mix.topics)
        self._phi, largest = _padded(program.values[mix.phi])
        self._scale = mix.coefficient * largest
        self._n_theta = program.pool.empty((rows, mix.topics), self._m.dtype)
        # Set already here, so that the tables of the next layer can follow row by row.
        program.counts[self.node, mix.theta] = self._n_theta.reshape(program.shape[mix.theta])

    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (self._m, self._theta, self._n_theta)

    def draw(self, start: int, stop: int, share: NDArray[np.int64]) -> None:
        documents = len(self._m) // len(self._phi)  # that share a value of φ
        share_tables(self._key, start, stop, documents, self._scale, self._m, self._theta,
                     self._phi, share, self._n_theta)  # fmt: skip


class SharedTables(LayerTables):
    """CRT of a gamma whose rows have the same shape, the value of the parent."""

    def draw(self, start: int, stop: int, share: NDArray[np.int64]) -> None:
        shape = self.program.values[self.parent]
        count_tables(self._key, start, stop, self.documents, shape, self._m, share)


@maker("fused", SlotCounts, by_rows=True)
def fused_tables(program: Program, task: SlotCounts) -> LayerTables | None:
    """The tables of a gamma whose shape is φ·θ, or the same for all rows; None if the slot has
    another form."""
    node, slot = task.node, task.slot
    if program.wiring.rules[node.name, slot].count is not tables_of_gamma:
        return None
    mix = find_mix(program, node, slot)
    if mix is not None:
        return SplitTables(program, node, mix)
    parent = _shared(program, node, slot)
    return None if parent is None else SharedTables(program, node, parent)


def _shared(program: Program, node: Node, slot: str) -> str | None:
    """The node that is the slot, if it has the last dim of the node only, and receives counts."""
    polynomial, dims = program.wiring.polynomials[node.name, slot], program.storage[node.name]
    if len(polynomial.terms) != 1 or polynomial.along is not None or len(dims) < 2:
        return None
    term = polynomial.terms[0]
    if term.coefficient != 1.0 or term.contracted or len(term.factors) != 1:
        return None
    factor = term.factors[0]
    if factor.lookups:
        return None
    known = factor.name in program.wiring.sources
    return factor.name if known and program.factor(factor).dims == dims[-1:] else None


def _padded(phi: NDArray[np.float64]) -> tuple[NDArray[np.float32], float]:
    """φ divided by its largest entry, as float32 with zeros up to full lanes; that entry."""
    replicates, rows, topics = phi.shape
    out = np.zeros((replicates, rows, topics + -topics % LANES), np.float32)
    largest = max(float(phi.max(initial=0.0)), float(np.finfo(np.float64).tiny))
    np.divide(phi, largest, out=out[:, :, :topics], casting="same_kind")
    return out, largest


@maker("fused", Draw, by_rows=True)
def fused_draw(program: Program, task: Draw) -> Run | None:
    """The draw of a layer of gammas by one kernel. It checks nothing: results of a user's rules are
    checked before."""
    node = task.node
    fused = layer_draw(program, node)
    if fused is None or not any(is_own_rule(s.rule) for s in program.wiring.sources[node.name]):
        return fused
    checked = posterior_of(program, node)

    def run(key: int) -> None:
        checked()
        fused(key)

    return run


def layer_draw(program: Program, node: Node) -> Run | None:
    """The draw of a layer of gammas whose shape is φ·θ, or the same for all its rows, and whose
    rate and exposure are the same along its last dim; None if it has another form."""
    dims = program.storage[node.name]
    if not draws_as(program.wiring, node, Gamma) or not 2 <= len(dims) <= 3:
        return None
    # Single precision cuts off tiny values. This matters only to a kernel that reads the density.
    if any(node.name in held for held in program.wiring.connections.children.values()):
        return None
    rate, exposure = program.slot(node.name, "rate"), program.exposure(node.name)
    count, shape = program.received_count(node.name), program.slot(node.name, "shape")
    if dims[-1] in (*rate.dims, *exposure.dims) or set(count.dims) != set(dims):
        return None
    mix = find_mix(program, node, "shape")
    if mix is None and set(shape.dims) - {dims[-1]}:
        return None
    rows, replicates = _rows_of(program, node), program.replicates
    columns, values = program.sizes[dims[-1]], program.values
    blocks = replicates * -(-rows // BLOCK)
    lines = (replicates, *program.shape4[node.name][1:3], 1)

    def run(key: int) -> None:
        rates: Any = np.broadcast_to(rate.get() + exposure.get(), lines).reshape(replicates, rows)
        m = np.ascontiguousarray(count.get().reshape(replicates, rows, columns))
        out, sums = program.pool.empty((replicates, rows, columns)), np.empty((replicates, rows))
        own = program.executor._own_streams
        executor = program.executor._by_blocks(BLOCK) if out.size > PARALLEL or own else SERIAL
        given = (m, np.ascontiguousarray(rates), out, sums)
        if mix is None:
            prior = np.broadcast_to(shape.get(), (replicates, 1, 1, columns)).reshape(-1, columns)
            executor.rows(draw_top, blocks, key, np.ascontiguousarray(prior), *given)
        else:
            theta = values[mix.theta].reshape(replicates, rows, mix.topics)
            executor.rows(draw_layer, blocks, key, mix.coefficient, theta, values[mix.phi],
                     *given)  # fmt: skip
        values[node.name] = out.reshape(program.shape[node.name])
        program.keep_total(node.name, dims[-1], sums.reshape(program.shape[node.name][:-1]))

    return run


@maker("fused", Draw, by_rows=True)
def hidden_draw(program: Program, task: Draw) -> Run | None:
    """Draw the hidden counts that are each alone in the shape of one gamma, at once.

        h ~ Pois(λ), θ ~ Gam(a + h, c):   P(h | θ) ∝ (λcθ)^h / (h! Γ(a + h)),

    the Bessel law of order a − 1 at 2√(λcθ). Elsewhere a hidden count moves by slice sampling.
    """
    node, name = task.node, task.node.name
    if type(node) is not HiddenPoisson or node.update:
        return None
    children = list(program.wiring.connections.children[name].values())
    if len(children) != 1 or not _fits(program, node, children[0]):
        return None
    gamma = children[0].name
    offset, rate = program.slot(gamma, "shape").get, program.slot(gamma, "rate").get
    own = program.slot(name, "rate").get

    def run(key: int) -> None:
        before = program.values[name]
        program.values[name] = np.zeros_like(before)
        rest = offset()  # the shape without the count
        program.values[name] = before
        theta = program.values[gamma].reshape(program.shape4[gamma])
        drawn = vectorised.hidden_count(program.stream(name, key), own() * rate() * theta, rest)
        program.values[name] = drawn.astype(np.float64).reshape(program.shape[name])

    return run


def _fits(program: Program, node: Node, gamma: Node) -> bool:
    """Whether every count is in the shape of one gamma of its own, and nowhere else."""
    polynomials = program.wiring.polynomials
    return (
        type(gamma) is Gamma
        and not program.is_in_time(gamma.name)
        and node.name not in polynomials[gamma.name, "rate"].names
        and program.storage[gamma.name] == program.storage[node.name]
        and _stands_alone(node, polynomials[gamma.name, "shape"])
    )


def _stands_alone(node: Node, shape: Polynomial) -> bool:
    """Whether the node is one of the terms of a sum, as it is."""
    terms = [term for term in shape.terms if node.name in (f.name for f in term.factors)]
    if len(terms) != 1 or len(terms[0].factors) != 1 or terms[0].coefficient != 1.0:
        return False
    factor = terms[0].factors[0]
    return factor.dims == factor.own_dims and not factor.lookups and not terms[0].contracted
