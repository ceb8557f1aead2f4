"""The program: a schedule compiled, for given sizes, to functions on arrays.

It holds the state of a chain (values, counts) and one function for each step. It knows
nothing of sweeps, seeds or recording; `pgbn.engine.run.chain` runs it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import Labelled
from pgbn.engine.compile.quantities import Quantities
from pgbn.engine.compile.splitting import Splitter
from pgbn.engine.data.cells import Cells
from pgbn.errors import NetworkError
from pgbn.network.sumproduct import operand_of, reduce_product
from pgbn.network.terms import Term
from pgbn.nodes.base import Node, Observed, draw_node
from pgbn.nodes.rules.evidence import Evidence
from pgbn.nodes.rules.registry import find_link
from pgbn.nodes.rules.results import drawn_counts, is_own, is_own_rule, link_counts
from pgbn.samplers import vectorised
from pgbn.samplers.random import stream_key
from pgbn.samplers.stream import Stream

__all__ = ["Program", "check_posterior"]


class Program(Quantities):
    """The quantities of a model, and the steps that draw them."""

    def draw_step(self, name: str) -> Callable[[int], None]:
        """The function that draws a latent node, given a key."""
        node = self.network.nodes[name]
        if self.is_chain(name):
            from pgbn.engine.time.scan import chain_draw

            return chain_draw(self, node)
        sources, fused = self.wiring.sources[name], None
        if self.fused:
            from pgbn.engine.fused.gamma_layers import fused_draw

            fused = fused_draw(self, node)
            if fused is not None and not any(is_own_rule(source.rule) for source in sources):
                return fused
        posterior = self.wiring.draws[name].posterior
        needed = inspect.signature(posterior).parameters
        arguments = {argument: self.quantity(node, argument).get for argument in needed}
        slots = {slot: self.slot(name, slot).get for slot in node.slots()}
        shape, values = self.shape[name], self.values
        heard = tuple(f"{type(s.child).__name__}.{s.slot} of {s.child.name}" for s in sources)

        def run(key: int) -> None:
            updated = posterior(**{argument: get() for argument, get in arguments.items()})
            check_posterior(node, updated, heard)
            if fused is not None:  # it checks nothing, and a user's rules may be wrong
                fused(key)
                return
            kept = {slot: get() for slot, get in slots.items() if slot not in updated}
            values[name] = draw_node(node, self.stream(name, key), shape, {**updated, **kept})

        return run

    def prior_step(self, name: str) -> Callable[[int], NDArray[Any]]:
        """The function that generates a node from its slots, given a key."""
        node = self.network.nodes[name]
        if self.is_chain(name):
            from pgbn.engine.time.scan import chain_prior

            return chain_prior(self, node)
        slots = {slot: self.slot(name, slot).get for slot in node.slots()}
        shape = self.shape[name]
        return lambda key: draw_node(
            node, self.stream(name, key), shape, {slot: get() for slot, get in slots.items()}
        )

    def count_step(self, name: str) -> Callable[[int], None]:
        """The function that draws the counts that a node passes up, given a key."""
        node = self.network.nodes[name]
        if self.is_chain(name):
            from pgbn.engine.time.scan import chain_counts

            return chain_counts(self, node)
        parts = []
        if isinstance(node, Observed) and find_link(node) is not None:
            parts.append(self._data_counts(node))
        parts += [
            self._slot_counts(node, slot)
            for slot in node.slots()
            if (name, slot) in self.wiring.rules and self.wiring.rules[name, slot].is_random
        ]

        if len(parts) == 1:
            return parts[0]

        def run(key: int) -> None:
            for index, part in enumerate(parts):
                part(stream_key(key, index))

        return run

    def _slot_counts(self, node: Node, slot: str) -> Callable[[int], None]:
        if self.fused:
            from pgbn.engine.fused.gamma_layers import fused_tables

            fused = fused_tables(self, node, slot)
            if fused is not None:
                return fused
        rule = self.wiring.rules[node.name, slot]
        count = rule.count
        assert callable(count)
        arguments = {name: self.quantity(node, name).get for name in rule.count_reads}
        splitter, own = self.splitter(node, slot), is_own(count)

        def run(key: int) -> None:
            stream = self.stream(node.name, key)
            result = count(stream=stream, **{name: get() for name, get in arguments.items()})
            if own:
                result = drawn_counts(node, slot, rule, result, stream.shape, self.sizes)
            if isinstance(result, Evidence):
                self.drawn[node.name, slot] = result.exposure
                result = result.count
            result = self.known_only(node, slot, result)
            self.deliver(node, slot, splitter.dense(stream_key(key, 1), result))

        return run

    def splitter(self, node: Node, slot: str) -> Splitter:
        """What shares the counts of a node among the factors in its slot."""
        return Splitter(
            self.wiring.polynomials[node.name, slot].terms,
            self.storage[node.name],
            self.shape4[node.name],
            self.sizes,
            lambda factor: self.read(operand_of(factor)),
            lambda factor: factor.name in self.wiring.sources,
            lambda term: self._term(term),
            self.threads,
        )

    def _term(self, term: Term) -> Labelled:
        operands = [operand_of(factor) for factor in term.factors]
        return self.product(reduce_product(term.coefficient, operands, term.contracted))

    def deliver(self, node: Node, slot: str, shares: list[list[NDArray[np.int64] | None]]) -> None:
        """Keep the counts of each factor, added up over the terms that hold it."""
        fresh: dict[tuple[str, str], NDArray[np.int64]] = {}
        terms = self.wiring.polynomials[node.name, slot].terms
        for term, share in zip(terms, shares, strict=True):
            for factor, counts in zip(term.factors, share, strict=True):
                if counts is not None:
                    pair = (node.name, factor.name)
                    fresh[pair] = fresh[pair] + counts if pair in fresh else counts
        self.counts.update(fresh)

    def _data_counts(self, node: Observed) -> Callable[[int], None]:
        link = find_link(node)
        assert link is not None
        function = link.counts
        name, slot = node.name, link.slot
        splitter = self.splitter(node, slot)
        needed = tuple(inspect.signature(function).parameters) if function else ()
        beside = [
            other
            for other in node.slots()
            if other != slot
            and (name, other) in self.wiring.rules
            and self.wiring.rules[name, other].count == "count"
        ]
        splitters = {other: self.splitter(node, other) for other in beside}

        def run(key: int) -> None:
            cells = self.cells[name]
            counts = cells.values
            if function is not None or cells.missing is not None:
                shape = (1, 1, counts.size, 1)
                rate = splitter.rates(cells)
                if function is not None:
                    known = {"value": cells.values.reshape(shape).astype(np.float64), slot: rate}
                    known |= {s: self.at_cells(node, s, cells) for s in needed
                              if s not in ("stream", "value", slot)}  # fmt: skip
                    stream = Stream(stream_key(key, 1), shape, self.threads)
                    read = {n: known[n] for n in needed if n != "stream"}
                    counts = function(stream=stream, **read)
                    if is_own(function):
                        counts = link_counts(node, slot, function, counts, shape)
                    counts = counts.reshape(-1)
                if cells.missing is not None:
                    stream = Stream(stream_key(key, 2), shape, self.threads)
                    rate = rate * self._exposure_at(node, slot, cells)
                    imputed = vectorised.poisson(stream, rate).reshape(-1)
                    counts = np.where(cells.missing, imputed, counts)
            self.latent_counts[name] = counts
            if (name, slot) in self.wiring.rules:
                self.deliver(node, slot, splitter.cells(stream_key(key, 3), cells, counts))
            if cells.missing is not None:  # an unknown cell says nothing to the other slots
                counts = np.where(cells.missing, 0, counts)
            for other, part in splitters.items():
                self.deliver(node, other, part.cells(stream_key(key, 4), cells, counts))

        return run

    def _exposure_at(self, node: Observed, slot: str, cells: Cells) -> Any:
        """The exposure q that the rule for a slot tells, at every cell: x ~ Pois(q · rate)."""
        rule = self.wiring.rules.get((node.name, slot))
        exposure = 1.0 if rule is None else rule.exposure
        if isinstance(exposure, str):
            return self.at_cells(node, exposure, cells)
        if rule is None or not callable(exposure):
            return exposure
        return exposure(**{read: self.at_cells(node, read, cells) for read in rule.exposure_reads})


def check_posterior(node: Node, updated: Any, heard: tuple[str, ...] = ()) -> None:
    """Refuse what is no parameters of a node: a draw rule returns new values of its slots, made
    from the evidence that it ``heard`` by other rules."""
    rule, slots = f"{node.name}: the draw rule of {type(node).__name__}", node.slots()
    if not isinstance(updated, Mapping):
        raise NetworkError(
            f"{rule} returned {type(updated).__name__}; return a dict from names of slots "
            f"({', '.join(slots)}) to their new values"
        )
    for slot, value in updated.items():
        if slot not in slots:
            raise NetworkError(
                f"{rule} returned a value of {slot!r}, which is no slot; its slots are "
                f"{', '.join(slots)}"
            )
        if np.asarray(value).dtype.kind not in "iufb":
            raise NetworkError(f"{rule} returned {value!r:.60} for {slot!r}; return numbers")
        least = np.min(value)  # NaN if one of them is
        if np.isnan(least):
            raise NetworkError(
                f"{rule} returned NaN for {slot!r}; are the rule, and the numbers that it reads, "
                "finite?"
            )
        if least < 0 and slot not in node.real_slots:
            others = f", or the rule for {' or '.join(dict.fromkeys(heard))}," if heard else ""
            real = f" (a slot that may be negative, as a mean, stands in real_slots = ({slot!r},))"
            raise NetworkError(
                f"{rule} returned the negative value {least:g} for {slot!r}; has it{others} a "
                f"wrong sign?{real if is_own(type(node)) else ''}"
            )
