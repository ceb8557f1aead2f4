"""Printed laws of hidden counts, log-normals and completed proportions.

What the step gives to the primitives that it draws with is compared with what the printed lines say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.special import gammaln

from pgbn import Chain
from pgbn.engine.run.bound_steps import BoundStep
from pgbn.nodes.base import Node
from pgbn.samplers import vectorised
from pgbn.samplers.random import stream_key
from pgbn.samplers.variates.log_normal import _log_ratio, _omega
from tests.helpers.printed_counts import BESSEL, check_counts
from tests.helpers.printed_formulas import Reader
from tests.helpers.printed_laws import (
    close,
    compare,
    inlined,
    laws,
    recorded,
    rows,
    unvector,
    used,
    wheres,
)
from tests.helpers.printed_parser import At, Value

__all__ = ["check_bessel", "check_completed", "check_hidden", "check_log_normal"]

_HIDDEN = re.compile(r"\\mathrm\{Gam\}\((.*)\),\\ p\(h\) \\propto (.*)$")
_MOST = 60  # hidden counts beyond it have no weight here
_POINTS = (-1.0, -0.3, 0.4, 1.2)  # on the scale of ln a


@contextmanager
def _calls(name: str) -> Iterator[list[list[Any]]]:
    """The arguments of every call of a primitive, and last what it returned, in its shape."""
    seen: list[list[Any]] = []
    right = getattr(vectorised, name)

    def call(stream: Any, *parts: Any) -> Any:
        drawn = right(stream, *parts)
        seen.append([np.broadcast_to(each, stream.shape) for each in (*parts, drawn)])
        return drawn

    with patch.object(vectorised, name, call):
        yield seen


def _by_cell(chain: Chain, node: Node, calls: list[list[Any]]) -> list[Any]:
    """The arguments with the dims of a node: of one call, or of one for each row."""
    assert calls, f"{node.name}: the primitive of the printed law was not called"
    return [used(chain, node, [*each]) for each in zip(*calls, strict=True)]


def _by_phase(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The lines of the first row of a chain and of the later ones, or those of all rows."""
    for later in (False, True):
        own = [line for line in lines if (r",\quad" in line and "> 1" in line) is later]
        if own:
            yield ("> 1" if later else ""), [re.sub(r",\\quad \w+ > 1$", "", line) for line in own]


def check_bessel(
    chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], draws: int
) -> None:
    """h ~ Bessel_ν(α): the order and the argument; then what every parent is told."""
    node = chain.network[turn.step.node]
    with _calls("hidden_count") as calls:
        turn.run(turn.base)
    if chain.program.is_in_time(node.name):
        calls = calls[::-1]  # backward
    half, offset, _ = _by_cell(chain, node, calls)  # of the law without a count
    for condition, own in _by_phase(lines):
        (law,) = [match for line in own if (match := BESSEL.search(line))]
        order, argument = (reader.parse(inlined(part, wheres(own))) for part in law.groups())
        for at in rows(reader, node, condition):
            cell = tuple(at[reader.notation.index[dim]] for dim in node.axes)
            close(f"{turn.step.name}{cell}: order", order(at), float(offset[cell]) - 1)
            close(f"{turn.step.name}{cell}: argument", argument(at), 2 * float(half[cell]) ** 0.5)
    check_counts(chain, reader, turn, lines, draws)


