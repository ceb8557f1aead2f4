"""Every conditional that `Chain.explain` prints, compared with what the step of the chain does.

Parameters are compared with those that the node is generated from; where a kernel draws, and for
counts, the mean of many draws from one state is compared with that of the printed law.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.special import digamma, ive

from pgbn import Chain
from pgbn.engine.run.generate import to_axes
from pgbn.engine.run.turns import Turn
from pgbn.network.terms import PREVIOUS
from pgbn.nodes.base import Node, Observed
from pgbn.samplers.random import stream_key
from pgbn.testing.joint import along_axis
from tests.helpers.printed_formulas import At, Reader, split_top, unfolded
from tests.helpers.printed_kernels import choices, in_turn

__all__ = ["check_printed", "printed_steps"]

FAMILIES = {"Gam": ("shape", "rate"), "Dir": ("concentration",), "Beta": ("a", "b"), "Bern": ("probability",)}  # fmt: skip
NUMERALS = 2e-5  # numbers are printed with six digits
LIMIT = 5.0  # standard errors
MINUS = "0000"  # stands for the token that is left out of a count


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


def check_printed(chain: Chain, draws: int = 300, unread: Collection[str] = ()) -> list[str]:
    """Compare every printed line of a chain's sweep; the names of the steps that were seen.
    ``unread`` are steps whose laws, of no family that is known here, are not read."""
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
        if name in unread:
            turn(chain.sweeps)
            continue
        for sampler in chain.samplers:
            sampler.show()
        if any(line.startswith("P(") for line in lines):
            _check_tokens(chain, reader, turn, lines, draws)
        elif any(r"\mathrm{Cat}\bigl(\propto" in line for line in lines):
            _check_choices(chain, reader, turn, lines, 2 * draws)
        elif turn.step.in_turn is not None:
            _check_in_turn(chain, reader, turn, lines, draws)
        elif turn.step.upward:
            _check_counts(chain, reader, turn, lines, draws)
        else:
            _check_draw(chain, reader, turn, lines, draws)
        turn(chain.sweeps)
    return list(steps)


# ---- values -----------------------------------------------------------------------------


@contextmanager
def _recorded(node: Node) -> Iterator[list[dict[str, Any]]]:
    """The parameters from which a node is generated."""
    seen: list[dict[str, Any]] = []
    right = type(node).generate

    def generate(self: Node, stream: Any, **slots: Any) -> Any:
        if self.name == node.name:
            seen.append({slot: np.broadcast_to(v, stream.shape) for slot, v in slots.items()})
        return right(self, stream, **slots)

    with patch.object(type(node), "generate", generate):
        yield seen


def _laws(lines: list[str]) -> Iterator[tuple[str, list[str], str]]:
    """(family, arguments, condition) of each law of a value."""
    apart = {}
    for line in (line for line in lines if "' = " in line):
        name, formula, condition = re.fullmatch(r"(.*?) = (.*?)((?:,\\quad .*)?)", line).groups()  # type: ignore[union-attr]
        apart[name, condition] = formula
    law = re.compile(r"\(.* \\mid -\) \\sim \\mathrm\{(\w+)\}\((.*)\)((?:,\\quad .*)?)$")
    for line in lines:
        if match := law.match(line):
            inside = [apart.get((part, match[3]), part) for part in _arguments(match[2])]
            yield match[1], inside, match[3]


def _arguments(inside: str) -> list[str]:
    return [re.sub(r"^\\ ", "", part) for part in split_top(inside)]


def _rows(reader: Reader, node: Node, condition: str) -> Iterator[At]:
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


def _check_draw(chain: Chain, reader: Reader, turn: Turn, lines: list[str], draws: int) -> None:
    node = chain.network[turn.step.node]
    in_time = chain.program.is_in_time(node.name)
    family, printed = _parameters(reader, node, lines)
    with _recorded(node) as seen:
        turn(chain.sweeps)
    if in_time:  # a row reads the new row before it
        family, printed = _parameters(reader, node, lines)
    if seen:
        slots = FAMILIES[family]
        used = {slot: _used(chain, node, [each[slot] for each in seen]) for slot in slots}
        for cell, parameters in printed.items():
            for slot, value in zip(slots, parameters, strict=True):
                right = float(used[slot][cell])
                assert np.isclose(value, right, rtol=NUMERALS, atol=1e-9), (
                    f"{node.name}{cell}: printed {slot} {value}, used {right}"
                )
    else:
        _check_mean(chain, node, turn, family, printed, draws)


def _check_in_turn(chain: Chain, reader: Reader, turn: Turn, lines: list[str], draws: int) -> None:
    laws = [arguments for family, arguments, _ in _laws(lines) if family == "Gam"]
    node = chain.network[turn.step.node]
    reader.hearing = node.name
    laws[-1][0] = _heard_often(reader, node, laws[-1][0])
    for key, apart in in_turn(chain, reader, turn, laws, draws).items():
        _compare(f"{turn.step.name}: {key}", np.array(apart), 0.0)


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


def _check_choices(chain: Chain, reader: Reader, turn: Turn, lines: list[str], draws: int) -> None:
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
    for family, arguments, condition in _laws(lines):
        families.add(family)
        for at in _rows(reader, node, condition):
            cell = tuple(at[reader.notation.index[dim]] for dim in node.axes)
            printed[cell] = [reader.value(_unvector(part), at) for part in arguments]
    assert printed, f"{node.name}: nothing could be read in {lines}"
    return families.pop(), printed


def _unvector(part: str) -> str:
    match = re.fullmatch(r"\((.*)\)_\{.*\}", part)
    return match[1] if match else part


def _used(chain: Chain, node: Node, arrays: list[Any]) -> Any:
    """A parameter of all calls, with the dims of the node; of a chain, a call for each row."""
    program, shape = chain.program, chain.program.shape[node.name]
    if program.is_in_time(node.name):
        axis = along_axis(program, node)
        short = [size for place, size in enumerate(shape) if place != axis]
        whole = np.stack([a.reshape(short) for a in arrays], axis)
    else:
        whole = arrays[0].reshape(shape)
    return np.asarray(to_axes(program, node.name, whole)[0])


def _check_mean(
    chain: Chain, node: Node, turn: Turn, family: str, printed: Any, draws: int
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
        _compare(f"{node.name}{cell}", sample[(slice(None), *cell)], mean)


def _compare(what: str, sample: Any, mean: Any) -> None:
    apart = np.asarray(sample, np.float64) - mean
    error = apart.std() / np.sqrt(len(apart))
    if error < 1e-12:  # nothing else was drawn: it must be all but certain
        assert abs(apart.mean()) < 5 / len(apart), f"{what}: always {apart.mean()} off"
        return
    z = apart.mean() / error
    assert abs(z) < LIMIT, f"{what}: z = {z:.1f} from the printed mean {np.mean(mean):.4g}"


# ---- counts -----------------------------------------------------------------------------


def _check_counts(chain: Chain, reader: Reader, turn: Turn, lines: list[str], draws: int) -> None:
    """The mean of what every parent is told."""
    node, program = chain.network[turn.step.node], chain.program
    in_time = program.is_in_time(node.name)
    draws = draws // 5 if in_time else draws
    told: dict[tuple[str, tuple[int, ...]], list[float]] = {}
    shares: list[float] = []
    expected: dict[tuple[str, tuple[int, ...]], float] = {}
    for number in range(draws):
        turn.run(stream_key(turn.base, 10**6 + number))
        for sampler in chain.samplers:
            sampler.show()
        if not expected or in_time:  # a row of a chain hears what was drawn for the next
            expected = _expected(reader, node, lines)
        for key, mean in expected.items():
            told.setdefault(key, []).append(_told(reader, node, *key) - mean)
        shares += _shares_apart(reader, node, lines)
    assert told, f"{node.name}: nothing could be read in {lines}"
    for key, apart in told.items():
        _compare(f"{turn.step.name} → {key}", np.array(apart), 0.0)
    if shares:
        _compare(f"{turn.step.name}: exposure", np.array(shares), 0.0)


def _shares_apart(reader: Reader, node: Node, lines: list[str]) -> list[float]:
    """How far exp(−exposure) of the first row is from its printed mean, a / (a + b) of a Beta."""
    rows = [dim for dim in node.axes if dim != node.simplex]
    first = {reader.notation.index[dim]: 0 for dim in rows}
    out = []
    for (child, _), value in reader.program.drawn.items():
        for line in lines if child == node.name else ():
            match = re.search(r"-\\ln .*\\sim \\mathrm\{Beta\}\\bigl\((.*)\\bigr\)$", line)
            if match:
                a, b = (reader.value(part, first) for part in split_top(match[1]))
                out.append(float(np.exp(-np.asarray(value).reshape(-1)[0])) - a / (a + b))
    return out


def _told(reader: Reader, node: Node, parent: str, cell: tuple[int, ...]) -> float:
    program = reader.program
    if parent == PREVIOUS:
        return reader.margin(node.name, [*cell])  # type: ignore[list-item]
    array = to_axes(program, parent, np.asarray(program.counts[node.name, parent]))[0]
    return float(np.asarray(array)[cell])


def _expected(reader: Reader, node: Node, lines: list[str]) -> dict[Any, float]:
    """What every entry of every parent is told on average, from the printed laws."""
    out: dict[Any, float] = {}
    program, notation = reader.program, reader.notation
    for slot in node.slots():
        if (node.name, slot) not in program.wiring.rules:
            continue
        for term in program.wiring.polynomials[node.name, slot].terms:
            for at in _rows(reader, node, ">" if term.phase == "later" else ""):
                if term.phase == "always" and notation.along(node):
                    continue
                for inner in product(*(range(program.sizes[d]) for d in term.contracted)):
                    here = at | {
                        notation.index[d]: p for d, p in zip(term.contracted, inner, strict=True)
                    }
                    mean = _mean_count(reader, node, lines, here, term)
                    for factor in term.factors:
                        pair = (node.name, factor.name)
                        if factor.previous or pair not in program.counts:
                            continue
                        places = dict(zip(factor.own_dims, factor.dims, strict=True))
                        axes = notation.network[factor.name].axes
                        for lookup in factor.lookups:
                            where = tuple(here[notation.index[dim]] for dim in lookup.dims)
                            here[lookup.dim] = int(program.indexes[lookup.name][0][where])
                        cell = tuple(
                            here[notation.index[places[dim]] if dim in places else dim]
                            for dim in axes
                        )
                        out[factor.name, cell] = out.get((factor.name, cell), 0.0) + mean
    return out


def _mean_count(reader: Reader, node: Node, lines: list[str], at: At, term: Any) -> float:
    """The printed mean of one share of the counts of one cell."""
    later = any(r"\quad" in line and "> 1" in line for line in lines)
    along = reader.notation.along(node)
    first = along is not None and at[reader.notation.index[along]] == 0
    mine = [line.split(r",\quad")[0] for line in lines
            if not later or ("> 1" in line) is not first]  # fmt: skip
    mean = _whole(reader, node, mine, at)
    if mean == 0:  # also of pairs that are not in a relation, whose weights are all 0
        return 0.0
    for line in mine:
        match = re.search(r"\\mathrm\{Mult\}\\left\(.*?;\\ (\\frac.*)\\right\)$", line)
        if match and term.contracted:
            mean *= reader.value(match[1], at)
    return mean * _share_of_term(reader, node, mine, at, term)


def _share_of_term(reader: Reader, node: Node, lines: list[str], at: At, term: Any) -> float:
    """The printed share of one cell of one of several terms, Mult(…; ∝ w₁, w₂, …)."""
    found = [re.search(r"\\propto (.*?)(?:\\bigr\))?$", line) for line in lines]
    weights = [match[1] for match in found if match]
    if not weights:
        return 1.0
    text = weights[0][1:-1] if weights[0].startswith("((") else weights[0]
    along = reader.notation.along(node)
    first = along is not None and at[reader.notation.index[along]] == 0
    (slot,) = [s for s in node.slots() if any(
        term is each for each in reader.program.wiring.polynomials[node.name, s].terms)]  # fmt: skip
    phases = ("always", *(("first" if first else "later",) if along else ()))
    terms = [
        t for t in reader.program.wiring.polynomials[node.name, slot].terms if t.phase in phases
    ]
    own, total = 0.0, 0.0
    for each, part in zip(terms, split_top(text), strict=True):
        value = reader.parse(_unvector(part))
        indices = [reader.notation.index[dim] for dim in each.contracted]
        sizes = [range(reader.program.sizes[dim]) for dim in each.contracted]
        for cell in product(*sizes):
            total += value({**at, **dict(zip(indices, cell, strict=True))})
        if each is term:
            own = value(at)
    return own / total if total > 0 else 0.0


def _whole(reader: Reader, node: Node, lines: list[str], at: At) -> float:
    """The printed mean of the count of a cell, before it is shared out."""
    for line in lines:
        if match := re.search(r"\\mathrm\{CRT\}\\bigl\((.*)\\bigr\)$", line):
            m, a = (reader.value(part, at) for part in split_top(match[1]))
            return float(a * (digamma(a + m) - digamma(a))) if a > 0 else float(m > 0)
        if match := re.search(r"= 1\) \\sim \\mathrm\{Pois\}_\{\+\}\((.*)\)$", line):
            known, rate = (
                reader.cells(node.name, _own(reader, node), at),
                reader.value(match[1], at),
            )
            return known * rate / -np.expm1(-rate) if known else 0.0
        if match := re.search(r"> 0\) \\sim \\mathrm\{Bessel\}_\{-1\}\\bigl\((.*)\\bigr\)$", line):
            alpha = reader.value(match[1], at)
            known = reader.cells(node.name, _own(reader, node), at) > 0
            return float(alpha / 2 * ive(0, alpha) / ive(1, alpha)) if known else 0.0
        if match := re.search(r"\\mid -\) \\sim \\mathrm\{Pois\}\((.*)\)\\quad \\text", line):
            missing = reader.program.cells[node.name]
            if _is_missing(missing, at, reader, node):
                return reader.value(match[1], at)
        if match := re.fullmatch(r"\\ell\^\{.*?\}_\{.*?\} = (.*)", line):
            return reader.value(match[1], at)
    assert isinstance(node, Observed)
    return reader.cells(node.name, _own(reader, node), at)


def _is_missing(cells: Any, at: At, reader: Reader, node: Node) -> bool:
    if cells.missing is None:
        return False
    where = tuple(at[reader.notation.index[dim]] for dim in node.axes)
    return bool(cells.dense(cells.missing.astype(np.int64))[0][where])


def _own(reader: Reader, node: Node) -> list[str]:
    return [reader.notation.index[dim] for dim in reversed(node.axes)]


# ---- tokens -----------------------------------------------------------------------------


def _check_tokens(chain: Chain, reader: Reader, turn: Turn, lines: list[str], draws: int) -> None:
    """How often the first token that is redrawn gets each label."""
    sampler: Any = chain.program.first_layers[turn.step.node]
    row = int(np.argmax(np.diff(sampler.tokens.tokens.row_start) > 0))  # the first with tokens
    first, last = sampler.tokens.tokens.row_start[row : row + 2]
    cell = sampler.tokens.tokens.word[first:last]
    here = slice(first, first + int((cell == cell[0]).sum()))  # which token is which is free
    sampler.tokens.labels[here] = np.sort(sampler.tokens.labels[here])[::-1]
    begun = {name: np.array(array) for name, array in sampler.state().items()}
    share = _shares(chain, reader, sampler, lines, row, int(first))
    seen = np.zeros(share.size)
    for number in range(4 * draws):
        sampler.restore(begun)
        turn.run(stream_key(turn.base, 10**6 + number))
        seen[int(sampler.tokens.labels[first])] += 1
    sampler.restore(begun)
    error = np.sqrt(share * (1 - share) * 4 * draws) + 1e-9
    z = (seen - share * 4 * draws) / error
    assert np.abs(z).max() < LIMIT, f"{turn.step.name}: labels {seen}, printed {share * 4 * draws}"


def _shares(
    chain: Chain, reader: Reader, sampler: Any, lines: list[str], row: int, first: int
) -> np.ndarray[Any, Any]:
    """The printed probabilities of the labels of a token: those of the topics, then of the further
    terms."""
    notation, pattern = reader.notation, sampler.pattern
    observed, loadings = chain.network[pattern.observed], chain.network[pattern.loadings]
    term, old = int(sampler.tokens.tokens.word[first]), int(sampler.tokens.labels[first])
    sizes = [chain.program.sizes[dim] for dim in observed.axes[:-1]]
    rows = zip(observed.axes[:-1], np.unravel_index(row, sizes), strict=True)
    at = {notation.index[dim]: int(place) for dim, place in rows}
    at[notation.index[loadings.simplex]] = term
    topics, *others = [line.split(r"\propto ", 1)[1] for line in lines if line.startswith("P(")]
    for found in set(re.findall(r"\w+\^\{[^}]*-\}_\{[^}]*\}", topics)):
        topics = topics.replace(found, f"({found.replace('-}', '}').replace('^{}', '')} - {MINUS})")
    weights = []
    for label in range(sampler.topics):
        own = topics.replace(MINUS, "1" if label == old else "0")
        weights.append(reader.value(own, {**at, notation.index[pattern.topic]: label}))
    for formula, each in zip(others, pattern.further(chain.program.wiring), strict=True):
        for place in product(*(range(chain.program.sizes[dim]) for dim in each.contracted)):
            inner = zip((notation.index[dim] for dim in each.contracted), place, strict=True)
            weights.append(reader.value(formula, {**at, **dict(inner)}))
    return np.array(weights) / sum(weights)
