"""Counts and labels that a step draws, compared with the printed laws."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
from scipy.special import digamma, ive

from pgbn import Chain
from pgbn.engine.run.bound_steps import BoundStep
from pgbn.engine.run.generate import to_axes
from pgbn.network.terms import PREVIOUS
from pgbn.nodes.base import Node, Observed
from pgbn.samplers.random import stream_key
from tests.helpers.printed_formulas import Reader
from tests.helpers.printed_laws import LIMIT, compare, inlined, rows, unvector, wheres
from tests.helpers.printed_parser import At, split_top

BESSEL = re.compile(r":\\ h \\sim \\mathrm\{Bessel\}_\{(.*?)\}\\bigl\((.*)\\bigr\)$")


def check_counts(
    chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], draws: int
) -> None:
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
        compare(f"{turn.step.name} → {key}", np.array(apart), 0.0)
    if shares:
        compare(f"{turn.step.name}: exposure", np.array(shares), 0.0)


def _shares_apart(reader: Reader, node: Node, lines: list[str]) -> list[float]:
    """How far exp(−exposure) of the first row is from its printed mean, a / (a + b) of a Beta."""
    apart = [dim for dim in node.axes if dim != node.simplex]
    first = {reader.notation.index[dim]: 0 for dim in apart}
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
            for at in rows(reader, node, ">" if term.phase == "later" else ""):
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
        value = reader.parse(unvector(part))
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
        if match := BESSEL.search(line):
            order, alpha = (
                reader.value(inlined(part, wheres(lines)), at) for part in match.groups()
            )
            return float(alpha / 2 * ive(order + 1, alpha) / ive(order, alpha))
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


# ---- labels of single tokens --------------------------------------------------------------------

# A count without the token at hand, or a sum of such counts.
OLD = re.compile(r"(?:\\sum_\{(?:[^{}]|\{\w+\})*\} )?\w+\^\{[^}]*-\}_\{[^}]*\}")
MINUS = "0000"  # stands for the token that is left out of a count


def check_tokens(
    chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], draws: int
) -> None:
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
    if pattern.index:  # tokens are those of an author: any document of theirs
        row = int(np.argmax(chain.program.indexes[pattern.index].reshape(-1) == row))
    rows = zip(observed.axes[:-1], np.unravel_index(row, sizes), strict=True)
    at = {notation.index[dim]: int(place) for dim, place in rows}
    at[notation.index[loadings.simplex]] = term
    topics, *others = [line.split(r"\propto ", 1)[1] for line in lines if line.startswith("P(")]
    for found in set(OLD.findall(topics)):
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
