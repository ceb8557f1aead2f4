"""Values of nodes integrated out given the counts: Rao–Blackwell.

With the counts z known, E[φ_vk | z] = (η + n_vk) / Σ_v (η + n_vk) and E[θ_kj | z, rest] =
(a_kj + m_kj) / (c_j + q_j). A rate that is linear in each of several nodes has the product of their
means as its mean where, given z and the rest, the nodes are independent: none of their draws reads
another of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.posterior import posterior_of
from pgbn.engine.compile.program import Program
from pgbn.network.network import Network
from pgbn.nodes.base import Latent
from pgbn.nodes.gamma import Gamma

__all__ = ["ConditionalMeans", "averaged_nodes", "mixed_gamma"]


def averaged_nodes(network: Network, name: str, slot: str) -> list[str]:
    """The nodes in a slot that can be replaced by their means given the counts, all at once."""
    terms = network.wiring.polynomials[name, slot].terms
    steps = {step.node: step for step in network.schedule if not step.upward}
    chosen: list[str] = []
    for each in dict.fromkeys(f.name for term in terms for f in term.factors if f.is_node):
        node = network.nodes.get(each)
        once = all(sum(f.name == each for f in term.factors) <= 1 for term in terms)
        known = isinstance(node, Latent) and type(node).expectation is not Latent.expectation
        if not (once and known and each in steps and each in network.wiring.draws):
            continue
        if each in network.wiring.completed:  # its law given the counts is no Dirichlet
            continue
        reads = {read.name for read in steps[each].reads}
        if not reads & set(chosen) and not any(
            each in {read.name for read in steps[other].reads} for other in chosen
        ):
            chosen.append(each)
    return chosen


def mixed_gamma(network: Network, name: str, slot: str) -> str | None:
    """The gamma node, if there is one, in which a slot is linear: the slot is then μ + Σ_k w_k θ_k,
    whose law given the counts is known. Of several, the first that is in most terms."""
    terms = network.wiring.polynomials[name, slot].terms
    most, chosen = 0, None
    for each in averaged_nodes(network, name, slot):  # one factor of a term at most
        own = [factor for term in terms for factor in term.factors if factor.name == each]
        plain = not any(factor.lookups for factor in own)
        if type(network.nodes[each]) is Gamma and plain and len(own) > most:
            most, chosen = len(own), each
    return chosen


class ConditionalMeans:
    """The parameters and means of some nodes of a program given its counts."""

    def __init__(self, program: Program, names: list[str]) -> None:
        self.program, self.names = program, names
        self._posteriors = {
            name: posterior_of(program, program.network.nodes[name]) for name in names
        }

    def slots(self, name: str) -> dict[str, Any]:
        """The slots of a node given its counts."""
        program, node = self.program, self.program.network.nodes[name]
        updated: Mapping[str, Any] = self._posteriors[name]()
        own = {slot: updated[slot] if slot in updated else program.slot(name, slot).get()
               for slot in node.slots()}  # fmt: skip
        if node.sums_over:
            own["axis"] = program.stream(name, 0).simplex
        return own

    def full(self, name: str, value: Any) -> NDArray[np.float64]:
        """An array as the values of a node are stored."""
        shape = self.program.shape4[name]
        whole = np.array(np.broadcast_to(value, shape), np.float64)
        return whole.reshape(self.program.shape[name])

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """While it lasts, the program has the means in place of the values of the nodes."""
        values, before = self.program.values, dict(self.program.values)
        means = {}
        for name in self.names:
            node = self.program.network.nodes[name]
            assert isinstance(node, Latent)
            slots = self.slots(name)
            if node.sums_over:
                shape = self.program.shape4[name]
                slots |= {s: np.broadcast_to(v, shape) for s, v in slots.items() if s != "axis"}
            means[name] = self.full(name, node.expectation(**slots))
        values.update(means)
        try:
            yield
        finally:
            for name in self.names:
                if name in before:
                    values[name] = before[name]
                else:
                    del values[name]
