"""Replicates of the data, and the log likelihood of every cell or row, for every draw.

    x_rep ~ p(x | θ^s),     log p(x_i | θ^s),     θ^s ~ p(θ | data),  s = 1 … S

PSIS-LOO (arviz_stats.loo) weights draws by the second. If one cell is omitted, the other cells of
its row still inform the row's own latent values. To omit complete rows, the latent values of the
row are integrated out:

    p(x_j | g) = ∫ p(x_j, h_j | g) dh_j,   h_j all latent values of row j, g those that rows share

by importance sampling. M sweeps of the row's own steps, started at the row's draw and with g fixed,
give M states of its counts. The downward half of a sweep from state m is a density q_m(h) that can
be sampled and evaluated, step by step; q_0 is the prior. One h_m is drawn from each, and

    p̂(x_j | g) = 1/(M+1) Σ_m p(x_j, h_m | g) / q(h_m),     q(h) = 1/(M+1) Σ_m q_m(h)

Since p(h | x, g) = E q_m(h) over the counts of the posterior, q comes close to it as M grows, and
the weights become equal. With the prior among the q_m no weight exceeds (M + 1)·p(x | h). The
estimate of p is unbiased for every M; that of log p is, by Jensen's inequality, too low on average,
by about half the squared relative error of p̂.

New rows have no draws to start at. They start at the prior, and some sweeps come first: the start
changes the quality of q, not what is estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp

from pgbn.checks import check_flag, check_integer, check_mapping, check_seed
from pgbn.engine.compile.by_cell import ByCell, row_blocks
from pgbn.engine.compile.density import log_density
from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import bind_indexes, complete_sizes, read_data
from pgbn.engine.plan import posterior_of
from pgbn.engine.rows.independent import row_indexes, row_network
from pgbn.engine.rows.infer import known_data, row_coords, seen_network
from pgbn.engine.run.bound_steps import arrange
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.generate import Replay, prior_step, to_storage
from pgbn.errors import DataError, PgbnError, did_you_mean
from pgbn.network.network import Network
from pgbn.nodes.base import Node, Observed
from pgbn.samplers.random import stream_key, word_of
from pgbn.storage.read_limits import check_bytes, gigabytes

SMALL = 2**30  # bytes of an array that is made by default


def predict(
    draws: Draws,
    name: str,
    statistic: Callable[[Any], Any] | None,
    sparse: bool | None,
    sizes: Mapping[str, int] | None,
    indexes: Mapping[str, Any] | None,
    seed: int,
    threads: int | None,
) -> Any:
    """A replicate of an observed node for every draw, generated a block of rows at a time. See
    `Draws.predict`."""
    numbers = check_mapping("indexes", indexes)
    if numbers and draws.network is not None:
        draws = replace(draws, network=draws.network.with_indexes(**numbers))
    check_flag("sparse", sparse)
    if statistic is not None and not callable(statistic):
        raise DataError(f"statistic={statistic!r}: give a function of one replicate of the data")
    replay = Replay(draws, name, "predict", sizes, threads)
    by_cell, seed = ByCell(replay.program, name), check_seed(seed)
    chains, number = replay.shape
    if sparse and len(by_cell.shape) != 2:
        raise DataError(f"predict: sparse=True is for arrays of two dims, and {name!r} has "
                        f"{len(by_cell.shape)}; give statistic=")  # fmt: skip
    _check_memory(by_cell, chains * number, statistic is None, sparse)
    results = []
    for chain, draw in np.ndindex(chains, number):
        replay.at(chain, draw, seed)
        key = stream_key(seed, word_of("predict"), word_of(name), chain, draw)
        replicate = _replicate(by_cell, replay, key, bool(sparse))
        results.append(replicate if statistic is None else np.asarray(statistic(replicate)))
    if sparse and statistic is None:
        return [results[c * number : (c + 1) * number] for c in range(chains)]
    try:
        stacked = np.stack(results)
    except ValueError:
        raise DataError("statistic: it returned arrays of unequal shapes") from None
    return stacked.reshape(chains, number, *stacked.shape[1:])


def _check_memory(by_cell: ByCell, number: int, complete: bool, sparse: bool | None) -> None:
    cells, name = 8 * prod(by_cell.shape), by_cell.node.name
    one = f"predict: a dense replicate of {name!r}, {' × '.join(map(str, by_cell.shape))}"
    if not sparse:
        check_bytes(one, cells, "give sparse=True")
    if not complete or sparse:
        return
    what = f"predict: {number} dense replicates of {name!r}"
    check_bytes(what, cells * number, "give sparse=True, a statistic=, or keep fewer draws")
    if sparse is None and cells * number > SMALL:
        raise DataError(
            f"{what} would need {gigabytes(cells * number)}; give sparse=True for a sparse matrix "
            "for each draw, statistic= for a number or array that is made of each, or sparse=False "
            "to have them all"
        )


def _replicate(by_cell: ByCell, replay: Replay, key: int, sparse: bool) -> Any:
    blocks: list[Any] = []
    for start, stop in row_blocks(by_cell.rows, by_cell.columns):
        rows = by_cell.generate(stream_key(key, start), start, stop, replay.data)
        blocks.append(sp.csr_array(rows) if sparse else rows)
    if sparse:
        return sp.vstack(blocks, format="csr")
    replicate: NDArray[Any] = np.concatenate(blocks)
    return replicate.reshape(by_cell.shape)


def cell_log_likelihood(draws: Draws, name: str, threads: int | None = None) -> NDArray[np.float64]:
    """(chain, draw, *dims): log p of every cell given the latent values of a draw.

    The cells of a multinomial vector are one observation: the dim that sums up is omitted. Cells
    with missing data have 0.
    """
    replay = Replay(draws, name, "log_likelihood", None, threads)
    data, by_cell = _data(replay), ByCell(replay.program, name)
    chains, number = replay.shape
    shape = by_cell.shape if by_cell.node.simplex is None else by_cell.shape[:-1]
    need = 8 * chains * number * prod(shape)
    what = f"log_likelihood: {chains * number} draws of {prod(shape)} cells of {name!r}"
    remedy = 'by="row", or give arviz_stats.loo_subsample the function that ' \
        "Draws.log_likelihood_function returns"  # fmt: skip
    check_bytes(what, need, remedy)
    if need > SMALL:
        raise DataError(f"{what} would need {gigabytes(need)}; {remedy}")
    out = np.empty((chains, number, prod(shape)))
    blocks = row_blocks(by_cell.rows, by_cell.columns)
    cells = [by_cell.block(start, stop, data) for start, stop in blocks]
    for chain, draw in replay:
        out[chain, draw] = np.concatenate([by_cell.log_density(each) for each in cells])
    if data.missing is not None:
        out[..., data.dense(data.missing).ravel()] = 0.0
    return out.reshape(chains, number, *shape)


def _data(replay: Replay) -> Cells:
    if replay.data is None:
        raise DataError(f"log_likelihood: these draws do not contain the data of {replay.name!r}")
    return replay.data


def log_likelihood_function(draws: Draws, name: str) -> Callable[[Any, Any], Any]:
    """``f(observed, data)`` for ``arviz_stats.loo_i`` and ``loo_subsample``: the log likelihood
    (chain, draw, …) of the cells that the coords of ``observed`` name."""
    replay = Replay(draws, name, "log_likelihood", None)
    data, by_cell = _data(replay), ByCell(replay.program, name)
    if by_cell.node.simplex is not None:
        raise DataError(
            f"log_likelihood_function: the vectors of {name!r} are the observations; "
            "Draws.log_likelihood gives an array"
        )
    axes = by_cell.node.axes
    places = {
        dim: {label: i for i, label in enumerate(draws.coords[dim])}
        for dim in axes
        if dim in draws.coords
    }

    def log_lik(observed: Any, _data: Any) -> Any:
        numbers = []
        for dim in axes:
            labels = np.atleast_1d(observed.coords[dim].values).tolist()
            known = places.get(dim)
            numbers.append([known[label] if known else int(label) for label in labels])
        index = np.array([axis.ravel() for axis in np.meshgrid(*numbers, indexing="ij")], np.int64)
        cells, order = _cells_at(by_cell, data, index)
        chains, draws_each = replay.shape
        out = np.empty((chains, draws_each, index.shape[1]))
        for chain, draw in replay:
            out[chain, draw, order] = by_cell.log_density(cells)
        kept = [len(each) for dim, each in zip(axes, numbers, strict=True) if dim in observed.dims]
        return out.reshape(chains, draws_each, *kept)

    return log_lik


def _cells_at(
    by_cell: ByCell, data: Cells, index: NDArray[np.int64]
) -> tuple[Cells, NDArray[np.int64]]:
    """Select some cells, by their numbers along each dim, in the order of rows."""
    rows = np.zeros(index.shape[1], np.int64)
    for size, each in zip(by_cell.shape[:-1], index[:-1], strict=True):
        rows = rows * size + each
    order = np.lexsort((index[-1], rows))
    rows, columns = rows[order], index[-1][order]
    numbers = data.cell_rows() * data.columns + data.indices  # ascending
    wanted = rows * data.columns + columns
    at = np.minimum(np.searchsorted(numbers, wanted), numbers.size - 1)
    found = np.where(numbers[at] == wanted, data.values[at], 0) if numbers.size else 0 * wanted
    indptr = np.searchsorted(rows, np.arange(by_cell.rows + 1))
    axes, shape = by_cell.node.axes, by_cell.shape
    return Cells(axes, shape, 1, indptr, columns.astype(np.int32), found), order


def log_joint(draws: Draws) -> NDArray[np.float64]:
    """(chain, draw): the log density of the data and all latent values together, given the fixed
    values. A fixed value counts only if one of its parents was drawn."""
    network = draws.network
    assert network is not None
    sizes = complete_sizes(network, draws.sizes, {})
    free = set(network.free)
    received = [
        name for name in network.given if free.intersection(network.graph.predecessors(name))
    ]
    said = [name for name in network.nodes if name in {*free, *draws.data, *received}]
    program = Program(network, draws.data, sizes)
    chains, number = next(iter(draws.arrays.values())).shape[:2]
    out = np.empty((chains, number))
    for chain, draw in np.ndindex(chains, number):
        for name in network.latent:
            value = np.asarray(draws.arrays[name][chain, draw])[None]
            program.values[name] = np.array(to_storage(program, name, value), np.float64)
        out[chain, draw] = sum(log_density(program, name)[0] for name in said)
    return out


def observed_array(draws: Draws, name: str) -> NDArray[Any]:
    """The data of a node as a dense array; NaN for missing cells."""
    data = draws.data[name]
    check_bytes(f"the data of {name!r} as a dense array", 8 * prod(data.shape), "omit them")
    dense = data.dense()[0]
    missing = data.missing
    return np.asarray(dense) if missing is None else np.where(data.dense(missing)[0], np.nan, dense)


SETTLE, AGAIN = 20, 5  # sweeps of new rows before the first draw of the rest, and before others
_TINY = 1e-300  # a gamma of tiny shape underflows to 0, where its density has no value
_State = list[dict[Any, NDArray[Any]]]  # values and counts of the program
_Sample = dict[str, NDArray[np.float64]]


def log_likelihood(
    draws: Draws,
    name: str,
    by: str,
    rows: str | None,
    particles: int,
    seed: int,
    threads: int | None,
    data: Mapping[str, Any] | None,
) -> NDArray[np.float64]:
    """By cell or by row; see `Draws.log_likelihood`."""
    if not isinstance(by, str) or by not in ("cell", "row"):
        raise DataError(f"by={by!r:.60} must be 'cell' or 'row'")
    if by == "row":
        return row_log_likelihood(draws, name, rows, particles, seed, threads, data)
    if data is not None:
        raise DataError(
            "log_likelihood: data= are new rows, whose own values are integrated out: give "
            "by='row'; by cell, given their draws, net.infer(data, draws, keep='draws')"
            ".to_draws().log_likelihood(...)"
        )
    return cell_log_likelihood(draws, name, threads)


def row_log_likelihood(
    draws: Draws,
    name: str,
    rows: str | None,
    particles: int,
    seed: int,
    threads: int | None,
    data: Mapping[str, Any] | None,
) -> NDArray[np.float64]:
    """(chain, draw, rows): log p̂ of all data of each row given the draws of the shared nodes."""
    network = _network(draws, name, data is not None)
    plate = network.nodes[name].axes[0] if rows is None and network.nodes[name].axes else rows
    if not isinstance(plate, str) or plate not in network.nodes[name].axes:
        raise DataError(f"rows={rows!r:.60}: {name!r} has the dims {network.nodes[name].axes}")
    _check_independent(network, plate)
    check_integer("particles", particles, 1)
    cells = dict(draws.data)
    if data is not None:
        given = set(check_mapping("data", data))
        network, data = bind_indexes(network, data)
        of_rows = row_network(network, plate)
        known = known_data(network, of_rows, data)
        network = seen_network(network, of_rows, known, plate)
        cells = read_data(network, known)
        first = next(iter(cells.values()))
        count = first.shape[first.dims.index(plate)]
        row_indexes(network, plate, count, given)  # categories of the old rows are rejected
        row_coords(network, known, draws, plate)
    elif any(each not in cells for each in network.observed):
        network = row_network(network, plate, cells)
    needed = network.given if data is not None else network.latent
    missing = [each for each in needed if each not in draws.arrays]
    if missing:
        raise DataError(
            f"log_likelihood: by='row' needs draws of {', '.join(needed)}, and "
            f"{', '.join(missing)} were not kept; sample with "
            f"keep=[{', '.join(map(repr, [*draws.arrays, *missing]))}]"
        )
    chains, number = next(iter(draws.arrays.values())).shape[:2]
    local = _Local(network, cells, draws, plate, data is not None, particles, check_seed(seed),
                   threads)  # fmt: skip
    out = [[local.estimate(chain, draw) for draw in range(number)] for chain in range(chains)]
    return np.array(out)


def _network(draws: Draws, name: str, new: bool) -> Network:
    network: Network | None = getattr(draws, "network", None)
    if network is None:
        raise PgbnError(
            "log_likelihood: these draws do not contain their network; take those that "
            "Network.sample returned"
        )
    known = isinstance(name, str) and name in network.observed
    if not known or not (new or name in draws.data):
        near = did_you_mean(name, network.observed)
        raise DataError(f"log_likelihood: {name!r:.60} is not an observed node.{near}")
    return network


def _check_independent(network: Network, plate: str) -> None:
    """Reject a plate whose rows depend on each other, given all nodes without rows."""
    for step in network.schedule:
        node = network.nodes[step.node]
        in_time = network.wiring.connections.time_dim(node.name) is not None
        how = "given pseudo-counts" if node.name in network.wiring.completed else ""
        if not step.upward and network.wiring.draws[node.name].kernel:
            how = "by a kernel"
        if plate in node.axes and (in_time or how or not step.local(plate)):
            raise DataError(
                f"log_likelihood: the rows along {plate!r} are not independent given the rest: "
                f"the step {step.name} is not drawn row by row; use by='cell'"
                if not how
                else f"log_likelihood: {node.name} is drawn {how}, so that the density of its "
                "draws is not available; use by='cell'"
            )


class _Local:
    """The steps of the rows of one plate, with everything else fixed at a draw. ``new`` rows
    continue from one draw to the next."""

    def __init__(
        self,
        network: Network,
        data: Mapping[str, Cells],
        draws: Draws,
        plate: str,
        new: bool,
        particles: int,
        seed: int,
        threads: int | None,
    ) -> None:
        self.new, self.settle = new, SETTLE
        self.network, self.plate, self.particles = network, plate, particles
        drawn = network.given if new else network.latent
        self.values = {name: draws.arrays[name] for name in drawn}
        held, first = ({name: self.values[name][0, 0] for name in names if name in self.values}
                       for names in (network.given, network.free))  # fmt: skip
        self.program: Program = Chain._of_data(
            network, data, seed, 0, first, "composed", threads, None, held or None
        )._program
        turns, later = arrange(self.program, network.schedule, seed, 0)
        own = [turn for turn in (*turns, *later.values()) if self._has_plate(turn.step.node)]
        self.upward = [turn for turn in own if turn.step.upward]
        self.downward = [turn for turn in own if not turn.step.upward]
        self.nodes = [network.nodes[turn.step.node] for turn in self.downward]
        self.data = [name for name in network.observed if self._has_plate(name)]
        self.posteriors = {node.name: posterior_of(self.program, node) for node in self.nodes}
        self.priors = {name: prior_step(self.program, name) for name in network.latent
                       if self._has_plate(name)}  # fmt: skip
        self.seed, self.sweeps = seed, 0

    def _has_plate(self, name: str) -> bool:
        return self.plate in self.network.nodes[name].axes

    def estimate(self, chain: int, draw: int) -> NDArray[np.float64]:
        """log p̂ of every row at one draw."""
        program = self.program
        for name, stack in self.values.items():
            value = np.asarray(stack[chain, draw])[None]
            program.values[name] = np.array(to_storage(program, name, value), np.float64)
        if not self.nodes:  # nothing to integrate out
            return np.asarray(self._joint({})[1])
        if self.new:
            for _ in range(self.settle):
                self._sweep()
            self.settle = AGAIN
        states = [self._sweep() for _ in range(self.particles)]
        samples = [self._from_prior(), *(self._sample(state) for state in states)]
        pairs = [self._joint(sample) for sample in samples]
        prior, data = np.array([p for p, _ in pairs]), np.array([x for _, x in pairs])
        each = [[self._density(state, sample) for state in states] for sample in samples]
        proposal = logsumexp(np.concatenate([prior[:, None], np.array(each)], axis=1), axis=1)
        return np.asarray(logsumexp(prior + data - proposal, axis=0))

    def _run(self, turns: list[Any]) -> None:
        self.sweeps += 1
        for turn in turns:
            turn(self.sweeps)

    def _tables(self) -> tuple[MutableMapping[Any, NDArray[Any]], ...]:
        program = self.program
        return program.values, program.counts, program.drawn, program.latent_counts

    def _sweep(self) -> _State:
        """Draw the counts of the rows, keep the state, and draw the values of the rows."""
        self._run(self.upward)
        state = [{key: np.array(v) for key, v in table.items()} for table in self._tables()]
        self._run(self.downward)
        return state

    def _restore(self, state: _State) -> None:
        for table, kept in zip(self._tables(), state, strict=True):
            table.update(kept)

    def _from_prior(self) -> _Sample:
        """h ~ q_0, parents first."""
        self.sweeps += 1
        for name, draw in self.priors.items():
            key = stream_key(self.seed, word_of("prior"), word_of(name), self.sweeps)
            self.program.values[name] = np.ascontiguousarray(draw(key), np.float64)
        return {node.name: self.program.values[node.name] for node in self.nodes}

    def _sample(self, state: _State) -> _Sample:
        """h ~ q_m, drawn anew: the components do not depend on it."""
        self._restore(state)
        self._run(self.downward)
        return {node.name: self.program.values[node.name] for node in self.nodes}

    def _density(self, state: _State, sample: _Sample) -> NDArray[np.float64]:
        """log q_m(h) of every row: each step given the steps before it."""
        self._restore(state)
        total: Any = 0.0
        for node in self.nodes:
            updated = self.posteriors[node.name]()
            total = total + self._rows(node, sample[node.name], updated)
            self.program.values[node.name] = sample[node.name]
        return np.asarray(total)

    def _joint(self, sample: _Sample) -> tuple[Any, Any]:
        """log p(h | g) and log p(x | h, g) of every row."""
        self.program.values.update(sample)
        prior = sum(self._rows(node, sample[node.name], {}) for node in self.nodes)
        data = sum(log_density(self.program, name, self.plate)[0] for name in self.data)
        return prior, data

    def _rows(
        self, node: Node, value: NDArray[np.float64], updated: Mapping[str, Any]
    ) -> NDArray[np.float64]:
        """The log density of a node by row, with some of its slots replaced."""
        assert not isinstance(node, Observed)
        program, name = self.program, node.name
        slots = {slot: updated[slot] if slot in updated else program.slot(name, slot).get()
                 for slot in node.slots()}  # fmt: skip
        if node.sums_over:
            slots["axis"] = program.stream(name, 0).simplex
        shape = program.shape4[name]
        value = value.reshape(shape)
        if not node.has_zeros:
            value = np.maximum(value, _TINY)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = np.broadcast_to(node.log_density(value, **slots), shape)
        for slot in node.zero_with:  # a gamma of shape 0 is 0, with probability 1
            there = np.where(value <= _TINY, 0.0, -np.inf)
            density = np.where(np.asarray(slots[slot]) == 0.0, there, density)
        stored = program.storage[name]
        axis = len(shape) - len(stored) + stored.index(self.plate)
        return np.asarray(density.sum(axis=tuple(i for i in range(len(shape)) if i != axis)))
