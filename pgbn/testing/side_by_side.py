"""Right beside wrong: the joint-distribution test of a sampler and of its mutants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pgbn.network.network import Network
from pgbn.testing.geweke import GewekeResult, geweke
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


def mutant_table(
    network: Network,
    sizes: Mapping[str, int] | None = None,
    replicates: int = 20_000,
    sweeps: int = 8,
    seed: int = 0,
    threads: int | None = None,
) -> MutantTable:
    """`geweke` of every mutant of a network beside the right sampler, in seconds.

    Choose tiny sizes, and priors whose moments exist, e.g. ``zoo.pgbn([2, 2], 0.5, (2, 4), (4, 4),
    (4, 4), (4, 4))`` with ``{"doc": 3, "term": 3}``; the order of tokens shows where cells have
    several: ``zoo.pgbn([3, 2], 0.5, (8, 4), (4, 4), (4, 4), (8, 4))``, ``{"doc": 2, "term": 2}``.
    """
    rows, right = {}, dict[str, GewekeResult]()
    for name, mutant in mutants(network).items():
        arguments = (network, sizes, replicates, sweeps, seed, mutant.layer1, threads)
        if mutant.layer1 not in right:
            right[mutant.layer1] = geweke(*arguments)
        rows[name] = (mutant, right[mutant.layer1], geweke(*arguments, broken=mutant))
    return MutantTable(rows)
