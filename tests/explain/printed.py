r"""Every conditional that `Chain.explain` prints, compared with what the step of the chain does.

Parameters are compared with those that the step gives to the primitives it draws with. Where a
fused kernel draws, and for counts, the mean of many draws from one state is compared with that of
the printed law. A law is known by a sign in its lines, such as ``\mathrm{PG}(``: see `CHECKS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.special import digamma, expit, gammaln, ive, xlogy
from scipy.stats import bernoulli, beta, gamma, poisson

from pgbn import Chain
from pgbn.engine.compile.density import ConditionalDensity
from pgbn.engine.run.bound_steps import BoundStep
from pgbn.engine.run.generate import to_axes
from pgbn.network.connections import joint_dims
from pgbn.network.terms import PREVIOUS
from pgbn.nodes import bernoulli as bernoulli_node
from pgbn.nodes import normal
from pgbn.nodes.base import Node, Observed
from pgbn.samplers import vectorised
from pgbn.samplers.random import stream_key
from pgbn.samplers.variates.log_normal import _log_ratio, _omega
from pgbn.testing.conjugacy import along_axis
from tests.explain.printed_formulas import At, Reader, Value, split_top, unfolded

__all__ = ["check_printed", "printed_steps"]

NUMERALS = 2e-5  # numbers are printed with six digits
LIMIT = 5.0  # standard errors
FAMILIES = {"Gam": ("shape", "rate"), "Dir": ("concentration",), "Beta": ("a", "b"), "Bern": ("probability",)}  # fmt: skip
Cell = tuple[int, ...]


def printed_steps(text: str) -> dict[str, list[str]]:
    """The lines of every step of an explanation in LaTeX, in order."""
    parts = re.split(r"\\subsection\*\{Step \d+: \\texttt\{", text)[1:]
    out = {}
    for part in parts:
        name = part[: part.index("}")].replace(r"\_", "_")
        body = unfolded(part[part.index(r"\begin{align}") + 13 : part.index(r"\end{align}")])
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
        step = Printed(chain, reader, turns[name], lines, draws)
        step.show()
        _check_of(step)(step)
        turns[name](chain.sweeps)
    return list(steps)


class Printed:
    """A step of a chain, and the lines that are printed for it."""

    def __init__(
        self, chain: Chain, reader: Reader, turn: BoundStep, lines: list[str], draws: int
    ) -> None:
        self.chain, self.reader, self.turn, self.lines, self.draws = chain, reader, turn, lines, draws  # fmt: skip
        self.program, self.values = chain._program, chain._program.values
        self.node, self.name = chain.network[turn.step.node], turn.step.name
        self.in_time = chain._program.is_in_time(self.node.name)
        self.known = wheres(lines)

    def show(self) -> None:
        for sampler in self.chain._samplers:
            sampler.show()

    def redraw(self, number: int) -> None:
        """Run the step with another key, from the state that there is."""
        self.turn.run(stream_key(self.turn.base, 10**6 + number))
        self.show()

    def view(self, name: str | None = None) -> Any:
        """The value of a node, with its dims in their order; what is written to it stays."""
        name = name or self.node.name
        return to_axes(self.program, name, self.values[name])[0]

    def cell(self, node: Node, at: At) -> Cell:
        return tuple(at[self.reader.notation.index[dim]] for dim in node.axes)

    def cells(self, condition: str = "") -> list[tuple[Cell, At]]:
        """The cells that a line is about: of a chain, those of the first row or of the later ones."""
        node, found = self.node, []
        along = self.reader.notation.along(node)
        for cell, at in self.every(node):
            row = 0 if along is None else cell[node.axes.index(along)]
            if along is None or (row > 0) == (">" in condition):
                found.append((cell, at))
        return found

    def every(self, node: Node) -> Iterator[tuple[Cell, At]]:
        index = self.reader.notation.index
        for cell in product(*(range(self.program.sizes[dim]) for dim in node.axes)):
            yield cell, {index[dim]: place for dim, place in zip(node.axes, cell, strict=True)}

    def by_phase(self) -> Iterator[tuple[list[tuple[Cell, At]], list[str]]]:
        """The cells and lines of the first row of a chain and of the later ones, or of all rows."""
        for later in (False, True):
            own = [line for line in self.lines if (r",\quad" in line and "> 1" in line) is later]
            if own:
                bare = [re.sub(r",\\quad \w+ > 1$", "", line) for line in own]
                yield self.cells(">" if later else ""), bare

    def used(self, arrays: list[Any]) -> Any:
        """A parameter of all calls, with the dims of the node; of a chain, a call for each row."""
        shape = self.program.shape[self.node.name]
        if self.in_time:
            axis = along_axis(self.program, self.node)
            short = [size for place, size in enumerate(shape) if place != axis]
            whole = np.stack([array.reshape(short) for array in arrays], axis)
        else:
            whole = arrays[0].reshape(shape)
        return np.asarray(to_axes(self.program, self.node.name, whole)[0])

    def arguments(self, calls: list[list[Any]]) -> list[Any]:
        """The arguments of calls of a primitive, with the dims of the node."""
        assert calls, f"{self.name}: the primitive of the printed law was not called"
        return [self.used([*each]) for each in zip(*calls, strict=True)]

    def close(self, cell: Any, what: str, printed: float, right: Any) -> None:
        assert np.isclose(printed, float(right), rtol=NUMERALS, atol=1e-9), (
            f"{self.name}{cell}: printed {what} {printed}, used {right}"
        )

    def compare(self, what: Any, sample: Any, mean: Any = 0.0) -> None:
        """The mean of draws with the printed one, in standard errors."""
        apart = np.asarray(sample, np.float64) - mean
        error = apart.std() / np.sqrt(len(apart))
        if error < 1e-12:  # nothing else was drawn: it must be all but certain
            assert abs(apart.mean()) < 5 / len(apart), f"{self.name}{what}: z = ∞, always off"
            return
        z = apart.mean() / error
        assert abs(z) < LIMIT, f"{self.name}{what}: z = {z:.1f} from the printed mean"


def _check_of(step: Printed) -> Callable[[Printed], None]:
    """The check of a step, by the law that is printed for it."""
    for sign, check in CHECKS.items():
        if any(sign in line for line in step.lines):
            return check
    if any(line.startswith("P(") for line in step.lines):
        return check_tokens
    if step.turn.step.sequential is not None:
        return check_sequential
    return check_counts if step.turn.step.upward else check_draw


# ---- the lines of laws ----------------------------------------------------------------------

_WHERE = re.compile(r"(\\mathrm\{\w+\}|\\(?:hat|bar)\{\w\}|\\psi|h)(?:_\{.*?\})? = (.*)")
_LAW = re.compile(
    r"\(.* \\mid -\) \\sim \\mathrm\{(\w+)\}(?:\\bigl)?\((.*?)(?:\\bigr)?\)((?:,\\quad .*)?)$"
)


def wheres(lines: list[str]) -> dict[str, str]:
    """What stands behind the letters of a law: the lines ``mean = …``, ``precision = …``."""
    found = [_WHERE.fullmatch(part) for line in lines for part in line.split(r",\quad ")]
    return {match[1]: match[2] for match in found if match}


def inlined(law: str, known: dict[str, str]) -> str:
    """A law with its letters written out."""
    letters = "|".join(re.escape(letter) for letter in known if letter != "h")
    return re.sub(letters, lambda found: f"({known[found[0]]})", law) if letters else law


def laws(lines: list[str]) -> Iterator[tuple[str, list[str], str]]:
    """(family, arguments, condition) of each law of a value; parameters that stand apart, such as
    ``shape' = …``, are put in."""
    apart = {}
    for line in (line for line in lines if "' = " in line):
        name, formula, condition = re.fullmatch(r"(.*?) = (.*?)((?:,\\quad .*)?)", line).groups()  # type: ignore[union-attr]
        apart[name, condition] = formula
    for match in filter(None, map(_LAW.match, lines)):
        inside = arguments(match[2])
        for (name, condition), formula in apart.items():
            if condition == match[3]:
                inside = [formula if part == name else part.replace(name, f"({formula})")
                          for part in inside]  # fmt: skip
        yield match[1], inside, match[3]


