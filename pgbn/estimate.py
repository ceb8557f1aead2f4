"""Point estimates: sweeps in which every draw is replaced by its expectation.

`Expectations` walks the schedule of a network as `pgbn.reference` does, with the same rules. Its
variates are means (`pgbn.samplers.expected`): counts are shared out in proportion, a gamma becomes
(a + m) / (c + q), a vector of proportions (η + n) / Σ (η + n), and tables their expected number.

With given shapes and concentrations this is the EM algorithm. (a + m) / (c + q) is the mode of a
gamma in ln θ, and (η + n) / Σ (η + n) that of proportions in their softmax basis. The objective is
the log posterior density in this basis, which never falls. With latent shapes, as in a Poisson
gamma belief network, it is a heuristic: expected tables take the place of an integral.

`Variational` shares counts out in proportion to geometric means e^{E ln θ} instead, and keeps the
law of every node. This is mean-field variational Bayes. With given shapes and concentrations its
objective is the lower bound of the evidence, which never falls.

Data that are a sparse matrix stay one. A rate Σ_k a_ik b_jk is evaluated at the non-zero cells
alone, and their counts are returned to rows and columns (`pgbn.samplers.factor_products`). The cost
of a sweep is that of the non-zero cells times the topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import signature
from math import prod
from typing import Any

import numpy as np

from pgbn.engine.compile.program import Program, check_possible
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import (
    bind_indexes,
    check_coords,
    check_fits,
    complete_sizes,
    read_coords,
    read_corpora,
    read_data,
)
from pgbn.engine.run.chain import read_start
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.generate import Given, to_axes, with_some_given
from pgbn.errors import DataError
from pgbn.network.connections import Source
from pgbn.network.network import Network
from pgbn.network.steps import Step
from pgbn.network.terms import ALWAYS, Term
from pgbn.nodes.base import Latent, Node, Observed
from pgbn.nodes.rules import QUADRATIC, find_link
from pgbn.reference import Reference
from pgbn.reference_arrays import WHOLE, Array, Named, R
from pgbn.samplers.executor import Executor, executor_of
from pgbn.samplers.expected import ExpectedVariates, GeometricVariates
from pgbn.samplers.factor_products import cell_rates, padded, weighted_rows
from pgbn.samplers.plain import PlainVariates
from pgbn.samplers.random import Stream

_TINY = float(np.finfo(np.float64).tiny)
_LEAST_RATE = 1e-200  # so that counts divided by it are finite
_WINDOW = 10  # sweeps from one value of the objective to the next


@dataclass
class Climb:
    """How an estimate came about: the log likelihood at the beginning of each sweep, the objective
    at that of each tenth, and whether it came to rest."""

    log_likelihood: list[float]
    objective: list[float]
    converged: bool


class SparseData:
    """The non-zero cells of a matrix by rows, and again by columns."""

    def __init__(self, cells: Cells) -> None:
        self.edges, self.columns = cells.indptr, np.asarray(cells.indices, np.int32)
        self.values = np.asarray(cells.values, np.float64)
        self.order = np.argsort(self.columns, kind="stable")
        self.rows = cells.cell_rows()[self.order].astype(np.int32)
        sizes = np.bincount(self.columns, minlength=cells.columns)
        self.column_edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@dataclass(frozen=True)
class Sides:
    """A term of a rate as Σ_k a_ik b_jk: the arrays of its factors of rows, and of columns."""

    term: Term
    of_rows: Array
    of_columns: Array

    @property
    def width(self) -> int:
        """The number of summands k."""
        return int(self.of_rows[0, 0].size)


class Expectations(Reference):
    """Expectations of all nodes. ``cells`` are the data; see `Reference` for the rest.

    ``log_likelihood`` is that of the values at the beginning of the last sweep. ``drawn_nodes`` are
    the nodes that were drawn after all, since their kernel makes a draw of its own."""

    number = np.float64

    def __init__(
        self, network: Network, cells: Mapping[str, Cells], sizes: Mapping[str, int],
        generator: np.random.Generator, executor: Executor,
    ) -> None:  # fmt: skip
        self.sparse = {
            n: SparseData(each) for n, each in cells.items() if stays_sparse(network, n, each)
        }
        dense = {n: each for n, each in cells.items() if n not in self.sparse}
        values = {n: each.dense().astype(np.float64) for n, each in dense.items()}
        values |= {n: np.zeros(1) for n in self.sparse}  # nothing reads them
        missing = {n: each.dense(each.missing).astype(bool) for n, each in dense.items()
                   if each.missing is not None}  # fmt: skip
        super().__init__(network, values, sizes, ExpectedVariates(generator), missing)
        self.executor, self.log_likelihood = executor, -np.inf
        self.drawn_nodes: set[str] = set()

    @contextmanager
    def weights(self) -> Iterator[None]:
        """A context in which values are the weights by which counts are shared out."""
        yield

    # ---- the beginning, and what is reported ----------------------------------------------

    def begin(self, start: Mapping[str, Array]) -> None:
        """Set all nodes to ``start``, or to random values around their expectations."""
        for name in self.network.free:
            node = self.nodes[name]
            assert isinstance(node, Latent)
            if name in start:
                self.values[name] = np.array(start[name], np.float64)[None]
                continue
            self._begin_node(node)

    def _begin_node(self, node: Latent) -> None:
        """Proportions from a uniform Dirichlet, so that no two are alike; positive values near
        their expectation; other values from the prior."""
        generator = self.variates.generator
        if node.sums_over and not node.finite:
            stream = self.stream(node)
            plain = PlainVariates(generator)
            self.put(node, (...,), plain.dirichlet(stream, np.ones(stream.shape), stream.simplex))
            return
        means = self.variates
        if node.support != "positive" or node.finite:
            self.variates = PlainVariates(generator)
        for part in self.parts(node):
            self.generate(node, part)
        self.variates = means
        value = node.begin(self.values[node.name])
        if node.support == "positive" and not node.finite:
            value = value * generator.uniform(0.5, 1.5, value.shape)
        self.values[node.name] = value

    def sweep(self) -> None:
        """One sweep, which begins with the log likelihood of the present values."""
        dense = [self.nodes[name] for name in self.network.observed if name not in self.sparse]
        self.log_likelihood = sum(self._dense_fit(node) for node in dense)
        super().sweep()

    def _dense_fit(self, node: Node) -> float:
        """Σ log p(x | λ) at the weights λ, and Σ q (λ − E λ) for what they miss of the means."""
        with self.weights():
            total = self.density(node, ())[0]
            slots = {slot: self.slot(node, slot) for slot in self._constant_exposures(node)}
        for slot, weighted in slots.items():
            lacking = np.where(self.missing.get(node.name, False), 0.0,
                               np.broadcast_to(weighted - self.slot(node, slot),
                                               self.values[node.name].shape))  # fmt: skip
            total += self._constant_exposures(node)[slot] * lacking.sum()
        return float(total)

    def _constant_exposures(self, node: Node) -> dict[str, float]:
        rules = self.wiring.connections.rules_of(node)
        return {slot: float(rule.exposure) for slot, rule in rules.items()
                if isinstance(rule.exposure, int | float)}  # fmt: skip

    def prior_density(self) -> float:
        """The log density of all latent nodes, in the basis in which an expectation is a mode: that
        of ln θ for positive values, and of the softmax for proportions."""
        total = 0.0
        for name in self.network.free:
            node, value = self.nodes[name], self.values[name]
            assert isinstance(node, Latent)
            total += float(self.density(node, ())[0])
            if not node.finite and (
                node.sums_over or (node.support == "positive" and not node.real)
            ):
                total += float(np.log(value, where=value > 0, out=np.zeros_like(value)).sum())
        return total

    def draw_part(self, node: Node, part: Any) -> None:
        self.variates.has_drawn = False
        super().draw_part(node, part)
        if self.variates.has_drawn:
            self.drawn_nodes.add(node.name)

    # ---- counts in proportion -------------------------------------------------------------

    def share(self, node: Node, slot: str, counts: Array) -> None:
        """Every factor receives the counts of the summands in which it stands: with w = n / λ,
        those of its entry are Σ w Π factors."""
        with self.weights():
            self._share(node, slot, counts)

    def _share(self, node: Node, slot: str, counts: Array) -> None:
        terms = self.wiring.polynomials[node.name, slot].terms
        total = np.broadcast_to(self.slot(node, slot), counts.shape)
        ratio = counts / np.maximum(total, _LEAST_RATE), (R, *node.axes)
        for term in terms:
            arrays = self.factors(node, slot, term)
            for factor in (factor for factor in term.factors if factor.is_node):
                found = self.sum(factor.dims, ratio, *arrays)
                if factor.previous:
                    self.from_later[node.name] += self.moved(node, found, -factor.lag)
                    continue
                for name, received in self.received(factor, found).items():
                    self._receive(node, name, received)

    def _receive(self, node: Node, name: str, counts: Array) -> None:
        pair = (node.name, name)
        self.counts[pair] = self.counts.get(pair, 0) + counts

    # ---- sparse data ----------------------------------------------------------------------

    def send(self, node: Node) -> None:
        if node.name not in self.sparse:
            super().send(node)
            return
        self.counts = {pair: n for pair, n in self.counts.items() if pair[0] != node.name}
        link, data = find_link(node), self.sparse[node.name]
        assert link is not None
        with self.weights():
            sides = [self._sides(node, term)
                     for term in self.wiring.polynomials[node.name, link.slot].terms]  # fmt: skip
        rows, columns = (_joined([getattr(each, part) for each in sides])
                         for part in ("of_rows", "of_columns"))  # fmt: skip
        rates = np.empty(data.values.size)
        self._run(cell_rates, data.edges, data.columns, rows, columns, rates)
        self.log_likelihood += self._fit(node, link.slot, data.values, rates)
        rates = np.maximum(rates, _LEAST_RATE)
        weights = self._counts_behind_cells(link, data.values, rates) / rates
        from_cells = np.empty_like(rows), np.empty_like(columns)
        self._run(weighted_rows, data.edges, data.columns, weights, columns, from_cells[0])
        self._run(weighted_rows, data.column_edges, data.rows, weights[data.order], rows,
                  from_cells[1])  # fmt: skip
        self._deliver(node, sides, *(each * sums for each, sums in
                                     zip((rows, columns), from_cells, strict=True)))  # fmt: skip

    def _run(self, kernel: Any, edges: Array, *arrays: Array) -> None:
        self.executor.rows(kernel, edges.size - 1, 0, edges, *arrays)

    def _sides(self, node: Node, term: Term) -> Sides:
        """The factors of a term that have the columns, and all others."""
        row, column = node.axes
        of_rows: list[Named] = [(np.asarray(term.coefficient), ())]
        of_columns: list[Named] = []
        for factor in term.factors:
            (of_columns if column in factor.dims else of_rows).append(self.read(factor, node))
        return Sides(term, self.sum((row, *term.contracted), *of_rows),
                     self.sum((column, *term.contracted), *of_columns))  # fmt: skip

    def _counts_behind_cells(self, link: Any, values: Array, rates: Array) -> Array:
        if link.counts is None:
            return values
        stream = Stream(0, (1, 1, values.size, 1), variates=self.variates)
        rates = rates.reshape(stream.shape)
        return np.ravel(link.counts(**{"stream": stream, link.slot: rates}))

    def _fit(self, node: Node, slot: str, values: Array, rates: Array) -> float:
        """Σ log p(x | λ). A cell of 0 has −qλ, so that only the sum of all λ is needed."""
        q = self._constant_exposures(node)[slot]
        assert isinstance(node, Observed)
        each = node.log_density_cells(values, **{slot: rates}) + q * rates
        terms = self.wiring.polynomials[node.name, slot].terms
        totals = [self.sum((), *self.factors(node, slot, t), over=(*node.axes, *t.contracted))[0]
                  for t in terms]  # fmt: skip
        return float(each.sum() - q * sum(totals))

    def _deliver(self, node: Node, sides: list[Sides], of_rows: Array, of_columns: Array) -> None:
        """Add up the counts of each side for the factors that stand in it."""
        row, column = node.axes
        first = 0
        for each in sides:
            own = slice(first, first + each.width)
            first += each.width
            for factor in (factor for factor in each.term.factors if factor.is_node):
                dim, counts, like = (
                    (column, of_columns, each.of_columns) if column in factor.dims
                    else (row, of_rows, each.of_rows)
                )  # fmt: skip
                named = counts[:, own].reshape(like.shape), (R, dim, *each.term.contracted)
                self._receive(node, factor.name, self.sum(factor.dims, named))

    # ---- slots and exposures, with axes of size 1 where they are the same -------------------

    def slot(self, node: Node, slot: str) -> Array:
        rule, polynomial = (
            self.wiring.rules.get((node.name, slot)),
            self.wiring.polynomials[node.name, slot],
        )
        is_whole = not self._is_plain(node) or (isinstance(node, Latent) and node.finite)
        if is_whole or polynomial.along is not None or (rule is not None and rule.is_quadratic):
            return super().slot(node, slot)
        total = np.zeros((1,) * (1 + len(node.axes)))
        for term in polynomial.terms:
            arrays = self.factors(node, slot, term)
            present = {dim for _, own in arrays for dim in own}
            out = tuple(dim for dim in node.slot_axes(slot) if dim in present)
            found = self.sum(out, *arrays, over=term.contracted)
            shape = (self.sizes[dim] if dim in out else 1 for dim in node.axes)
            total = total + found.reshape(len(found), *shape)
        return total

    def evidence(self, node: Node, slot: str, part: str, **given: Array) -> Array:
        rule = self.wiring.rules[node.name, slot]
        special = rule.drawn is not None or rule.is_quadratic
        if part != "exposure" or special or not self._is_plain(node):
            return super().evidence(node, slot, part, **given)
        found: Any = rule.exposure
        if isinstance(found, str):
            found = self.quantity(node, found)
        elif callable(found):
            wide = np.asarray(self.ask(found, node, **given))
            found = wide.reshape(len(wide), *wide.shape[wide.ndim - len(node.axes) :])
        return np.asarray(found, np.float64)

    def _is_plain(self, node: Node) -> bool:
        """Whether a node is drawn all at once, by a rule that takes axes of size 1."""
        drawn = self.wiring.draws.get(node.name)
        if drawn is not None and (drawn.kind == QUADRATIC or drawn.kernel):
            return False
        in_parts = any(node.name in step.sequential.members for step in self.network.schedule
                       if step.sequential is not None)  # fmt: skip
        return node.name not in self.missing and not in_parts and len(self.parts(node)) == 1

    def exposure(self, name: str) -> Array:
        node = self.nodes[name]
        if not self._is_plain(node):
            return super().exposure(name)
        total = np.zeros((1,) * (1 + len(node.axes)))
        for source in self.wiring.sources[name]:
            total = total + self.through(
                source, self.evidence(source.child, source.slot, "exposure")
            )
        return total

    def through(self, source: Source, sent: Array) -> Array:
        """Only dims along which something varies are evaluated."""
        child, factor = source.child, source.factor
        along = self.wiring.polynomials[child.name, source.slot].along
        if factor.lookups or factor.previous or along is not None:
            full = np.broadcast_to(sent, (1, *(self.sizes[dim] for dim in child.axes)))
            return super().through(source, full)
        dims = tuple(dim for dim, size in zip(child.axes, sent.shape[1:], strict=False) if size > 1)
        arrays: list[Named] = [(sent.reshape([self.sizes[dim] for dim in dims]), dims)]
        others, ones = self._others(source, dims)
        arrays += others
        present = {dim for _, own in arrays for dim in own}
        out = tuple(dim for dim in factor.dims if dim in present)
        summed = {*source.term.contracted, *child.axes} - {*factor.dims}
        same = prod(self.sizes[dim] for dim in summed - present - ones)
        found = self.sum(out, *arrays) * same
        return found.reshape(len(found), *(self.sizes[d] if d in out else 1 for d in factor.dims))

    def _others(self, source: Source, varying: tuple[str, ...]) -> tuple[list[Named], set[str]]:
        """The other factors of a term, without proportions that are summed alone, which are 1; and
        the dims over which these were summed."""
        term, factor = source.term, source.factor
        others = [each for each in term.factors if each is not factor]
        arrays: list[Named] = [(np.asarray(term.coefficient), ())]
        ones: set[str] = set()
        for each in others:
            rest = {dim for other in others if other is not each for dim in other.dims}
            if each.simplex and not {*each.simplex} & {*rest, *varying, *factor.dims}:
                ones |= {*each.simplex}
            else:
                arrays.append(self.read(each, source.child))
        return arrays, ones


class Variational(Expectations):
    """Mean-field variational Bayes. ``laws`` are the slots of the law of each node, by part."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.variates = GeometricVariates(self.variates.generator)
        self.laws: dict[str, list[tuple[Any, dict[str, Array]]]] = {}
        self.geometric: dict[str, Array] = {}
        self.entropies: dict[str, float] = {}

    @contextmanager
    def weights(self) -> Iterator[None]:
        before = dict(self.values)
        self.values.update(self.geometric)
        try:
            yield
        finally:
            self.values.update(before)

    def draw(self, step: Step) -> None:
        for name in step.sequential.members if step.sequential is not None else [step.node]:
            self.laws[name], self.entropies[name] = [], 0.0
        super().draw(step)

    def generate(self, node: Node, part: Any = WHOLE, **updated: Array) -> None:
        own = [slot for slot in node.slots() if slot not in updated]
        slots = {slot: self.wide(node, self.slot(node, slot))[part] for slot in own} | updated
        self.variates.geometric = self.variates.entropy = None
        self.put(node, part, node.generate(self.stream(node, part), **slots))
        self.laws.setdefault(node.name, []).append((part, slots))
        weight = self.geometric.get(node.name, self.values[node.name]).copy()
        found = self.variates.geometric
        weight[part] = (
            self.values[node.name][part] if found is None else found.reshape(weight[part].shape)
        )
        self.geometric[node.name] = np.maximum(weight, _TINY)
        self.entropies[node.name] = self.entropies.get(node.name, 0.0) + (
            self.variates.entropy or 0.0
        )

    def prior_density(self) -> float:
        """E ln p − E ln q of all latent nodes, if all are gammas and proportions; else NaN."""
        if self.entropies.keys() != set(self.network.free):
            return np.nan  # at the beginning
        total = sum(self.entropies.values())
        for name in self.network.free:
            node = self.nodes[name]
            assert isinstance(node, Latent)
            given: dict[str, Any] = {s: self.wide(node, self.slot(node, s)) for s in node.slots()}
            given |= {"axis": self.stream(node).simplex} if node.sums_over else {}
            each = node.expected_log_density(
                self.wide(node, self.values[name]), self.wide(node, self.geometric[name]), **given
            )
            total += np.nan if each is None else float(np.sum(each))
        return total

    def posterior_draw(self) -> dict[str, Array]:
        """A draw of all nodes from their laws."""
        plain = PlainVariates(self.variates.generator)
        values = {name: value.copy() for name, value in self.values.items()}
        for name, laws in self.laws.items():
            node = self.nodes[name]
            for part, slots in laws:
                stream = replace(self.stream(node, part), variates=plain)
                values[name][part] = node.generate(stream, **slots).reshape(
                    values[name][part].shape
                )
        return values


