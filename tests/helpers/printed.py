"""Every conditional that `Chain.explain` prints, compared with what the step of the chain does.

Parameters are compared with those that the node is generated from; where a kernel draws, and for
counts, the mean of many draws from one state is compared with that of the printed law.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from pgbn import Chain
from pgbn.engine.run.bound_steps import BoundStep
from pgbn.engine.run.generate import to_axes
from pgbn.nodes.base import Node
from pgbn.samplers.random import stream_key
from tests.helpers.printed_counts import check_counts, check_tokens
from tests.helpers.printed_forms import check_bits, check_normal, check_polya
from tests.helpers.printed_formulas import Reader
from tests.helpers.printed_hidden import (
    check_bessel,
    check_completed,
    check_hidden,
    check_log_normal,
)
from tests.helpers.printed_kernels import check_density, choices, sequential
from tests.helpers.printed_laws import LIMIT, close, compare, laws, recorded, rows, unvector, used
from tests.helpers.printed_parser import split_top, unfolded

__all__ = ["check_printed", "printed_steps"]

FAMILIES = {"Gam": ("shape", "rate"), "Dir": ("concentration",), "Beta": ("a", "b"), "Bern": ("probability",)}  # fmt: skip


def printed_steps(text: str) -> dict[str, list[str]]:
    """The lines of every step of an explanation in LaTeX, in order."""
    parts = re.split(r"\\subsection\*\{Step \d+: \\texttt\{", text)[1:]
    out = {}
    for part in parts:
        name = part[: part.index("}")].replace(r"\_", "_")
        body = part[part.index(r"\begin{align}") + 13 : part.index(r"\end{align}")]
        body = unfolded(body)
        lines = re.sub(r" \\label\{.*?\}", "", body).strip().split(" \\\\\n")
        out[name] = [line.replace("&", "", 1) for line in lines]
    return out


def check_printed(chain: Chain, draws: int = 300) -> list[str]:
    """Compare every printed line of a chain's sweep; the names of the steps that were seen."""
    text = str(chain.explain("latex"))
    assert "is not valid" not in text, "the order reads stale values"
    steps = printed_steps(text)
    turns = {turn.step.name: turn for turn in (*chain._turns, *chain._later.values())}
    assert [n for n in steps if n not in chain._later] == [t.step.name for t in chain._turns]
    chain.sweep()
    reader = Reader(chain, text)
    chain.sweeps += 1
    for name, lines in steps.items():
        turn = turns[name]
        for sampler in chain.samplers:
            sampler.show()
        _check_of(turn, lines)(chain, reader, turn, lines, draws)
        turn(chain.sweeps)
    return list(steps)


def _check_of(turn: BoundStep, lines: list[str]) -> Callable[..., None]:
    """The check of a step, by the law that is printed for it."""
    for sign, check in CHECKS.items():
        if any(sign in line for line in lines):
            return check
    if any(line.startswith("P(") for line in lines):
        return check_tokens
    if turn.step.sequential is not None:
        return _check_in_turn
    return check_counts if turn.step.upward else _check_draw


def _check_draw(
    chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], draws: int
) -> None:
    node = chain.network[turn.step.node]
    in_time = chain.program.is_in_time(node.name)
    family, printed = _parameters(reader, node, lines)
    with recorded(node) as seen:
        turn(chain.sweeps)
    if in_time:  # a row reads the new row before it
        family, printed = _parameters(reader, node, lines)
    if seen:
        slots = FAMILIES[family]
        if "logit" in seen[0]:
            seen = [{"probability": expit(each["logit"])} for each in seen]
        right = {slot: used(chain, node, [each[slot] for each in seen]) for slot in slots}
        for cell, parameters in printed.items():
            for slot, value in zip(slots, parameters, strict=True):
                close(f"{node.name}{cell}: {slot}", value, float(right[slot][cell]))
    else:
        _check_mean(chain, node, turn, family, printed, draws)


