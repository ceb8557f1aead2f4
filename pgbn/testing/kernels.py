"""A kernel compared with the rules that it replaces.

Many replicates of a tiny network start at exact draws. The kernel and the composed rules run each
step that the kernel serves from the same state. The two draws must have the same law. So the mean
difference of every statistic over the replicates, in standard errors, is about normal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import Replicates, Seed, validated
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw, Maker, Run, SlotCounts, Task, make_step
from pgbn.engine.run.chain import Chain
from pgbn.errors import DataError, NetworkError
from pgbn.network.network import Network
from pgbn.samplers.random import stream_key
from pgbn.testing.edges import CheckResult
from pgbn.testing.geweke import check_network

Array = NDArray[np.float64]


@validated
def compare_kernel(
    make: Maker,
    network: Network,
    sizes: Mapping[str, int] | None = None,
    replicates: Replicates = 5000,
    seed: Seed = 0,
) -> CheckResult:
    """Compare a kernel with the composed rules, at every step of a network that it serves.

    Parameters
    ----------
    make : callable
        The function that `pgbn.extend.register_kernel` decorates.
    network : Network
        A network with a step that the kernel serves.
    sizes : mapping, optional
        The sizes of its dims; tiny ones.
    replicates : int
        Independent draws of every step.
    seed : int
        Of all draws.

    Returns
    -------
    CheckResult
        z-scores of the draws. The error "two threads" is infinite if they give other bits than one.
        Without ``failures`` the kernel passes.

    Examples
    --------
    >>> import pgbn
    >>> from pgbn.extend import Draw
    >>> from pgbn.engine.plan import make_step
    >>> def composed(program, task):  # the rules themselves, as a kernel of gammas
    ...     return make_step(program, task) if isinstance(task, Draw) else None
    >>> theta = pgbn.Gamma("theta", 4, 4, dims="doc")
    >>> network = pgbn.Network(pgbn.Poisson("x", theta, dims="doc"))
    >>> result = pgbn.testing.compare_kernel(composed, network, {"doc": 3}, replicates=200)
    >>> result.failures
    []
    """
    check_network(network, sizes, "compare_kernel")
    if not callable(make):
        raise DataError(
            f"compare_kernel: make={make!r:.60}: give a function of a program and a task"
        )
    programs = [_program(network, sizes, replicates, seed, threads) for threads in (1, 2)]
    z: dict[str, float] = {}
    same = True
    for task in _tasks(network):
        runs = [make(program, task) for program in programs]
        if runs[0] is None or runs[1] is None:
            continue
        key = stream_key(seed, len(z))
        rules = _drawn(programs[0], task, make_step(programs[0], task), stream_key(key))
        one, two = (_drawn(p, task, run, key) for p, run in zip(programs, runs, strict=True) if run)
        same &= all(np.array_equal(one[name], two[name]) for name in one)
        for name, array in one.items():
            z |= _scores(name, array, rules[name])
    if not z:
        raise NetworkError(
            f"compare_kernel: {getattr(make, '__name__', make)} serves no step of this network; "
            "give one that has its pattern"
        )
    return CheckResult({"two threads": 0.0 if same else np.inf}, z)


def _program(
    network: Network, sizes: Mapping[str, int] | None, replicates: int, seed: int, threads: int
) -> Program:
    """A program in the middle of a sweep: all counts are drawn."""
    chain = Chain._replicated(network, sizes or {}, replicates, seed, "composed", threads)
    chain.sweep()
    chain._refresh()
    return chain._program


def _tasks(network: Network) -> Iterator[Task]:
    """All tasks that a kernel may serve."""
    for name in network.free:
        yield Draw(network[name])
    for node in network:
        for slot, rule in network.wiring.connections.rules_of(node).items():
            if rule.is_random:
                yield SlotCounts(node, slot)


def _drawn(program: Program, task: Task, run: Run, key: int) -> dict[str, Array]:
    """The draws of a step; the program is restored afterwards."""
    values, counts = dict(program.values), dict(program.counts)
    run(key)
    name = task.node.name
    if isinstance(task, Draw):
        found = {name: program.values[name]}
    else:
        found = {f"counts of {name} for {parent}": array
                 for (child, parent), array in program.counts.items()
                 if child == name and array is not counts.get((child, parent))}  # fmt: skip
    program.values.update(values)
    program.counts.update(counts)
    return found


def _scores(name: str, one: NDArray[np.float64], other: NDArray[np.float64]) -> dict[str, float]:
    """z-scores of means over the entries, for every replicate, of three functions."""
    found = {}
    for label, function in (("", np.log1p), ("²", np.square), ("/(1+)", lambda v: v / (1 + v))):
        means = [function(np.asarray(v, float).reshape(len(v), -1)).mean(1) for v in (one, other)]
        difference = means[0] - means[1]
        error = difference.std() / np.sqrt(len(difference))
        same = 0.0 if not difference.any() else np.inf
        found[name + label] = float(difference.mean() / error) if error > 0 else same
    return found