def arguments(inside: str) -> list[str]:
    return [re.sub(r"^\\ ", "", part) for part in split_top(inside)]


def unvector(part: str) -> str:
    match = re.fullmatch(r"\((.*)\)_\{.*\}", part)
    return match[1] if match else part


def matched(pattern: re.Pattern[str], line: str) -> re.Match[str]:
    match = pattern.search(line)
    assert match is not None, f"{line} is no law of the form {pattern.pattern}"
    return match


# ---- values from their families ---------------------------------------------------------------


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


def check_draw(step: Printed) -> None:
    """The parameters from which a node is generated, or the mean of what a kernel draws."""
    family, printed = _parameters(step)
    with recorded(step.node) as seen:
        step.turn(step.chain.sweeps)
    if step.in_time:  # a row reads the new row before it
        family, printed = _parameters(step)
    if not seen:
        _check_mean(step, family, printed)
        return
    if "logit" in seen[0]:
        seen = [{"probability": expit(each["logit"])} for each in seen]
    for number, slot in enumerate(FAMILIES[family]):
        right = step.used([each[slot] for each in seen])
        for cell, parameters in printed.items():
            step.close(cell, slot, parameters[number], right[cell])


def _parameters(step: Printed) -> tuple[str, dict[Cell, list[float]]]:
    """The family that is printed, and its parameters at every cell."""
    printed = {}
    for _family, inside, condition in laws(step.lines):
        for cell, at in step.cells(condition):
            printed[cell] = [step.reader.value(unvector(part), at) for part in inside]
    assert printed, f"{step.name}: nothing could be read in {step.lines}"
    return _family, printed