def _joined(arrays: list[Array]) -> Array:
    """Arrays (1, rows, …) as one matrix, with the columns that kernels want."""
    return padded(
        np.concatenate([array[0].reshape(array.shape[1], -1) for array in arrays], axis=1)
    )


def stays_sparse(network: Network, name: str, cells: Cells) -> bool:
    """Whether the counts of an observed node are shared out at the non-zero cells alone: those of a
    matrix whose rate is a sum of products of factors of rows and factors of columns."""
    node, link = network.nodes[name], find_link(network.nodes[name])
    rules = network.wiring.connections.rules_of(node)
    if link is None or link.all_cells or cells.missing is not None or len(node.axes) != 2:
        return False
    if set(rules) != {link.slot} or node.slots() != (link.slot,):
        return False
    rule = rules[link.slot]
    if rule.count != "count" or not isinstance(rule.exposure, int | float):
        return False
    if link.counts is not None and not set(signature(link.counts).parameters) <= {
        "stream",
        link.slot,
    }:
        return False
    polynomial = network.wiring.polynomials[name, link.slot]
    if any(network.wiring.draws[each].kernel for each in polynomial.names if each in network.free):
        return False  # a kernel reads the density of single cells
    return polynomial.along is None and all(
        term.phase == ALWAYS
        and not any(f.lookups or f.relation or f.when or f.previous or f.is_sparse
                    or set(node.axes) <= set(f.dims) for f in term.factors)
        for term in polynomial.terms
    )  # fmt: skip


