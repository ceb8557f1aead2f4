"""Printed conditionals of entries that are drawn one after another, of hidden choices, and of what is
drawn by its density."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.special import gammaln, xlogy
from scipy.stats import bernoulli, beta, gamma, poisson

from pgbn import Chain
from pgbn.engine.compile.density import ConditionalDensity
from pgbn.engine.run.bound_steps import BoundStep
from pgbn.engine.run.generate import to_axes
from pgbn.nodes.base import Node
from pgbn.samplers.random import stream_key
from tests.helpers.printed_formulas import Reader
from tests.helpers.printed_laws import arguments, close, unvector
from tests.helpers.printed_parser import At

__all__ = ["check_density", "choices", "sequential"]

_FACTOR = re.compile(
    r"(?:\\prod(?:_\{(?P<condition>.*?)\})? )?p\\bigl\((?P<symbol>.*?) : "
    r"\\mathrm\{(?P<family>\w+)\}\((?P<inside>.*?)\)\\bigr\)\s*(?:\\ |$)"
)


def _view(chain: Chain, name: str) -> Any:
    """The value of a node, with its dims in their order; what is written to it stays."""
    return to_axes(chain.program, name, chain.program.values[name])[0]


def _cells(reader: Reader, node: Node, fixed: dict[str, int] | None = None) -> Iterator[At]:
    sizes = [range(reader.program.sizes[dim]) for dim in node.axes]
    for cell in product(*sizes):
        at = dict(zip(node.axes, cell, strict=True))
        if all(at[dim] == place for dim, place in (fixed or {}).items()):
            yield {reader.notation.index[dim]: place for dim, place in at.items()}


def sequential(
    chain: Chain, reader: Reader, turn: BoundStep, laws: list[list[str]], draws: int
) -> dict[Any, list[float]]:
    """How far each entry is from its printed mean, given the new entries before it and the old
    ones after it; ``laws`` are (shape, rate) of the members of the step."""
    members = dict(turn.step.sequential.members)  # type: ignore[union-attr]
    values = chain.program.values
    old = {name: values[name].copy() for name in members}
    apart: dict[Any, list[float]] = {}
    for number in range(draws):
        values.update({name: array.copy() for name, array in old.items()})
        turn.run(stream_key(turn.base, 10**6 + number))
        new = {name: _view(chain, name).copy() for name in members}
        values.update({name: array.copy() for name, array in old.items()})
        dim = members[turn.step.sequential.node]  # type: ignore[union-attr]
        for entry in range(chain.program.sizes[dim]):
            for (name, own), (shape, rate) in zip(members.items(), laws, strict=True):
                node, drawn = chain.network[name], []
                for at in _cells(reader, node, {own: entry}):
                    cell = tuple(at[reader.notation.index[d]] for d in node.axes)
                    mean = reader.value(shape, at) / reader.value(rate, at)
                    apart.setdefault((name, cell), []).append(float(new[name][cell]) - mean)
                    drawn.append(cell)
                for cell in drawn:
                    _view(chain, name)[cell] = new[name][cell]
    values.update(old)
    return apart


def choices(
    chain: Chain, reader: Reader, turn: BoundStep, line: str, draws: int
) -> tuple[dict[Any, float], dict[Any, float]]:
    """How often each choice was made, and its printed probability, by the sum over all choices."""
    node, values = chain.network[turn.step.node], chain.program.values
    axis = node.axes.index(node.simplex or "")
    shape = _view(chain, node.name).shape
    rows = [size for place, size in enumerate(shape) if place != axis]
    every = [np.moveaxis(np.eye(shape[axis])[list(flat)].reshape(*rows, -1), -1, axis)
             for flat in product(range(shape[axis]), repeat=int(np.prod(rows)))]  # fmt: skip
    old, logs = values[node.name].copy(), []
    for choice in every:
        _view(chain, node.name)[...] = choice
        logs.append(sum(_log_factor(reader, node, f) for f in _FACTOR.finditer(line)))
    weights = np.exp(np.array(logs) - max(logs))
    expected = np.tensordot(weights / weights.sum(), np.array(every), 1)
    seen = np.zeros(shape)
    for number in range(draws):
        values[node.name] = old.copy()
        turn.run(stream_key(turn.base, 10**6 + number))
        seen += _view(chain, node.name)
    values[node.name] = old
    cells = [*product(*map(range, shape))]
    return {c: float(seen[c]) / draws for c in cells}, {c: float(expected[c]) for c in cells}


def _log_factor(reader: Reader, node: Node, factor: re.Match[str]) -> float:
    """The log of one printed density: of the choices themselves, or of the counts below them."""
    inside = re.sub(r"^\((.*)\)_\{.*?\}$", r"\1", factor["inside"])
    total, notation = 0.0, reader.notation
    if factor["family"] == "Cat":
        along = notation.along(node)
        for at in _cells(reader, node):
            cell = tuple(at[notation.index[dim]] for dim in node.axes)
            first = along is not None and at[notation.index[along]] == 0
            if along is not None and first == bool(factor["condition"]):
                continue
            if _view(reader.chain, node.name)[cell]:
                total += float(np.log(max(reader.value(inside, at), 1e-300)))
        return total
    assert factor["family"] == "Pois"
    (child,) = [c for c in notation.wiring.connections.children[node.name].values()
                if notation.own_symbol(c) == factor["symbol"]]  # fmt: skip
    own = [notation.index[dim] for dim in reversed(child.axes)]
    for at in _cells(reader, child):
        count, rate = reader.cells(child.name, own, at), reader.value(inside, at)
        total += float(poisson.logpmf(count, rate))
    return total


def check_density(
    chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], _draws: int
) -> None:
    """ln p(value | −), up to a constant, at points where the kernel evaluated it."""
    name, values = turn.step.node, chain.program.values
    (line,) = [line.split(r"\propto ", 1)[1] for line in lines if line.startswith("p(")]
    factors = [*_FACTOR.finditer(line)]
    assert factors, f"{name}: no density could be read in {line}"
    points: list[tuple[Any, float]] = []
    right = ConditionalDensity.__call__

    def call(self: ConditionalDensity, value: Any) -> Any:
        found = right(self, value)
        if np.isfinite(found).all():
            points.append((np.array(value).reshape(chain.program.shape[name]), float(found.sum())))
        return found

    before = values[name].copy()
    with patch.object(ConditionalDensity, "__call__", call):
        turn.run(turn.base)
    assert len(points) > 3, f"{name}: the kernel evaluated no density"
    logs = []
    for value, _ in points[:6]:
        values[name] = value
        logs.append(sum(_log_densities(reader, factor) for factor in factors))
    values[name] = before
    for (_, each), found in zip(points[1:], logs[1:], strict=False):
        close(f"{name}: log density", found - logs[0], each - points[0][1])


def _log_densities(reader: Reader, factor: re.Match[str]) -> float:
    """The log of a printed density, of all cells of its node."""
    notation = reader.notation
    (node,) = [n for n in notation.network if notation.own_symbol(n) == factor["symbol"]]
    value, family = reader.parse(unvector(factor["symbol"])), factor["family"]
    slots = [reader.parse(unvector(part)) for part in arguments(factor["inside"])]
    total, sums = 0.0, dict[Any, float]()
    for at in _cells(reader, node):
        x, *given = (each(at) for each in (value, *slots))
        if family == "Dir":
            row = tuple(at[notation.index[dim]] for dim in node.axes if dim not in node.sums_over)
            sums[row] = sums.get(row, 0.0) + given[0]
            total += float(xlogy(given[0] - 1, x) - gammaln(given[0]))
        elif family == "Gam":
            total += float(gamma.logpdf(x, given[0], scale=1 / given[1]))
        else:
            law = {"Pois": poisson.logpmf, "Bern": bernoulli.logpmf, "Beta": beta.logpdf}[family]
            total += float(law(x, *given))
    return total + float(sum(gammaln(each) for each in sums.values()))