def _check_mean(step: Printed, family: str, printed: dict[Cell, list[float]]) -> None:
    """The mean of what a kernel draws."""
    samples = []
    for number in range(step.draws):
        step.redraw(number)
        samples.append(np.array(step.view()))
    sample = 1 / (1 + np.array(samples)) if family == "Beta" else np.array(samples)
    axis = step.node.axes.index(step.node.simplex) if step.node.simplex in step.node.axes else 0
    total = dict[Cell, float]()
    for cell, (first, *_) in printed.items():
        row = (*cell[:axis], *cell[axis + 1 :])
        total[row] = total.get(row, 0.0) + first
    for cell, (first, *second) in printed.items():
        whole = {"Gam": second, "Beta": (first, *second), "Bern": (1.0,),
                 "Dir": (total[(*cell[:axis], *cell[axis + 1 :])],)}[family]  # fmt: skip
        step.compare(cell, sample[(slice(None), *cell)], first / sum(whole))


# ---- counts and labels ------------------------------------------------------------------------

_BESSEL = re.compile(r":\\ h \\sim \\mathrm\{Bessel\}_\{(.*?)\}\\bigl\((.*)\\bigr\)$")
_BETA = re.compile(r"-\\ln .*\\sim \\mathrm\{Beta\}\\bigl\((.*)\\bigr\)$")


