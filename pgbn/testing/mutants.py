"""Samplers broken on purpose, by name: a test must detect them, and a class can study them.

Each breaks one part of a running chain; the network, its rules and its derivation stay right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import Count, Replicates, Seed, validated
from pgbn.engine.first_layer.choice import plain_pattern, sampler_names
from pgbn.engine.plan import Counts, Draw, make_step
from pgbn.engine.run.chain import Chain
from pgbn.explain.steps import has_tables
from pgbn.network.network import Network
from pgbn.network.schedule import Schedule, reorder
from pgbn.nodes.base import Node
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.rules import Evidence
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing.geweke import GewekeResult, check_network, joint_test, reject_not_finite


@dataclass(frozen=True)
class Mutant:
    """A mistake. A call with a chain makes it; `mutants` returns those of a network.

    Attributes
    ----------
    name, words : str
        The name of the mistake, and what is wrong.
    sampler : str
        The sampler of the chains that it breaks.
    breaks : callable
        The function of a chain.

    Examples
    --------
    ``geweke(network, sizes, sampler=mutant.sampler, broken=mutant)`` shows a mistake.

    >>> import pgbn
    >>> theta = pgbn.Gamma("theta", 4, 4, dims="doc")
    >>> network = pgbn.Network(pgbn.Poisson("x", theta, dims="doc"))
    >>> mutant = pgbn.testing.mutants(network)["rate for scale"]
    >>> options = {"replicates": 500, "sweeps": 2, "sampler": mutant.sampler, "broken": mutant}
    >>> pgbn.testing.geweke(network, {"doc": 3}, **options).worst > 4
    True
    """

    name: str
    words: str
    sampler: str
    breaks: Callable[[Chain], None]

    def __call__(self, chain: Chain) -> None:
        self.breaks(chain)


def mutants(network: Network) -> dict[str, Mutant]:
    """The mistakes that are possible in a network, by name.

    Parameters
    ----------
    network : Network
        Any network.

    Returns
    -------
    dict
        Some of "CRT off by one", "rate for scale", "stale order" and "tokens in topic order".

    Examples
    --------
    >>> import pgbn
    >>> list(pgbn.testing.mutants(pgbn.zoo.pgbn([2, 2])))
    ['CRT off by one', 'rate for scale', 'stale order', 'tokens in topic order']
    """
    check_network(network, None, "mutants")
    found = [_tables(network), _scale(network), _order(network), _tokens(network)]
    return {mutant.name: mutant for mutant in found if mutant is not None}


# ---- tables -----------------------------------------------------------------------------


def _tables(network: Network) -> Mutant | None:
    """Wrong tables of the last node whose tables are drawn, the nearest to the data."""
    places = [(name, slot) for (name, slot), rule in network.wiring.rules.items()
              if rule.is_random and has_tables(rule)]  # fmt: skip
    if not places:
        return None
    name, slot = places[-1]

    def breaks(chain: Chain) -> None:
        rules = chain._program.wiring.rules
        rule = rules[name, slot]

        def count(stream: Stream, **arguments: Any) -> Any:
            assert callable(rule.count)
            right = rule.count(stream=stream, **arguments)
            wrong = _off_by_one(stream, arguments["count"], arguments[slot])
            return Evidence(wrong, right.exposure) if isinstance(right, Evidence) else wrong

        rules[name, slot] = replace(rule, count=_with_names(count, ("count", slot)))
        kernels, chain._program.kernels = chain._program.kernels, False
        _replace_step(chain, f"counts({name})", make_step(chain._program, Counts(network[name])))
        chain._program.kernels, rules[name, slot] = kernels, rule

    words = f"customer i of {name} opens a table with probability a/(a + i), not a/(a + i - 1)"
    return Mutant("CRT off by one", words, "composed", breaks)


def _with_names(count: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    """A function with parameters of these names, which a rule reads."""
    parameters = [Parameter(name, Parameter.KEYWORD_ONLY) for name in ("stream", *names)]
    count.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return count


def _off_by_one(stream: Stream, count: Any, shape: Any) -> Any:
    """Σ_i Bern(a/(a + i)), i = 1 … m: the tables of CRT(m + 1, a) without the first."""
    return vectorised.crt(stream, np.add(count, 1), shape) - 1


# ---- rates ------------------------------------------------------------------------------


class _Scaled:
    """A gamma node that uses its rate as a scale."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def generate(self, stream: Stream, **slots: Any) -> Any:
        return self._node.generate(stream, **{**slots, "rate": 1.0 / np.asarray(slots["rate"])})