def _check_in_turn(
    chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], draws: int
) -> None:
    gammas = [inside for family, inside, _ in laws(lines) if family == "Gam"]
    node = chain.network[turn.step.node]
    reader.hearing = node.name
    gammas[-1][0] = _heard_often(reader, node, gammas[-1][0])
    for key, apart in sequential(chain, reader, turn, gammas, draws).items():
        compare(f"{turn.step.name}: {key}", np.array(apart), 0.0)


def _heard_often(reader: Reader, node: Node, shape: str) -> str:
    """A printed shape in which one symbol stands for the tables that a child tells the node through
    several factors, ℓ_{·k} + ℓ_{k·}: only their sum is kept."""
    marks = reader.notation.marks
    for child in reader.notation.network.latent:
        if any((child, slot) in reader.program.wiring.rules
               and reader.times(child, slot, node.name) > 1
               for slot in reader.notation.network[child].slots()):  # fmt: skip
            own = re.escape(rf"\ell^{{{marks[child]}")
            parts = [part for part in split_top(shape, "+") if not re.match(own, part)]
            indices = " ".join(reader.notation.index[dim] for dim in reversed(node.axes))
            shape = " + ".join([*parts, rf"\text{{{child}}}_{{{indices}}}"])
    return shape


def _check_choices(
    chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], draws: int
) -> None:
    draws = 2 * draws
    (line,) = [line.split(r"\propto ", 1)[1] for line in lines if line.startswith("p(")]
    seen, expected = choices(chain, reader, turn, line, draws)
    for cell, share in expected.items():
        error = np.sqrt(share * (1 - share) / draws) + 1 / draws
        assert abs(seen[cell] - share) < LIMIT * error, (
            f"{turn.step.name}{cell}: {seen[cell]} of the draws, printed {share}"
        )


def _parameters(reader: Reader, node: Node, lines: list[str]) -> tuple[str, dict[Any, list[float]]]:
    """The family that is printed, and its parameters at every cell."""
    printed, families = {}, set()
    for family, inside, condition in laws(lines):
        families.add(family)
        for at in rows(reader, node, condition):
            cell = tuple(at[reader.notation.index[dim]] for dim in node.axes)
            printed[cell] = [reader.value(unvector(part), at) for part in inside]
    assert printed, f"{node.name}: nothing could be read in {lines}"
    return families.pop(), printed


def _check_mean(
    chain: Chain, node: Node, turn: BoundStep, family: str, printed: Any, draws: int
) -> None:
    """The mean of what a kernel draws."""
    samples = []
    for number in range(draws):
        turn.run(stream_key(turn.base, 10**6 + number))
        for sampler in chain.samplers:
            sampler.show()
        samples.append(
            np.asarray(to_axes(chain.program, node.name, chain.program.values[node.name])[0])
        )
    sample = np.array(samples)
    if family == "Beta":
        sample = 1 / (1 + sample)
    total = {cell[:-1]: 0.0 for cell in printed} if family == "Dir" else {}
    axis = node.axes.index(node.simplex) if node.simplex in node.axes else 0
    for cell, parameters in printed.items():
        if family == "Dir":
            rest = tuple(p for i, p in enumerate(cell) if i != axis)
            total[rest] = total.get(rest, 0.0) + parameters[0]
    for cell, parameters in printed.items():
        if family == "Gam":
            mean = parameters[0] / parameters[1]
        elif family == "Beta":
            mean = parameters[0] / sum(parameters)
        elif family == "Dir":
            mean = parameters[0] / total[tuple(p for i, p in enumerate(cell) if i != axis)]
        else:
            mean = parameters[0]
        compare(f"{node.name}{cell}", sample[(slice(None), *cell)], mean)


CHECKS: dict[str, Callable[..., None]] = {
    r"\mathrm{Cat}\bigl(\propto": _check_choices,
    r"\propto p\bigl(": check_density,
    r"\mathrm{N}\bigl(": check_normal,
    r"\mathrm{PG}(": check_polya,
    r"\text{ for one } d": check_bits,
    r"p(a) \propto": check_log_normal,
    r"p(h) \propto": check_hidden,
    r":\ h \sim \mathrm{Bessel}": check_bessel,
    r"\bar{q} = ": check_completed,
}
