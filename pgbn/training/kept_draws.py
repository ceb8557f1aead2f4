"""What training keeps while it runs: traces, means, and draws of the global nodes.

    p(new row | data) = ∫ p(new row | Φ, r) p(Φ, r | data) ≈ 1/S Σ_s p(new row | Φ^s, r^s)

A single Φ, even the posterior mean, ignores the uncertainty of the model; the average over draws
predicts better (docs/howto/criticism.md has figures).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pgbn.engine.run.chain import Chain
from pgbn.engine.run.generate import to_axes
from pgbn.engine.steps.gamma_layers import draws_as
from pgbn.network.layers import Units
from pgbn.network.network import Network
from pgbn.nodes import Dirichlet
from pgbn.storage.read_limits import check_bytes
from pgbn.training.trained import TrainedNetwork
from pgbn.zoo import layers


def is_kept(number: int, total: int, draws: int) -> bool:
    """Whether the draw of sweep ``number`` of ``total`` is one of ``draws``, evenly spread and with
    the last sweep among them."""
    if not draws:
        return False
    apart = total // draws
    return (total - number) % apart == 0 and (total - number) // apart < draws


def stacked(
    draws: Sequence[Mapping[str, NDArray[np.float64]]],
) -> dict[str, NDArray[np.float64]]:
    """Draws of several nodes as one array for each node, with the draw as the first axis."""
    return {name: np.stack([draw[name] for draw in draws]) for name in (draws[0] if draws else ())}


def each_draw(model: TrainedNetwork) -> tuple[TrainedNetwork, ...]:
    """The network at each of its kept draws, or the network itself if it kept none. These networks
    have no state, since a state belongs to none of the draws."""
    if not model.draws:
        return (model,)
    at = {name: model.draws[name] for name in model.means if name in model.draws}
    return tuple(
        replace(
            model,
            means={**model.means, **{name: stack[s] for name, stack in at.items()}},
            draws={},
            state={},
        )
        for s in range(len(model.draws[layers.TOP_SHAPE]))
    )


def given_stacks(model: TrainedNetwork) -> dict[str, NDArray[np.float64]]:
    """Φ, r and the noise for new rows, each with the draw as the first axis: the kept draws, or
    else the single values."""
    return {name: model.draws.get(name, value[None]) for name, value in model.means.items()}


def check_draws_fit(
    network: Network, names: Sequence[str], sizes: Mapping[str, int], draws: int
) -> None:
    """Reject more draws of some nodes than fit into memory."""
    each = sum(prod(sizes.get(dim, 1) for dim in network.nodes[name].axes) for name in names)
    check_bytes(f"keep_draws={draws}", 8 * each * draws, "keep fewer draws, or make max_width less")


# ---- traces and means -----------------------------------------------------------------------

_COLUMNS = ("sweep", "log_likelihood", "width")
BEFORE_MERGING = "before_merging"  # 1 for rows of a trace that are of a wider network, else 0


def unit_counts(chain: Chain, units: Units) -> NDArray[np.int64]:
    """The counts of each unit of a layer: the largest that a node with these units received. Scores
    and loadings receive the counts of the layer below; nodes above them receive tables, which are
    fewer. In a first layer with a sampler, the loadings are skipped: this large array receives the
    same counts as the scores."""
    free, total = chain.network.free, np.zeros(chain.network.sizes[units.dim], np.int64)
    patterns = [sampler.pattern for sampler in chain._samplers]
    spared = {each.loadings for each in patterns if each.scores in free}
    for name, received in chain._counts_of([each for each in free if each not in spared]).items():
        axes = chain.network[name].axes
        for dim in units.dims:
            if dim in axes:
                others = tuple(axis for axis, each in enumerate(axes) if each != dim)
                total = np.maximum(total, received.sum(axis=others))
    return total


@dataclass
class Trace:
    """The log likelihood and the number of active factors of the top layer, every few sweeps. The
    first ``before_merging`` rows are from before topics were merged."""

    every: int
    sweep: int = 0
    rows: list[tuple[float, float, float]] = field(default_factory=list)
    before_merging: int = 0

    @classmethod
    def after(cls, every: int, old: Mapping[str, ArrayLike], sweep: int) -> Trace:
        """A trace that continues ``old``, ``sweep`` sweeps after its start."""
        columns = [np.asarray(old[name], np.float64).tolist() for name in _COLUMNS if name in old]
        rows = list(zip(*columns, strict=False)) if len(columns) == len(_COLUMNS) else []
        wider = int(np.count_nonzero(old.get(BEFORE_MERGING, ()))) if rows else 0
        return cls(every, max(sweep, int(rows[-1][0]) if rows else 0), rows, wider)

    def note(self, chain: Chain, units: Units) -> None:
        self.sweep += 1
        if self.every and self.sweep % self.every == 0:
            width = int((unit_counts(chain, units) > 0).sum())
            self.rows.append((self.sweep, chain.log_likelihood(), width))

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        table = np.array(self.rows).reshape(-1, 3)
        out = {name: table[:, i] for i, name in enumerate(_COLUMNS)}
        if self.before_merging:
            out[BEFORE_MERGING] = (np.arange(len(table)) < self.before_merging).astype(np.float64)
        return out


@dataclass
class Means:
    """Sums over the last sweeps, and the draws that are kept. For proportions φ ~ Dir(η) the sum is
    of E φ given the counts; for other nodes it is of their values."""

    sums: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    draws: list[dict[str, NDArray[np.float64]]] = field(default_factory=list)

    def add(self, chain: Chain, names: Collection[str]) -> None:
        counts = chain.counts
        for name in names:
            mean = _mean_of(chain, name, counts)
            self.sums[name] = self.sums[name] + mean if name in self.sums else mean

    def over(self, samples: int) -> dict[str, NDArray[np.float64]]:
        """The means themselves."""
        return {name: np.array(total / samples, order="C") for name, total in self.sums.items()}

    def keep(self, chain: Chain, names: Collection[str]) -> None:
        """Copies of the values that some nodes have now."""
        self.draws.append({n: np.array(value) for n, value in chain._select(names).items()})


def _mean_of(
    chain: Chain, name: str, counts: Mapping[str, NDArray[np.int64]]
) -> NDArray[np.float64]:
    """E φ_k = (η + x_vk) / Σ_v (η + x_vk); the current value for any other node."""
    node, program = chain.network[name], chain._program
    known = isinstance(node, Dirichlet) and draws_as(program.wiring, node, Dirichlet)
    if name not in counts or not known:
        return np.array(chain._select([name])[name])
    eta = np.broadcast_to(program.slot(name, "concentration").get(), program.shape4[name])
    shape = counts[name] + to_axes(program, name, eta.reshape(program.shape[name]))[0]
    return np.asarray(shape / shape.sum(axis=node.axes.index(node.simplex or ""), keepdims=True))