def _scale(network: Network) -> Mutant | None:
    """A wrong scale of the first gamma drawn from its conditional, the nearest to the roots."""
    drawn = [
        step.name
        for step in network.schedule
        if not step.upward
        and step.sequential is None
        and not network.wiring.draws[step.name].kernel
    ]
    name = next((n for n in network.latent if n in drawn and isinstance(network[n], Gamma)), None)
    if name is None:
        return None

    def breaks(chain: Chain) -> None:
        scaled: Any = _Scaled(network[name])
        kernels, chain._program.kernels = chain._program.kernels, False
        _replace_step(chain, name, make_step(chain._program, Draw(scaled)))
        chain._program.kernels = kernels

    words = f"{name} is drawn with scale c + q, not with rate c + q"
    return Mutant("rate for scale", words, "composed", breaks)


# ---- the order --------------------------------------------------------------------------


def _order(network: Network) -> Mutant | None:
    order = _wrong_order(network.schedule)
    if order is None:
        return None
    names, moved, stale = order

    def breaks(chain: Chain) -> None:
        steps = {step.name: step for step in chain.schedule}
        chain._follow(reorder(steps, names, check=False))

    words = f"{moved} is drawn just before {stale}, and reads its old, stale value"
    return Mutant("stale order", words, "composed", breaks)


def _wrong_order(schedule: Schedule) -> tuple[list[str], str, str] | None:
    """A step that reads a value, moved after the steps that integrate that value out.

    The best one reads the new value of such a step together with the old value, in many rows."""
    steps, found = {step.name: step for step in schedule}, []
    for step in schedule:
        names = {read.name for read in step.reads} if not step.upward else set[str]()
        names -= set(step.draws)  # a kernel begins from its own value
        for name in sorted(name for name in names if name in steps and not steps[name].upward):
            order = [other for other in steps if other != step.name]
            order.insert(order.index(name), step.name)
            if reorder(steps, order, check=False).faults:
                beside = any(name in steps[other].marginalises for other in names & set(steps))
                score = (beside, len(step.plates), not step.marginalises)
                found.append((score, order, step.name, name))
    best = max(found, key=lambda each: each[0], default=None)
    return None if best is None else best[1:]


# ---- tokens -----------------------------------------------------------------------------


def _tokens(network: Network) -> Mutant | None:
    """The tokens of a cell are redrawn in the order of their labels."""
    pattern = plain_pattern(network.wiring)
    if isinstance(pattern, str) or "collapsed" not in sampler_names():
        return None

    def breaks(chain: Chain) -> None:
        sampler: Any = chain._first_layer

        def step(key: int) -> None:
            row_start, word = sampler.tokens.tokens
            row = np.repeat(np.arange(row_start.size - 1), np.diff(row_start))
            labels = sampler.tokens.labels
            labels[:] = labels[np.lexsort((labels, word, row))]
            sampler.step(key)

        _replace_step(chain, f"counts({pattern.observed})", step)

    words = "the tokens of the first topic in a cell are always redrawn first"
    return Mutant("tokens in topic order", words, "collapsed", breaks)


def _replace_step(chain: Chain, name: str, run: Callable[[int], None]) -> None:
    """Replace the function of a step of a chain."""
    chain._turns = [replace(turn, run=run) if turn.step.name == name else turn
                    for turn in chain._turns]  # fmt: skip
    chain._later = {node: replace(turn, run=run) if turn.step.name == name else turn
                    for node, turn in chain._later.items()}  # fmt: skip


# ---- right and wrong: the joint-distribution test of a sampler and of its mutants -------


