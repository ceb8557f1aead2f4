"""Right beside wrong: the joint-distribution test of a sampler and of its mutants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer
from pgbn.engine.run.chain import Chain
from pgbn.network.network import Network
from pgbn.testing.geweke import GewekeResult, check_network, joint_test, refuse_not_finite
from pgbn.testing.mutants import Mutant, mutants

__all__ = ["MutantTable", "mutant_table"]


@dataclass(frozen=True)
class MutantTable:
    """For every mutant: the mistake, the result of the right sampler, and that of the wrong one."""

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
        lines.append("|z| of one statistic, of the right sampler and of the wrong one; worst: the "
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


def mutant_table(
    network: Network,
    sizes: Mapping[str, int] | None = None,
    replicates: int = 4000,
    sweeps: int = 8,
    seed: int = 0,
    threads: int | None = None,
) -> MutantTable:
    """The joint-distribution test of every mutant of a network beside the right sampler, in
    seconds: choose tiny sizes, such as ``{"doc": 3, "term": 4}``.

    Unlike `geweke`, it keeps of many exact draws of (parameters, data) those ``replicates`` whose
    data say most, and sweeps with these data. Whichever data were chosen, their parameters are a
    draw from the posterior, which a right sampler leaves as it is. So no mistake hides behind data
    that are empty, as most are under a vague prior, and no time is lost on those that are huge.
    A stale order is the subtlest mistake: where it stays below 4, ask for more replicates.
    """
    check_network(network, sizes, "mutant_table")
    replicates = check_integer("replicates", replicates, 2)
    sweeps = check_integer("sweeps", sweeps, 1)
    begin = _informative(network, sizes or {}, replicates, seed, threads)
    rows, right = {}, dict[str, GewekeResult]()
    for name, mutant in mutants(network).items():

        def chain(layer1: str = mutant.layer1) -> Chain:
            return Chain.replicated(
                network, sizes or {}, replicates, seed, layer1, threads, begin=begin
            )

        if mutant.layer1 not in right:
            right[mutant.layer1] = joint_test(chain(), sweeps, fixed=True)
        wrong = chain()
        mutant(wrong)
        rows[name] = (mutant, right[mutant.layer1], joint_test(wrong, sweeps, fixed=True))
    return MutantTable(rows)


def _informative(
    network: Network, sizes: Mapping[str, int], replicates: int, seed: int, threads: int | None
) -> dict[str, NDArray[Any]]:
    """Draws of all nodes, kept by their data alone: those with about four tokens in a cell."""
    pool = Chain.replicated(network, sizes, _POOL * replicates, seed, "composed", threads)
    refuse_not_finite(pool)
    data = {name: cells.dense() for name, cells in pool.program.cells.items()}
    distance: Any = 0.0
    for values in data.values():
        size = np.log1p(np.abs(values)).reshape(values.shape[0], -1)
        wanted = np.log1p(min(_TOKENS, float(np.abs(values).max(initial=0)) / 2))
        distance = distance + np.abs(size.mean(axis=1) - wanted)
    kept = np.sort(np.argsort(distance, kind="stable")[:replicates])
    return {name: value[kept] for name, value in {**pool.program.values, **data}.items()}