_METHODS = {"expectation": Expectations, "variational": Variational}


def check_estimate(method: Any, tolerance: Any, draws: int) -> None:
    """Reject wrong arguments of `pgbn.Network.estimate`."""
    if method not in _METHODS:
        raise DataError(f"method={method!r:.60}: must be 'expectation' or 'variational'")
    if not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise DataError(f"tolerance={tolerance!r:.60}: must be a number of at least 0, below 1")
    if draws and method != "variational":
        raise DataError(
            f"draws={draws}: an expectation is one point; give method='variational', or run a "
            "chain from the point: net.sample(data, start=point)"
        )


def estimate(
    network: Network, data: Mapping[str, Any], method: str, sweeps: int, tolerance: float,
    draws: int, seed: int, start: Any, given: Any, coords: Any, threads: int | None,
) -> Draws:  # fmt: skip
    """See `pgbn.Network.estimate`."""
    executor = executor_of(threads)
    network, data = bind_indexes(network, data)
    network, values = with_some_given(network, given, data)
    check_coords(network, coords, network.sizes)
    cells, fixed = read_data(network, read_corpora(network, data, executor)), Given(network, values)
    shapes = {name: each.shape for name, each in cells.items()}
    sizes = complete_sizes(network, {}, shapes | fixed.shapes)
    check_fits(network, sizes, data=not all(stays_sparse(network, *each) for each in cells.items()))
    program = Program(network, cells, sizes)
    fixed.put(program, 0)
    check_possible(program)
    point = _METHODS[method](network, cells, sizes, np.random.default_rng(seed), executor)
    for name, value in fixed.values(0).items():
        point.values[name] = np.array(value, np.float64)[None]
    point.begin({name: to_axes(program, name, value)[0] for name, value in
                 read_start(program, {} if start is None else start).items()})  # fmt: skip
    path = climb(point, sweeps, tolerance)
    found = [point.posterior_draw() for _ in range(draws)] if draws else [point.values]
    return Draws(
        {name: np.stack([each[name][0] for each in found])[None] for name in network.free},
        dims={name: ("chain", "draw", *network.nodes[name].axes) for name in network.free},
        attributes={
            "method": method, "seed": seed, "sweeps": len(path.log_likelihood),
            "converged": path.converged, "log_likelihood": path.log_likelihood,
            "objective": path.objective, "drawn": sorted(point.drawn_nodes),
            "burn_in": 0, "thin": 1,
        },
        network=network, data=dict(cells), coords=read_coords(network, data, coords, sizes),
        given=dict(fixed.stacks),
    )  # fmt: skip


def climb(point: Expectations, sweeps: int, tolerance: float) -> Climb:
    """Sweep until the objective changes by less than ``tolerance`` of itself in ten sweeps."""
    found = Climb([], [], False)
    for number in range(sweeps):
        prior = point.prior_density() if number % _WINDOW == 0 else None
        point.sweep()
        found.log_likelihood.append(point.log_likelihood)
        if prior is not None:
            last = found.log_likelihood[-_WINDOW:]
            if np.isfinite(prior):
                found.objective.append(prior + point.log_likelihood)
                last = found.objective[-2:]
            if len(last) > 1 and abs(last[-1] - last[0]) <= tolerance * abs(last[-1]):
                found.converged = True
                break
    return found