def check_hidden(
    chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], draws: int
) -> None:
    """A gamma with a hidden count: p(h) at several h, the gamma given h, and the mean of h."""
    node, apart = chain.network[turn.step.node], dict[Any, list[float]]()
    for number in range(draws // 5):
        with _calls("hidden_count") as counts, _calls("gamma") as gammas:
            turn.run(stream_key(turn.base, 10**6 + number))
        w, offset, received, drawn = _by_cell(chain, node, counts)
        shape, rate, _ = _by_cell(chain, node, gammas)
        for condition, own in _by_phase(lines):  # a row of a chain reads the new row before it
            law = _HIDDEN.search(own[0])
            assert law is not None, f"{node.name}: {own[0]} is no law of a hidden count"
            one, two = (reader.parse(part) for part in law[1].split(r",\ "))
            known = {name: reader.parse(formula) for name, formula in wheres(own).items()}
            weight = reader.parse(law[2])
            for at in rows(reader, node, condition):
                cell = tuple(at[reader.notation.index[dim]] for dim in node.axes)
                a, m, h = float(offset[cell]), float(received[cell]), float(drawn[cell])
                reader.letters.clear()
                reader.letters |= {name: value(at) for name, value in known.items()}
                weights = [_with(reader, "h", each, weight, at) for each in range(_MOST)]
                for each in (1, 2, 5):
                    right = each * np.log(w[cell]) - gammaln(each + 1) + gammaln(a + each + m)
                    right += gammaln(a) - gammaln(a + each) - gammaln(a + m)
                    found = np.log(weights[each] / weights[0])
                    close(f"{node.name}{cell}: ln p(h = {each})", found, right)
                reader.letters["h"] = h
                close(f"{node.name}{cell}: shape", one(at), float(shape[cell]))
                close(f"{node.name}{cell}: rate", two(at), float(rate[cell]))
                mean = float(np.dot(range(_MOST), weights) / sum(weights))
                apart.setdefault(cell, []).append(h - mean)
    reader.letters.clear()
    for cell, each in apart.items():
        compare(f"{node.name}{cell}: h", np.array(each), 0.0)


def _with(reader: Reader, letter: str, number: float, law: Value, at: At) -> float:
    """A law at a value of its variable."""
    reader.letters[letter] = number
    return law(at)


def check_log_normal(
    chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], _: int
) -> None:
    """The printed density beside the one by which the kernel accepts, as functions of ln a."""
    node = chain.network[turn.step.node]
    law = reader.parse(inlined(lines[0].split(r"p(a) \propto ")[1], wheres(lines)))
    cells = [*rows(reader, node, "")]
    with _calls("log_normal") as calls:
        before = chain.program.values[node.name].copy()
        turn.run(turn.base)
        chain.program.values[node.name] = before
    mean, precision, count, exposure, _drawn = _by_cell(chain, node, calls)
    for at in cells:
        cell = tuple(at[reader.notation.index[dim]] for dim in node.axes)
        tau = float(precision[cell])
        centre = float(mean[cell] + count[cell] / tau)
        w = _omega(centre + np.log(exposure[cell] / tau))
        height = []
        for t in (0.0, *_POINTS):
            y = float(centre - w + t)
            height.append(np.log(_with(reader, "a", np.exp(y), law, at)) + y)  # the density of ln a
        for t, found in zip(_POINTS, height[1:], strict=True):
            right = _log_ratio(t, tau * w, tau)
            close(f"{node.name}{cell}: log density", found - height[0], float(right))
    reader.letters.clear()


def check_completed(
    chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], draws: int
) -> None:
    """The rates of the pseudo-counts, and the proportions given them."""
    node = chain.network[turn.step.node]
    (line,) = [line for line in lines if line.startswith("y^")]
    symbol, rate = re.fullmatch(r"(y\^\{.*?\})_.*? \\sim \\mathrm\{Pois\}\\bigl\((.*)\\bigr\)", line).groups()  # type: ignore[union-attr]  # fmt: skip
    printed = reader.parse(inlined(rate, wheres(lines)))
    cells = {tuple(at[reader.notation.index[dim]] for dim in node.axes): at
             for at in rows(reader, node, "")}  # fmt: skip
    (inside,) = [inside for family, inside, _ in laws(lines) if family == "Dir"]
    dirichlet, total = reader.parse(unvector(inside[0])), 0
    for number in range(draws // 10):
        expected = {cell: printed(at) for cell, at in cells.items()}
        with _calls("poisson") as calls, recorded(node) as seen:
            turn.run(stream_key(turn.base, 10**6 + number))
        rates, drawn = _by_cell(chain, node, calls)
        reader.arrays[symbol], total = drawn, total + drawn.sum()
        concentration = used(chain, node, [each["concentration"] for each in seen])
        for cell, at in cells.items():
            close(f"{node.name}{cell}: rate of y", expected[cell], float(rates[cell]))
            close(f"{node.name}{cell}: concentration", dirichlet(at), float(concentration[cell]))
    assert total > 0, f"{node.name}: no pseudo-count was drawn"
    reader.arrays.clear()