@dataclass(frozen=True)
class MutantTable:
    """The result of `mutant_table`; it prints as a table, in a notebook too.

    Attributes
    ----------
    rows : dict
        For every mistake: the `Mutant`, the result of the right sampler, and that of the wrong one.

    Examples
    --------
    >>> from pgbn.testing import MutantTable
    >>> print(str(MutantTable({})).splitlines()[0])
    mistake                    right   worst    wrong   seen in
    """

    rows: dict[str, tuple[Mutant, GewekeResult, GewekeResult]]

    def _cells(self) -> list[tuple[str, ...]]:
        cells: list[tuple[str, ...]] = []
        for name, (mutant, right, wrong) in self.rows.items():
            seen = max(wrong.z, key=lambda statistic: abs(wrong.z[statistic]))
            cells.append((name, f"{abs(right.z.get(seen, 0.0)):.1f}", f"{right.worst:.1f}",
                          f"{wrong.worst:.1f}", seen, mutant.words))  # fmt: skip
        return cells

    def __str__(self) -> str:
        lines = [f"{'mistake':<24}{'right':>8}{'worst':>8}{'wrong':>9}   seen in"]
        for name, right, worst, wrong, seen, words in self._cells():
            lines += [f"{name:<24}{right:>8}{worst:>8}{wrong:>9}   {seen}", f"    {words}"]
        lines.append("|z| of one statistic for the right sampler and the wrong one; worst: the "
                     "largest |z| of the right one. Above 4 is a fault.")  # fmt: skip
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        head = "| mistake | what is wrong | seen in | right, abs z | right, worst | wrong |"
        rows = [f"| {name} | {words} | {seen} | {right} | {worst} | **{wrong}** |"
                for name, right, worst, wrong, seen, words in self._cells()]  # fmt: skip
        return "\n".join([head, "|---|---|---|---|---|---|", *rows]) + "\n"


_POOL = 16  # draws of the joint distribution for each replicate that is kept
_TOKENS = 4.0  # in a cell: enough that a cell has several topics, few enough to be quick


@validated
def mutant_table(
    network: Network,
    sizes: Mapping[str, int] | None = None,
    replicates: Replicates = 4000,
    sweeps: Count = 8,
    seed: Seed = 0,
    threads: int | None = None,
) -> MutantTable:
    """The joint-distribution test of every mutant of a network, and of the right sampler.

    Unlike `geweke`, it selects ``replicates`` with informative data from many exact draws of
    (parameters, data), and sweeps with these data. The parameters of selected data are a draw from
    the posterior, which a right sampler leaves invariant. So empty data, which are common under a
    vague prior, hide no mistake, and huge data cost no time.

    Parameters
    ----------
    network : Network
        Any network.
    sizes : mapping, optional
        The sizes of its dims; tiny ones, such as ``{"doc": 3, "term": 4}``.
    replicates, sweeps : int
        A stale order is the subtlest mistake: use more if its |z| stays below 4.
    seed : int
        Of all draws.
    threads : int, optional
        By default as many as the machine has.

    Returns
    -------
    MutantTable
        The z-scores of the right sampler and of the wrong ones.

    Examples
    --------
    >>> import pgbn
    >>> theta = pgbn.Gamma("theta", 4, 4, dims="doc")
    >>> network = pgbn.Network(pgbn.Poisson("x", theta, dims="doc"))
    >>> table = pgbn.testing.mutant_table(network, {"doc": 3}, replicates=200, sweeps=2)
    >>> list(table.rows)
    ['rate for scale']
    """
    check_network(network, sizes, "mutant_table")
    begin = _informative(network, sizes or {}, replicates, seed, threads)
    rows, right = {}, dict[str, GewekeResult]()
    for name, mutant in mutants(network).items():

        def chain(sampler: str = mutant.sampler) -> Chain:
            return Chain._replicated(
                network, sizes or {}, replicates, seed, sampler, threads, begin=begin
            )

        if mutant.sampler not in right:
            right[mutant.sampler] = joint_test(chain(), sweeps, fixed=True)
        wrong = chain()
        mutant(wrong)
        rows[name] = (mutant, right[mutant.sampler], joint_test(wrong, sweeps, fixed=True))
    return MutantTable(rows)


def _informative(
    network: Network, sizes: Mapping[str, int], replicates: int, seed: int, threads: int | None
) -> dict[str, NDArray[Any]]:
    """Draws of all nodes, kept by their data alone: those with about four tokens in a cell."""
    pool = Chain._replicated(network, sizes, _POOL * replicates, seed, "composed", threads)
    reject_not_finite(pool)
    data = {name: cells.dense() for name, cells in pool._program.cells.items()}
    distance: Any = 0.0
    for values in data.values():
        size = np.log1p(np.abs(values)).reshape(values.shape[0], -1)
        wanted = np.log1p(min(_TOKENS, float(np.abs(values).max(initial=0)) / 2))
        distance = distance + np.abs(size.mean(axis=1) - wanted)
    kept = np.sort(np.argsort(distance, kind="stable")[:replicates])
    return {name: value[kept] for name, value in {**pool._program.values, **data}.items()}
