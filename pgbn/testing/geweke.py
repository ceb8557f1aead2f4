"""The joint-distribution test of Geweke (2004): is the sampler right?

Many replicates of a tiny network start at exact draws of (parameters, data). Each then runs a
number of {sweep; redraw the data given the parameters}. If the sampler is right, the joint
distribution does not change, so every statistic keeps its expectation. Its mean change over the
replicates, in standard errors, is a z-score that is about normal for any autocorrelation. Each
replicate is compared with its own beginning, so no exact mean is needed, and a statistic that
mixes slowly has a small standard error.

A wrong order, a wrong count or a wrong rate makes some |z| large; a node that is never redrawn has
z = ∞. A gate that is redrawn, but never changes because the data leave no choice, has z = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import Count, Replicates, Seed, validated
from pgbn.engine.run.chain import Chain
from pgbn.errors import DataError, NetworkError
from pgbn.network.network import Network
from pgbn.network.schedule import reorder
from pgbn.nodes.poisson import LARGEST_RATE
from pgbn.samplers.random import stream_key, word_of


@dataclass(frozen=True)
class GewekeResult:
    """The result of `geweke`; it prints the largest z-scores.

    Attributes
    ----------
    z : dict
        The z-score of every statistic.
    shifts : dict
        The mean change of every statistic in prior standard deviations.
    replicates, sweeps : int
        How many replicates ran, and for how many sweeps.

    Examples
    --------
    >>> from pgbn.testing import GewekeResult
    >>> GewekeResult({"theta": 1.2, "x": -4.5}, {"theta": 0.01, "x": -0.3}, 500, 4).worst
    4.5
    """

    z: dict[str, float]
    shifts: dict[str, float]
    replicates: int
    sweeps: int

    @property
    def worst(self) -> float:
        """The largest |z|."""
        return max((abs(z) for z in self.z.values()), default=0.0)

    def __str__(self) -> str:
        order = sorted(self.z, key=lambda name: -abs(self.z[name]))
        lines = [
            f"largest |z| = {self.worst:.2f} of {len(self.z)} statistics "
            f"({self.replicates} replicates, {self.sweeps} sweeps)"
        ]
        lines += [f"  {name:<40} z={self.z[name]:+7.2f}  shift={self.shifts[name]:+.4f} sd"
                  for name in order[:8]]  # fmt: skip
        return "\n".join(lines)


@validated
def geweke(
    network: Network,
    sizes: Mapping[str, int] | None = None,
    replicates: Replicates = 20_000,
    sweeps: Count = 10,
    seed: Seed = 0,
    sampler: str = "blocked",
    threads: int | None = None,
    broken: Callable[[Chain], None] | None = None,
    given: Mapping[str, Any] | None = None,
    order: Iterable[str] | None = None,
    unchecked: bool = False,
) -> GewekeResult:
    """Test the sampler of a network by its joint distribution (Geweke 2004).

    Parameters
    ----------
    network : Network
        The network, with mild priors whose moments exist.
    sizes : mapping, optional
        The sizes of its dims; tiny ones, such as ``{"doc": 3, "term": 4}``.
    replicates, sweeps : int
        The number of independent replicates, and of sweeps of each.
    seed : int
        Of all draws.
    sampler : str
        The sampler of the first layer, as in `Network.chain`.
    threads : int, optional
        By default as many as the machine has.
    broken : callable, optional
        Called with the chain before it runs, to replace a part by a wrong one: see `mutants`.
    given : mapping, optional
        Nodes that have this value in every replicate. Given nodes of a network
        (``net.with_given("theta")``) without values here are drawn from their prior, separately in
        every replicate, so that the nodes above them are tested too.
    order : iterable of str, optional
        Another order of the steps, as in `Network.with_order`.
    unchecked : bool
        Run an ``order`` that the check rejects, to see its effect.

    Returns
    -------
    GewekeResult
        |z| < 4 for every statistic is a pass.

    Examples
    --------
    >>> import pgbn
    >>> theta = pgbn.Gamma("theta", 4, 4, dims="doc")
    >>> network = pgbn.Network(pgbn.Poisson("x", theta, dims="doc"))
    >>> pgbn.testing.geweke(network, {"doc": 3}, replicates=200, sweeps=2).worst < 4
    True
    """
    check_network(network, sizes, "geweke", broken)
    if order is not None and not unchecked:
        network, order = network.with_order(order), None
    chain = Chain._replicated(network, sizes or {}, replicates, seed, sampler, threads, None, given)
    reject_not_finite(chain)
    reject_large_counts(chain, "geweke", LARGEST_RATE)
    if order is not None:
        steps = {step.name: step for step in chain.schedule}
        chain._follow(reorder(steps, order, check=False))
    if broken is not None:
        broken(chain)
    return joint_test(chain, sweeps)


def joint_test(chain: Chain, sweeps: int, fixed: bool = False) -> GewekeResult:
    """The z-scores of chains that begin at exact draws.

    With ``fixed``, the data do not change; this is right for replicates that were chosen by their
    data. The statistics then also include `tilts`, which distinguish the entries of a vector."""
    every = statistics if not fixed else (lambda chain: {**statistics(chain), **tilts(chain)})
    exact, begun = every(chain), _arrays(chain)
    replicates = chain._program.replicates
    copies = {name: array.copy() for name, array in begun.items()}
    last = max(1, min(4, sweeps // 2))
    changes = {name: np.zeros(replicates) for name in exact}
    for number in range(sweeps):
        chain.sweep()
        chain._refresh()
        if not fixed:
            _redraw_data(chain, number)
        if number >= sweeps - last:
            for name, value in every(chain).items():
                changes[name] += (value - exact[name]) / last
    z, shifts = {}, {}
    for name, before in exact.items():
        change = changes[name]
        if not np.isfinite(change).all():  # a sweep made a value that is not a number
            z[name] = shifts[name] = np.inf
            continue
        spread = float(change.std() / np.sqrt(replicates))
        if before.std() > 1e-12 * (1 + abs(float(before.mean()))):  # otherwise a constant, rounded
            # The same change everywhere is a fault, unless nothing changed: see `_stuck`.
            constant = np.inf if change.any() else 0.0
            z[name] = float(change.mean()) / spread if spread > 0 else constant
            shifts[name] = float(change.mean()) / max(float(before.std()), 1e-300)
    still = {*chain.network.given, *(chain.network.observed if fixed else ())}
    for name in set(_stuck(begun, copies, _arrays(chain))) - still:
        z |= {own: np.inf for own in (name, f"{name}²") if own in z}
    return GewekeResult(z, shifts, replicates, sweeps)


def check_network(network: Any, sizes: Any, caller: str, broken: Any = None) -> None:
    """Arguments of a test: the network, the sizes, and what breaks the chain."""
    if not isinstance(network, Network):
        raise NetworkError(
            f"{caller}: network={network!r:.60}; give a pgbn.Network, such as "
            "pgbn.Network(x) or pgbn.zoo.lda(3)"
        )
    if sizes is not None and not isinstance(sizes, Mapping):
        raise DataError(f"{caller}: sizes={sizes!r:.60}: give a dict, such as {{'doc': 3}}")
    if broken is not None and not callable(broken):
        raise DataError(f"{caller}: broken={broken!r:.60}: give a function of a chain")


def reject_large_counts(chain: Chain, caller: str, largest: float) -> None:
    """Reject data that are too large for a test."""
    for name in chain.network.observed:
        values = chain._program.cells[name].values
        if values.size and values.max() > largest:
            raise DataError(
                f"{caller}: {name} has values up to {values.max():.3g}, more than {largest:g}; "
                "give the network priors of lighter tails, e.g. p_prior=(2, 4) in zoo.pgbn"
            )


def reject_not_finite(chain: Chain) -> None:
    """Reject a node that draws NaN or ∞: its statistics would be NaN."""
    for name, array in _arrays(chain).items():
        bad = array[~np.isfinite(array)]
        if bad.size:
            raise DataError(
                f"geweke: {name} has the value {bad[0]:g} in {bad.size} of {array.size} draws from "
                "the prior; generate() must give finite numbers: is it right, and are the values "
                "of its slots possible?"
            )


def _redraw_data(chain: Chain, number: int) -> None:
    """New data given the current parameters (and, with them, the labels of a collapsed layer)."""
    for name in chain.network.observed:
        chain._redraw(name, stream_key(chain.seed, word_of("data"), word_of(name), number))


def _arrays(chain: Chain) -> dict[str, NDArray[Any]]:
    """The current array of each node."""
    program = chain._program
    return {**program.values, **{name: cells.values for name, cells in program.cells.items()}}


def _stuck(
    begun: dict[str, NDArray[Any]], copies: dict[str, NDArray[Any]], now: dict[str, NDArray[Any]]
) -> list[str]:
    """The nodes that were not redrawn: they have their first values in every replicate.

    A draw of real numbers never repeats all values. A draw of gates may, if the data leave no
    choice; the array is then at least a new one."""
    same = [name for name in now if np.array_equal(now[name], copies[name])]
    return [
        name
        for name in same
        if now[name] is begun[name] or bool((copies[name] != np.floor(copies[name])).any())
    ]


def statistics(chain: Chain) -> dict[str, NDArray[np.float64]]:
    """Averages of bounded or slowly growing functions of each node, for every replicate.

    They include products for all pairs of nodes, aligned over the dims that they share. A value v
    below 0 enters with its sign as −ln(1 + |v|), and in the logarithm with its size."""
    out: dict[str, NDArray[np.float64]] = {}
    levels: dict[str, tuple[tuple[str, ...], NDArray[np.float64]]] = {}
    program = chain._program
    for name in chain.network.nodes:
        value = program.cells[name].dense() if name in program.cells else program.values[name]
        value = value.astype(np.float64)
        flat = value.reshape(value.shape[0], -1)
        simplex = name in program.values and chain.network.nodes[name].sums_over
        squeezed = value if simplex else np.copysign(np.log1p(np.abs(value)), value)
        if not simplex:  # a vector that sums to one has a fixed mean
            out[name] = squeezed.reshape(value.shape[0], -1).mean(axis=1)
        out[f"{name}²"] = (squeezed**2).reshape(value.shape[0], -1).mean(axis=1)
        out[f"{name}/(1+{name})"] = (flat / (1 + np.abs(flat))).mean(axis=1)
        if not simplex:
            out[f"log(1e-3+{name})"] = np.log(1e-3 + np.abs(flat)).mean(axis=1)
            levels[name] = (program.storage[name], squeezed)
    for first, second in combinations(levels, 2):
        out[f"{first}·{second}"] = _together(levels[first], levels[second])
    for name in chain.network.nodes:
        if chain.network.nodes[name].sums_over and name in program.values:
            for other, level in levels.items():
                squared = program.values[name] ** 2
                out[f"{name}²·{other}"] = _together((program.storage[name], squared), level)
    return out


def tilts(chain: Chain) -> dict[str, NDArray[np.float64]]:
    """The mean of ln(1 + v) with weights from 1 to −1 along a dim, for every replicate and node.

    It detects a sampler that draws the entries in a wrong order. Averages over all entries do not,
    if the last entry loses what the first one gains."""
    out: dict[str, NDArray[np.float64]] = {}
    program = chain._program
    for name, value in program.values.items():
        squeezed = np.copysign(np.log1p(np.abs(value)), value)
        for dim in program.storage[name]:
            along = _mean_to(program.storage[name], squeezed, [dim])
            if along.shape[1] > 1:
                weights = np.linspace(1.0, -1.0, along.shape[1])
                out[f"{name} along {dim}"] = (along * weights).mean(axis=1)
    return out


def _together(
    first: tuple[tuple[str, ...], NDArray[np.float64]],
    second: tuple[tuple[str, ...], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """The mean over shared dims of the product of the means over the others."""
    shared = [dim for dim in first[0] if dim in second[0]]
    a, b = (_mean_to(dims, value, shared) for dims, value in (first, second))
    product: Any = a * b
    return np.asarray(product.reshape(product.shape[0], -1).mean(axis=1))


def _mean_to(
    dims: tuple[str, ...], value: NDArray[np.float64], keep: list[str]
) -> NDArray[np.float64]:
    axes = tuple(i + 1 for i, dim in enumerate(dims) if dim not in keep)
    left = [dim for dim in dims if dim in keep]
    order = [0, *(left.index(dim) + 1 for dim in keep)]
    return np.asarray(value.mean(axis=axes) if axes else value).transpose(order)
