"""Printed conditionals of what stands in linear predictors: normal vectors, bits, Pólya-gammas.

The primitive that a step calls is replaced by one that returns its parameters, so that they are read
where the draws would be: in the cells of the node.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any
from unittest.mock import patch

import numpy as np

from pgbn import Chain
from pgbn.engine.run.bound_steps import BoundStep
from pgbn.engine.run.generate import to_axes
from pgbn.network.connections import joint_dims
from pgbn.nodes import bernoulli, logit_bernoulli, normal
from pgbn.nodes.base import Node
from pgbn.samplers import vectorised
from pgbn.samplers.random import stream_key
from tests.helpers.printed_formulas import Reader
from tests.helpers.printed_laws import close, compare, inlined, rows, wheres
from tests.helpers.printed_parser import At

__all__ = ["check_bits", "check_normal", "check_polya"]

_NORMAL = re.compile(r"\\mathrm\{N\}\\bigl\(S \((.*)\),\\ S\\bigr\),\\ S = \((.*)\)\^\{-1\}$")
_BITS = re.compile(r"\\mathrm\{Bern\}\\Bigl\((.*)\\Bigr\)\\text\{ for one \} d")
_POLYA = re.compile(r"\\omega \\sim \\mathrm\{PG\}\((.*?), \\psi\),\\quad \\kappa = (.*)$")


def _as_drawn(
    chain: Chain, turn: BoundStep, owner: Any, name: str, stub: Callable[..., Any]
) -> Any:
    """The value that a step writes if a primitive returns what ``stub`` does; it is put back."""
    node, values = turn.step.node, chain.program.values
    before = values[node].copy()
    with patch.object(owner, name, stub):
        turn.run(turn.base)
    written, values[node] = np.asarray(to_axes(chain.program, node, values[node])[0]), before
    return written


def _joint(reader: Reader, node: Node) -> list[str]:
    """The indices of the entries that are drawn jointly."""
    dims = joint_dims(node, reader.program.wiring.sources[node.name])
    return [reader.notation.index[dim] for dim in dims]


def _cell(reader: Reader, node: Node, at: At) -> tuple[int, ...]:
    return tuple(at[reader.notation.index[dim]] for dim in node.axes)


def check_normal(
    chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], _draws: int
) -> None:
    """Mean and covariance of a vector that is drawn jointly."""
    node = chain.network[turn.step.node]
    match, known = _NORMAL.search(lines[0]), wheres(lines)
    assert match is not None, f"{node.name}: {lines[0]} is no normal law that is known here"
    joint = _joint(reader, node)
    again = [f"{letter}'" for letter in joint]
    same = " ".join(f"1({a} = {b})" for a, b in zip(joint, again, strict=True)) or "1"
    vector = reader.parse(inlined(match[1], known))
    matrix = reader.parse(inlined(re.sub(r"\bI\b", same, match[2]), known))
    places = [*product(*(range(reader.range[letter]) for letter in joint))]
    mean = _as_drawn(chain, turn, normal, "joint_normal",
                     lambda _, a, b: np.linalg.solve(a, b[..., None])[..., 0])  # fmt: skip
    columns = [
        _as_drawn(chain, turn, normal, "joint_normal",
                  lambda _, a, b, d=d: np.linalg.inv(a)[..., d])
        for d in range(len(places))
    ]  # fmt: skip
    assert len(places) == prod(reader.range[letter] for letter in joint)
    for at in rows(reader, node, ""):
        if any(at[letter] for letter in joint):
            continue  # one vector, begun by its first entry
        own = [{**at, **dict(zip(joint, place, strict=True))} for place in places]
        precision = np.array([
            [matrix({**one, **dict(zip(again, place, strict=True))}) for place in places]
            for one in own
        ])  # fmt: skip
        covariance = np.linalg.inv(precision)
        means = covariance @ [vector(one) for one in own]
        for number, one in enumerate(own):
            cell = _cell(reader, node, one)
            close(f"{node.name}{cell}: mean", means[number], mean[cell])
            for column, value in enumerate(columns):
                close(f"{node.name}{cell}: covariance", covariance[number, column], value[cell])


def check_bits(chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], draws: int) -> None:
    """The log odds of every bit given the present ones; and many draws of one after another."""
    node, values = chain.network[turn.step.node], chain.program.values
    match, known = _BITS.search(lines[0]), wheres(lines)
    assert match is not None, f"{node.name}: {lines[0]} is no law of bits that is known here"
    (own,) = _joint(reader, node)
    others = reader.notation.own_symbol(node).replace(own, f"{own}'")
    law = re.sub(r"(?<![\w\\^])h_\{d'\}", lambda _: others, match[1])
    for letter, formula in known.items():
        law = law.replace(rf"{letter}_{{d d}}", "(" + formula.replace(f"{own}'", own) + ")")
        law = law.replace(rf"{letter}_{{d d'}}", f"({formula})").replace(
            f"{letter}_d", f"({formula})"
        )
    law = law.replace(r"\sum_{d' \ne d}", rf"\sum_{{{own}' \ne {own}}}")
    printed = reader.parse(law)

    def odds(_: Any, a: Any, b: Any, prior: Any, value: Any) -> Any:
        """P(x_d = 1 | the others), p(x) ∝ exp(bᵀx − ½xᵀAx + Σ ψ_d x_d)."""
        diagonal = np.diagonal(a, axis1=-2, axis2=-1)
        field = np.einsum("...de,...e->...d", a, value) - diagonal * value
        return 1 / (1 + np.exp(-(prior + b - diagonal / 2 - field)))

    owner = bernoulli if isinstance(node, bernoulli.Bernoulli) else logit_bernoulli
    right = _as_drawn(chain, turn, owner, "binary_field", odds)
    for at in rows(reader, node, ""):
        close(
            f"{node.name}{_cell(reader, node, at)}: P(1)",
            printed(at),
            right[_cell(reader, node, at)],
        )
    old, apart = values[node.name].copy(), {}
    for number in range(draws // 3):
        values[node.name] = old.copy()
        turn.run(stream_key(turn.base, 10**6 + number))
        new = to_axes(chain.program, node.name, values[node.name])[0].copy()
        values[node.name] = old.copy()
        view = to_axes(chain.program, node.name, values[node.name])[0]
        for at in sorted(rows(reader, node, ""), key=lambda at: at[own]):
            cell = _cell(reader, node, at)
            apart.setdefault(cell, []).append(float(new[cell]) - printed(at))
            view[cell] = new[cell]
    values[node.name] = old
    for cell, each in apart.items():
        compare(f"{node.name}{cell}", np.array(each), 0.0)


def check_polya(
    chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], draws: int
) -> None:
    """ω ~ PG(b, ψ) has the mean b tanh(ψ/2) / (2ψ); ψ and κ are compared themselves."""
    node = chain.network[turn.step.node]
    match, known = _POLYA.search(lines[0]), wheres(lines)
    assert match is not None, f"{node.name}: {lines[0]} is no Pólya-gamma law"
    omega, kappa = re.match(r"\((.*?),\\ (.*?)\) :", lines[0]).groups()  # type: ignore[union-attr]
    psi, shape = reader.parse(known[r"\psi"]), float(match[1])
    told = reader.parse(re.sub(r"\bh\b", lambda _: f"({known['h']})", match[2]))
    with patch.object(vectorised, "polya_gamma", lambda _, tilt: np.asarray(tilt)):
        turn.run(turn.base)
    cells = [*rows(reader, node, "")]
    for at in cells:
        close(f"{turn.step.name} {at}: psi", psi(at), reader.value(omega, at))
        close(f"{turn.step.name} {at}: kappa", told(at), reader.value(kappa, at))
    seen = []
    for number in range(draws):
        turn.run(stream_key(turn.base, 10**6 + number))
        seen.append([reader.value(omega, at) for at in cells])
    for at, sample in zip(cells, np.array(seen).T, strict=True):
        tilt = psi(at)
        mean = shape * np.tanh(tilt / 2) / (2 * tilt) if tilt else shape / 4
        compare(f"{turn.step.name} {at}: omega", sample, mean)
