"""The laws that `explain` prints in the steps of a sweep, and what the steps are seen to use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np

from pgbn import Chain
from pgbn.engine.run.generate import to_axes
from pgbn.nodes.base import Node
from pgbn.testing.conjugacy import along_axis
from tests.helpers.printed_formulas import Reader
from tests.helpers.printed_parser import At, split_top

__all__ = [
    "LIMIT",
    "arguments",
    "close",
    "compare",
    "inlined",
    "laws",
    "recorded",
    "rows",
    "unvector",
    "used",
    "wheres",
]

NUMERALS = 2e-5  # numbers are printed with six digits
LIMIT = 5.0  # standard errors
_WHERE = re.compile(r"(\\mathrm\{\w+\}|\\(?:hat|bar)\{\w\}|\\psi|h)(?:_\{.*?\})? = (.*)")


def wheres(lines: list[str]) -> dict[str, str]:
    """What stands behind the letters of a law: the lines ``mean = …``, ``precision = …``."""
    found = [_WHERE.fullmatch(part) for line in lines for part in line.split(r",\quad ")]
    return {match[1]: match[2] for match in found if match}


def inlined(law: str, known: dict[str, str]) -> str:
    """A law with its letters written out."""
    letters = "|".join(re.escape(letter) for letter in known if letter != "h")
    return re.sub(letters, lambda found: f"({known[found[0]]})", law) if letters else law


def close(what: str, printed: float, right: float) -> None:
    """``what`` is a place and the name of a number there: ``theta(0, 1): shape``."""
    where, _, number = what.rpartition(": ")
    assert np.isclose(printed, right, rtol=NUMERALS, atol=1e-9), (
        f"{where}: printed {number} {printed}, used {right}"
    )


@contextmanager
def recorded(node: Node) -> Iterator[list[dict[str, Any]]]:
    """The parameters from which a node is generated."""
    seen: list[dict[str, Any]] = []
    right = type(node).generate

    def generate(self: Node, stream: Any, **slots: Any) -> Any:
        if self.name == node.name:
            seen.append({slot: np.broadcast_to(v, stream.shape) for slot, v in slots.items()})
        return right(self, stream, **slots)

    with patch.object(type(node), "generate", generate):
        yield seen


def laws(lines: list[str]) -> Iterator[tuple[str, list[str], str]]:
    """(family, arguments, condition) of each law of a value."""
    apart = {}
    for line in (line for line in lines if "' = " in line):
        name, formula, condition = re.fullmatch(r"(.*?) = (.*?)((?:,\\quad .*)?)", line).groups()  # type: ignore[union-attr]
        apart[name, condition] = formula
    law = re.compile(
        r"\(.* \\mid -\) \\sim \\mathrm\{(\w+)\}(?:\\bigl)?\((.*?)(?:\\bigr)?\)((?:,\\quad .*)?)$"
    )
    for line in lines:
        if match := law.match(line):
            inside = arguments(match[2])
            for (name, condition), formula in apart.items():
                if condition == match[3]:
                    inside = [formula if part == name else part.replace(name, f"({formula})")
                              for part in inside]  # fmt: skip
            yield match[1], inside, match[3]


def arguments(inside: str) -> list[str]:
    return [re.sub(r"^\\ ", "", part) for part in split_top(inside)]


def rows(reader: Reader, node: Node, condition: str) -> Iterator[At]:
    """The cells that a line is about."""
    along = reader.notation.along(node)
    ranges = []
    for dim in node.axes:
        size = reader.program.sizes[dim]
        if dim != along:
            ranges.append(range(size))
        else:
            ranges.append(range(1, size) if ">" in condition else range(1))
    index = reader.notation.index
    for cell in product(*ranges):
        yield {index[dim]: place for dim, place in zip(node.axes, cell, strict=True)}


def unvector(part: str) -> str:
    match = re.fullmatch(r"\((.*)\)_\{.*\}", part)
    return match[1] if match else part


def used(chain: Chain, node: Node, arrays: list[Any]) -> Any:
    """A parameter of all calls, with the dims of the node; of a chain, a call for each row."""
    program, shape = chain.program, chain.program.shape[node.name]
    if program.is_in_time(node.name):
        axis = along_axis(program, node)
        short = [size for place, size in enumerate(shape) if place != axis]
        whole = np.stack([a.reshape(short) for a in arrays], axis)
    else:
        whole = arrays[0].reshape(shape)
    return np.asarray(to_axes(program, node.name, whole)[0])


def compare(what: str, sample: Any, mean: Any) -> None:
    apart = np.asarray(sample, np.float64) - mean
    error = apart.std() / np.sqrt(len(apart))
    if error < 1e-12:  # nothing else was drawn: it must be all but certain
        assert abs(apart.mean()) < 5 / len(apart), f"{what}: always {apart.mean()} off"
        return
    z = apart.mean() / error
    assert abs(z) < LIMIT, f"{what}: z = {z:.1f} from the printed mean {np.mean(mean):.4g}"