def check_counts(step: Printed) -> None:
    """The mean of what every parent is told."""
    told, shares = dict[Any, list[float]](), list[float]()
    expected: dict[Any, float] = {}
    for number in range(step.draws // 5 if step.in_time else step.draws):
        step.redraw(number)
        if not expected or step.in_time:  # a row of a chain hears what was drawn for the next
            expected = _expected(step)
        for key, mean in expected.items():
            told.setdefault(key, []).append(_told(step, *key) - mean)
        shares += _shares_apart(step)
    assert told, f"{step.name}: nothing could be read in {step.lines}"
    for key, apart in told.items():
        step.compare(f" → {key}", apart)
    if shares:
        step.compare(": exposure", shares)


def _shares_apart(step: Printed) -> list[float]:
    """How far exp(−exposure) of the first row is from its printed mean, a / (a + b) of a Beta."""
    first = {step.reader.notation.index[dim]: 0 for dim in step.node.axes if dim != step.node.simplex}  # fmt: skip
    out = []
    for (child, _), value in step.program.drawn.items():
        for match in filter(None, map(_BETA.search, step.lines if child == step.node.name else ())):
            a, b = (step.reader.value(part, first) for part in split_top(match[1]))
            out.append(float(np.exp(-np.asarray(value).reshape(-1)[0])) - a / (a + b))
    return out


def _told(step: Printed, parent: str, cell: Cell) -> float:
    if parent == PREVIOUS:
        return step.reader.margin(step.node.name, [*cell])
    counts = np.asarray(step.program.counts[step.node.name, parent])
    return float(np.asarray(to_axes(step.program, parent, counts)[0])[cell])


def _expected(step: Printed) -> dict[Any, float]:
    """What every entry of every parent is told on average, from the printed laws."""
    out: dict[Any, float] = {}
    program, notation, name = step.program, step.reader.notation, step.node.name
    slots = [slot for slot in step.node.slots() if (name, slot) in program.wiring.rules]
    for term in (t for slot in slots for t in program.wiring.polynomials[name, slot].terms):
        if term.phase == "always" and notation.along(step.node):
            continue
        for _, at in step.cells(">" if term.phase == "later" else ""):
            for inner in product(*(range(program.sizes[d]) for d in term.contracted)):
                here = at | {notation.index[d]: p for d, p in zip(term.contracted, inner, strict=True)}  # fmt: skip
                mean = _mean_count(step, here, term)
                for factor in term.factors:
                    if factor.previous or (name, factor.name) not in program.counts:
                        continue
                    for lookup in factor.lookups:
                        where = tuple(here[notation.index[dim]] for dim in lookup.dims)
                        here[lookup.dim] = int(program.indexes[lookup.name][0][where])
                    own = dict(zip(factor.own_dims, factor.dims, strict=True))
                    cell = tuple(here[notation.index[own[dim]] if dim in own else dim]
                                 for dim in notation.network[factor.name].axes)  # fmt: skip
                    out[factor.name, cell] = out.get((factor.name, cell), 0.0) + mean
    return out


def _mean_count(step: Printed, at: At, term: Any) -> float:
    """The printed mean of one share of the counts of one cell."""
    reader, along = step.reader, step.reader.notation.along(step.node)
    later = any(r"\quad" in line and "> 1" in line for line in step.lines)
    first = along is not None and at[reader.notation.index[along]] == 0
    mine = [line.split(r",\quad")[0] for line in step.lines
            if not later or ("> 1" in line) is not first]  # fmt: skip
    mean = _whole(step, mine, at)
    if mean == 0:  # also of pairs that are not in a relation, whose weights are all 0
        return 0.0
    for line in mine:
        match = re.search(r"\\mathrm\{Mult\}\\left\(.*?;\\ (\\frac.*)\\right\)$", line)
        if match and term.contracted:
            mean *= reader.value(match[1], at)
    phases = ("always", *(("first" if first else "later",) if along else ()))
    return mean * _share_of_term(step, mine, at, term, phases)


def _share_of_term(step: Printed, lines: list[str], at: At, term: Any, phases: Any) -> float:
    """The printed share of one cell of one of several terms, Mult(…; ∝ w₁, w₂, …)."""
    found = [re.search(r"\\propto (.*?)(?:\\bigr\))?$", line) for line in lines]
    weights = [match[1] for match in found if match]
    if not weights:
        return 1.0
    text = weights[0][1:-1] if weights[0].startswith("((") else weights[0]
    every = [step.program.wiring.polynomials[step.node.name, s].terms for s in step.node.slots()]
    (terms,) = [own for own in every if any(term is each for each in own)]
    parts = zip([t for t in terms if t.phase in phases], split_top(text), strict=True)
    own, total = 0.0, 0.0
    for each, part in parts:
        value = step.reader.parse(unvector(part))
        letters = [step.reader.notation.index[dim] for dim in each.contracted]
        total += sum(value(here) for here in step.reader.cells_over(letters, at))
        if each is term:
            own = value(at)
    return own / total if total > 0 else 0.0


def _whole(step: Printed, lines: list[str], at: At) -> float:
    """The printed mean of the count of a cell, before it is shared out."""
    reader, node = step.reader, step.node
    own = [reader.notation.index[dim] for dim in reversed(node.axes)]
    for line in lines:
        if match := re.search(r"\\mathrm\{CRT\}\\bigl\((.*)\\bigr\)$", line):
            m, a = (reader.value(part, at) for part in split_top(match[1]))
            return float(a * (digamma(a + m) - digamma(a))) if a > 0 else float(m > 0)
        if match := re.search(r"= 1\) \\sim \\mathrm\{Pois\}_\{\+\}\((.*)\)$", line):
            rate = reader.value(match[1], at)
            return float(rate / -np.expm1(-rate)) if reader.cells(node.name, own, at) else 0.0
        if match := re.search(r"> 0\) \\sim \\mathrm\{Bessel\}_\{-1\}\\bigl\((.*)\\bigr\)$", line):
            alpha = reader.value(match[1], at)
            positive = reader.cells(node.name, own, at) > 0
            return float(alpha / 2 * ive(0, alpha) / ive(1, alpha)) if positive else 0.0
        if match := _BESSEL.search(line):
            order, alpha = (reader.value(inlined(part, wheres(lines)), at)
                            for part in match.groups())  # fmt: skip
            return float(alpha / 2 * ive(order + 1, alpha) / ive(order, alpha))
        if match := re.search(r"\\mid -\) \\sim \\mathrm\{Pois\}\((.*)\)\\quad \\text", line):
            cells = step.program.cells[node.name]
            if cells.missing is not None:
                missing = cells.dense(cells.missing.astype(np.int64))[0]
                if missing[step.cell(node, at)]:
                    return reader.value(match[1], at)
        if match := re.fullmatch(r"\\ell\^\{.*?\}_\{.*?\} = (.*)", line):
            return reader.value(match[1], at)
    assert isinstance(node, Observed)
    return reader.cells(node.name, own, at)


# A count without the token at hand, or a sum of such counts.
_OLD = re.compile(r"(?:\\sum_\{(?:[^{}]|\{\w+\})*\} )?\w+\^\{[^}]*-\}_\{[^}]*\}")
_MINUS = "0000"  # stands for the token that is left out of a count


def check_tokens(step: Printed) -> None:
    """How often the first token that is redrawn gets each label."""
    sampler: Any = step.program.first_layers[step.node.name]
    row = int(np.argmax(np.diff(sampler.tokens.tokens.row_start) > 0))  # the first with tokens
    first, last = sampler.tokens.tokens.row_start[row : row + 2]
    cell = sampler.tokens.tokens.word[first:last]
    here = slice(first, first + int((cell == cell[0]).sum()))  # which token is which is free
    sampler.tokens.labels[here] = np.sort(sampler.tokens.labels[here])[::-1]
    begun = {name: np.array(array) for name, array in sampler.state().items()}
    share = _label_shares(step, sampler, row, int(first))
    seen, draws = np.zeros(share.size), 4 * step.draws
    for number in range(draws):
        sampler.restore(begun)
        step.turn.run(stream_key(step.turn.base, 10**6 + number))
        seen[int(sampler.tokens.labels[first])] += 1
    sampler.restore(begun)
    z = (seen - share * draws) / (np.sqrt(share * (1 - share) * draws) + 1e-9)
    assert np.abs(z).max() < LIMIT, f"{step.name}: labels {seen}, printed {share * draws}"


def _label_shares(step: Printed, sampler: Any, row: int, first: int) -> Any:
    """The printed probabilities of the labels of a token: those of the topics, then of the further
    terms."""
    chain, notation, pattern = step.chain, step.reader.notation, sampler.pattern
    observed, loadings = chain.network[pattern.observed], chain.network[pattern.loadings]
    term, old = int(sampler.tokens.tokens.word[first]), int(sampler.tokens.labels[first])
    sizes = [step.program.sizes[dim] for dim in observed.axes[:-1]]
    if pattern.index:  # tokens are those of an author: any document of theirs
        row = int(np.argmax(step.program.indexes[pattern.index].reshape(-1) == row))
    rows = zip(observed.axes[:-1], np.unravel_index(row, sizes), strict=True)
    at = {notation.index[dim]: int(place) for dim, place in rows}
    at[notation.index[loadings.simplex]] = term
    topics, *others = [line.split(r"\propto ", 1)[1] for line in step.lines if line.startswith("P(")]  # fmt: skip
    for found in set(_OLD.findall(topics)):
        bare = found.replace("-}", "}").replace("^{}", "")
        topics = topics.replace(found, f"({bare} - {_MINUS})")
    weights = []
    for label in range(sampler.topics):
        own = topics.replace(_MINUS, "1" if label == old else "0")
        weights.append(step.reader.value(own, {**at, notation.index[pattern.topic]: label}))
    for formula, each in zip(others, pattern.further(step.program.wiring), strict=True):
        letters = [notation.index[dim] for dim in each.contracted]
        weights += [step.reader.value(formula, here) for here in step.reader.cells_over(letters, at)]  # fmt: skip
    return np.array(weights) / sum(weights)


# ---- entries one after another, hidden choices, densities ---------------------------------------

_FACTOR = re.compile(
    r"(?:\\prod(?:_\{(?P<condition>.*?)\})? )?p\\bigl\((?P<symbol>.*?) : "
    r"\\mathrm\{(?P<family>\w+)\}\((?P<inside>.*?)\)\\bigr\)\s*(?:\\ |$)"
)


def check_sequential(step: Printed) -> None:
    """Each entry has its printed mean, given the new entries before it and the old ones after it."""
    gammas = [inside for family, inside, _ in laws(step.lines) if family == "Gam"]
    step.reader.hearing = step.node.name
    gammas[-1][0] = _heard_often(step, gammas[-1][0])
    sequential = step.turn.step.sequential
    members = dict(sequential.members)  # type: ignore[union-attr]
    dim = members[sequential.node]  # type: ignore[union-attr]
    old = {name: step.values[name].copy() for name in members}
    apart: dict[Any, list[float]] = {}
    for number in range(step.draws):
        step.values.update({name: array.copy() for name, array in old.items()})
        step.redraw(number)
        new = {name: step.view(name).copy() for name in members}
        step.values.update({name: array.copy() for name, array in old.items()})
        for entry in range(step.program.sizes[dim]):
            for (name, own), (shape, rate) in zip(members.items(), gammas, strict=True):
                node = step.chain.network[name]
                here = [(cell, at) for cell, at in step.every(node)
                        if cell[node.axes.index(own)] == entry]  # fmt: skip
                for cell, at in here:
                    mean = step.reader.value(shape, at) / step.reader.value(rate, at)
                    apart.setdefault((name, cell), []).append(float(new[name][cell]) - mean)
                for cell, _ in here:
                    step.view(name)[cell] = new[name][cell]
    step.values.update(old)
    for key, each in apart.items():
        step.compare(f": {key}", each)


def _heard_often(step: Printed, shape: str) -> str:
    """A printed shape in which one symbol stands for the tables that a child tells the node through
    several factors, ℓ_{·k} + ℓ_{k·}: only their sum is kept."""
    reader, notation = step.reader, step.reader.notation
    for child in notation.network.latent:
        if any((child, slot) in reader.program.wiring.rules
               and reader.times(child, slot, step.node.name) > 1
               for slot in notation.network[child].slots()):  # fmt: skip
            own = re.escape(rf"\ell^{{{notation.marks[child]}")
            parts = [part for part in split_top(shape, "+") if not re.match(own, part)]
            indices = " ".join(notation.index[dim] for dim in reversed(step.node.axes))
            shape = " + ".join([*parts, rf"\text{{{child}}}_{{{indices}}}"])
    return shape


def _factors(step: Printed) -> list[re.Match[str]]:
    (line,) = [line.split(r"\propto ", 1)[1] for line in step.lines if line.startswith("p(")]
    found = [*_FACTOR.finditer(line)]
    assert found, f"{step.name}: no density could be read in {line}"
    return found


def check_choices(step: Printed) -> None:
    """How often each choice is made, and its printed probability, by the sum over all choices."""
    node, values, factors, draws = step.node, step.values, _factors(step), 2 * step.draws
    axis, shape = node.axes.index(node.simplex or ""), step.view().shape
    rows = [size for place, size in enumerate(shape) if place != axis]
    every = [np.moveaxis(np.eye(shape[axis])[list(flat)].reshape(*rows, -1), -1, axis)
             for flat in product(range(shape[axis]), repeat=int(np.prod(rows)))]  # fmt: skip
    old, logs = values[node.name].copy(), []
    for choice in every:
        step.view()[...] = choice
        logs.append(sum(_log_choice(step, factor) for factor in factors))
    weights = np.exp(np.array(logs) - max(logs))
    expected = np.tensordot(weights / weights.sum(), np.array(every), 1)
    seen = np.zeros(shape)
    for number in range(draws):
        values[node.name] = old.copy()
        step.redraw(number)
        seen += step.view() / draws
    values[node.name] = old
    for cell in product(*map(range, shape)):
        error = np.sqrt(expected[cell] * (1 - expected[cell]) / draws) + 1 / draws
        assert abs(seen[cell] - expected[cell]) < LIMIT * error, (
            f"{step.name}{cell}: {seen[cell]} of the draws, printed {expected[cell]}"
        )


def _log_choice(step: Printed, factor: re.Match[str]) -> float:
    """The log of one printed density: of the choices themselves, or of the counts below them."""
    reader, notation = step.reader, step.reader.notation
    inside = unvector(factor["inside"])
    if factor["family"] == "Cat":
        cells = step.cells(">" if factor["condition"] else "")
        chosen = [at for cell, at in cells if step.view()[cell]]
        return float(sum(np.log(max(reader.value(inside, at), 1e-300)) for at in chosen))
    assert factor["family"] == "Pois"
    (child,) = [c for c in notation.wiring.connections.children[step.node.name].values()
                if notation.own_symbol(c) == factor["symbol"]]  # fmt: skip
    own = [notation.index[dim] for dim in reversed(child.axes)]
    return float(sum(poisson.logpmf(reader.cells(child.name, own, at), reader.value(inside, at))
                     for _, at in step.every(child)))  # fmt: skip


def check_density(step: Printed) -> None:
    """ln p(value | −), up to a constant, at points where the kernel evaluated it."""
    name, factors = step.node.name, _factors(step)
    points: list[tuple[Any, float]] = []
    right = ConditionalDensity.__call__

    def call(self: ConditionalDensity, value: Any) -> Any:
        found = right(self, value)
        if np.isfinite(found).all():
            points.append((np.array(value).reshape(step.program.shape[name]), float(found.sum())))
        return found

    before = step.values[name].copy()
    with patch.object(ConditionalDensity, "__call__", call):
        step.turn.run(step.turn.base)
    assert len(points) > 3, f"{name}: the kernel evaluated no density"
    logs = []
    for value, _ in points[:6]:
        step.values[name] = value
        logs.append(sum(_log_densities(step, factor) for factor in factors))
    step.values[name] = before
    for (_, each), found in zip(points[1:], logs[1:], strict=False):
        step.close("", "log density", found - logs[0], each - points[0][1])


def _log_densities(step: Printed, factor: re.Match[str]) -> float:
    """The log of a printed density, of all cells of its node."""
    reader, family = step.reader, factor["family"]
    (node,) = [n for n in step.chain.network if reader.notation.own_symbol(n) == factor["symbol"]]
    value = reader.parse(unvector(factor["symbol"]))
    slots = [reader.parse(unvector(part)) for part in arguments(factor["inside"])]
    total, sums = 0.0, dict[Cell, float]()
    for cell, at in step.every(node):
        x, *given = (each(at) for each in (value, *slots))
        if family == "Dir":
            row = tuple(p for p, dim in zip(cell, node.axes, strict=True) if dim not in node.sums_over)  # fmt: skip
            sums[row] = sums.get(row, 0.0) + given[0]
            total += float(xlogy(given[0] - 1, x) - gammaln(given[0]))
        elif family == "Gam":
            total += float(gamma.logpdf(x, given[0], scale=1 / given[1]))
        else:
            law = {"Pois": poisson.logpmf, "Bern": bernoulli.logpmf, "Beta": beta.logpdf}[family]
            total += float(law(x, *given))
    return total + float(sum(gammaln(each) for each in sums.values()))


# ---- linear predictors: a primitive returns its parameters, which are read where draws would be ---

_NORMAL = re.compile(r"\\mathrm\{N\}\\bigl\(S \((.*)\),\\ S\\bigr\),\\ S = \((.*)\)\^\{-1\}$")
_BITS = re.compile(r"\\mathrm\{Bern\}\\Bigl\((.*)\\Bigr\)\\text\{ for one \} d")
_POLYA = re.compile(r"\((.*?),\\ (.*?)\) :\\ \\omega \\sim \\mathrm\{PG\}\((.*?), \\psi\),\\quad \\kappa = (.*)$")  # fmt: skip


def _as_drawn(step: Printed, owner: Any, name: str, stub: Callable[..., Any]) -> Any:
    """The value that a step writes if a primitive returns what ``stub`` does; it is put back."""
    before = step.values[step.node.name].copy()
    with patch.object(owner, name, stub):
        step.turn.run(step.turn.base)
    written, step.values[step.node.name] = np.asarray(step.view()), before
    return written


def _joint(step: Printed) -> list[str]:
    """The indices of the entries that are drawn jointly."""
    dims = joint_dims(step.node, step.program.wiring.sources[step.node.name])
    return [step.reader.notation.index[dim] for dim in dims]


def check_normal(step: Printed) -> None:
    """Mean and covariance of a vector that is drawn jointly."""
    match, reader, joint = matched(_NORMAL, step.lines[0]), step.reader, _joint(step)
    again = [f"{letter}'" for letter in joint]
    same = " ".join(f"1({a} = {b})" for a, b in zip(joint, again, strict=True)) or "1"
    vector = reader.parse(inlined(match[1], step.known))
    matrix = reader.parse(inlined(re.sub(r"\bI\b", same, match[2]), step.known))
    places = [*product(*(range(reader.range[letter]) for letter in joint))]
    mean = _as_drawn(step, normal, "joint_normal",
                     lambda _, a, b: np.linalg.solve(a, b[..., None])[..., 0])  # fmt: skip
    columns = [
        _as_drawn(step, normal, "joint_normal", lambda _, a, b, d=d: np.linalg.inv(a)[..., d])
        for d in range(len(places))
    ]
    for _, at in step.cells():
        if any(at[letter] for letter in joint):
            continue  # one vector, begun by its first entry
        own = [{**at, **dict(zip(joint, place, strict=True))} for place in places]
        precision = [[matrix({**one, **dict(zip(again, place, strict=True))}) for place in places]
                     for one in own]  # fmt: skip
        covariance = np.linalg.inv(np.array(precision))
        means = covariance @ [vector(one) for one in own]
        for number, one in enumerate(own):
            cell = step.cell(step.node, one)
            step.close(cell, "mean", means[number], mean[cell])
            for column, value in enumerate(columns):
                step.close(cell, "covariance", covariance[number, column], value[cell])


def check_bits(step: Printed) -> None:
    """The log odds of every bit given the present ones; and many draws of one after another."""
    node, (own,) = step.node, _joint(step)
    others = step.reader.notation.own_symbol(node).replace(own, f"{own}'")
    law = re.sub(r"(?<![\w\\^])h_\{d'\}", lambda _: others, matched(_BITS, step.lines[0])[1])
    for letter, formula in step.known.items():
        law = law.replace(rf"{letter}_{{d d}}", "(" + formula.replace(f"{own}'", own) + ")")
        law = law.replace(rf"{letter}_{{d d'}}", f"({formula})").replace(f"{letter}_d", f"({formula})")  # fmt: skip
    printed = step.reader.parse(law.replace(r"\sum_{d' \ne d}", rf"\sum_{{{own}' \ne {own}}}"))

    def odds(_: Any, a: Any, b: Any, prior: Any, value: Any) -> Any:
        """P(x_d = 1 | the others), p(x) ∝ exp(bᵀx − ½xᵀAx + Σ ψ_d x_d)."""
        diagonal = np.diagonal(a, axis1=-2, axis2=-1)
        field = np.einsum("...de,...e->...d", a, value) - diagonal * value
        return 1 / (1 + np.exp(-(prior + b - diagonal / 2 - field)))

    right = _as_drawn(step, bernoulli_node, "binary_field", odds)
    for cell, at in step.cells():
        step.close(cell, "P(1)", printed(at), right[cell])
    old, apart = step.values[node.name].copy(), dict[Cell, list[float]]()
    for number in range(step.draws // 3):
        step.values[node.name] = old.copy()
        step.redraw(number)
        new = step.view().copy()
        step.values[node.name] = old.copy()
        for cell, at in sorted(step.cells(), key=lambda pair: pair[1][own]):
            apart.setdefault(cell, []).append(float(new[cell]) - printed(at))
            step.view()[cell] = new[cell]
    step.values[node.name] = old
    for cell, each in apart.items():
        step.compare(cell, each)


def check_polya(step: Printed) -> None:
    """ω ~ PG(b, ψ) has the mean b tanh(ψ/2) / (2ψ); ψ and κ are compared themselves."""
    omega, kappa, shape, told = matched(_POLYA, step.lines[0]).groups()
    reader, known = step.reader, step.known
    psi = reader.parse(known[r"\psi"])
    right = reader.parse(re.sub(r"\bh\b", lambda _: f"({known['h']})", told))
    with patch.object(vectorised, "polya_gamma", lambda _, tilt: np.asarray(tilt)):
        step.turn.run(step.turn.base)
    for cell, at in step.cells():
        step.close(cell, "psi", psi(at), reader.value(omega, at))
        step.close(cell, "kappa", right(at), reader.value(kappa, at))
    seen = []
    for number in range(step.draws):
        step.redraw(number)
        seen.append([reader.value(omega, at) for _, at in step.cells()])
    for (cell, at), sample in zip(step.cells(), np.array(seen).T, strict=True):
        tilt = psi(at)
        mean = np.tanh(tilt / 2) / (2 * tilt) if tilt else 1 / 4
        step.compare(cell, sample, float(shape) * mean)


# ---- hidden counts, log-normals, completed proportions: the arguments of primitives --------------

_HIDDEN = re.compile(r"\\mathrm\{Gam\}\((.*)\),\\ p\(h\) \\propto (.*)$")
_COMPLETED = re.compile(r"^(y\^\{.*?\})_.*? \\sim \\mathrm\{Pois\}\\bigl\((.*)\\bigr\)$")
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


def check_bessel(step: Printed) -> None:
    """h ~ Bessel_ν(α): the order and the argument; then what every parent is told."""
    with _calls("hidden_count") as calls:
        step.turn.run(step.turn.base)
    backward = calls[::-1] if step.in_time else calls
    half, offset, _ = step.arguments(backward)  # of the law without a count
    for cells, own in step.by_phase():
        (law,) = filter(None, map(_BESSEL.search, own))
        order, argument = (step.reader.parse(inlined(part, wheres(own))) for part in law.groups())
        for cell, at in cells:
            step.close(cell, "order", order(at), offset[cell] - 1)
            step.close(cell, "argument", argument(at), 2 * half[cell] ** 0.5)
    check_counts(step)


def check_hidden(step: Printed) -> None:
    """A gamma with a hidden count: p(h) at several h, the gamma given h, and the mean of h."""
    reader, apart = step.reader, dict[Cell, list[float]]()
    for number in range(step.draws // 5):
        with _calls("hidden_count") as counts, _calls("gamma") as gammas:
            step.redraw(number)
        w, offset, received, drawn = step.arguments(counts)
        shape, rate, _ = step.arguments(gammas)
        for cells, own in step.by_phase():  # a row of a chain reads the new row before it
            inside, density = matched(_HIDDEN, own[0]).groups()
            one, two = (reader.parse(part) for part in inside.split(r",\ "))
            known = {name: reader.parse(formula) for name, formula in wheres(own).items()}
            weight = reader.parse(density)
            for cell, at in cells:
                a, m, h = (float(each[cell]) for each in (offset, received, drawn))
                reader.letters.clear()
                reader.letters |= {name: value(at) for name, value in known.items()}
                weights = [_with(reader, "h", each, weight, at) for each in range(_MOST)]
                for each in (1, 2, 5):
                    right = each * np.log(w[cell]) - gammaln(each + 1) + gammaln(a + each + m)
                    right += gammaln(a) - gammaln(a + each) - gammaln(a + m)
                    step.close(cell, f"ln p(h = {each})", np.log(weights[each] / weights[0]), right)
                reader.letters["h"] = h
                step.close(cell, "shape", one(at), shape[cell])
                step.close(cell, "rate", two(at), rate[cell])
                mean = float(np.dot(range(_MOST), weights) / sum(weights))
                apart.setdefault(cell, []).append(h - mean)
    reader.letters.clear()
    for cell, each in apart.items():
        step.compare(f"{cell}: h", each)


def _with(reader: Reader, letter: str, number: float, law: Value, at: At) -> float:
    """A law at a value of its variable."""
    reader.letters[letter] = number
    return law(at)


def check_log_normal(step: Printed) -> None:
    """The printed density and the one by which the kernel accepts, as functions of ln a."""
    law = step.reader.parse(inlined(step.lines[0].split(r"p(a) \propto ")[1], step.known))
    with _calls("log_normal") as calls:
        before = step.values[step.node.name].copy()
        step.turn.run(step.turn.base)
        step.values[step.node.name] = before
    mean, precision, count, exposure, _drawn = step.arguments(calls)
    for cell, at in step.cells():
        tau = float(precision[cell])
        centre = float(mean[cell] + count[cell] / tau)
        w = _omega(centre + np.log(exposure[cell] / tau))
        height = []
        for t in (0.0, *_POINTS):
            y = float(centre - w + t)
            density = _with(step.reader, "a", np.exp(y), law, at)
            height.append(np.log(density) + y)  # the density of ln a
        for t, found in zip(_POINTS, height[1:], strict=True):
            step.close(cell, "log density", found - height[0], _log_ratio(t, tau * w, tau))
    step.reader.letters.clear()


def check_completed(step: Printed) -> None:
    """The rates of the pseudo-counts, and the proportions given them."""
    ((symbol, rate),) = (match.groups() for match in map(_COMPLETED.search, step.lines) if match)
    printed = step.reader.parse(inlined(rate, step.known))
    (inside,) = [inside for family, inside, _ in laws(step.lines) if family == "Dir"]
    dirichlet, total = step.reader.parse(unvector(inside[0])), 0
    for number in range(step.draws // 10):
        expected = {cell: printed(at) for cell, at in step.cells()}
        with _calls("poisson") as calls, recorded(step.node) as seen:
            step.redraw(number)
        rates, drawn = step.arguments(calls)
        step.reader.arrays[symbol], total = drawn, total + drawn.sum()
        concentration = step.used([each["concentration"] for each in seen])
        for cell, at in step.cells():
            step.close(cell, "rate of y", expected[cell], rates[cell])
            step.close(cell, "concentration", dirichlet(at), concentration[cell])
    assert total > 0, f"{step.name}: no pseudo-count was drawn"
    step.reader.arrays.clear()


CHECKS: dict[str, Callable[[Printed], None]] = {
    r"\mathrm{Cat}\bigl(\propto": check_choices,
    r"\propto p\bigl(": check_density,
    r"\mathrm{N}\bigl(": check_normal,
    r"\mathrm{PG}(": check_polya,
    r"\text{ for one } d": check_bits,
    r"p(a) \propto": check_log_normal,
    r"p(h) \propto": check_hidden,
    r":\ h \sim \mathrm{Bessel}": check_bessel,
    r"\bar{q} = ": check_completed,
}
