"""Chain: one Markov chain of a network on data, and how a signal stops it after a sweep.

The only loop is `Chain.sweep`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from threading import Lock
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, check_unmasked, in_order, numbers, validated
from pgbn.engine.compile.density import log_density
from pgbn.engine.compile.program import Program, check_possible
from pgbn.engine.data.cells import Cells, cells_of
from pgbn.engine.data.reading import (
    bind_indexes,
    check_fits,
    check_network,
    complete_sizes,
    read_corpora,
    read_data,
)
from pgbn.engine.first_layer.choice import choose, samplers_of
from pgbn.engine.first_layer.samplers import FirstLayer
from pgbn.engine.run.bound_steps import TraceEvent, arrange, begin_counts, joined, trace_turns
from pgbn.engine.run.generate import (
    Given,
    generate_into,
    prior_step,
    to_axes,
    to_storage,
    with_values,
)
from pgbn.engine.run.shown import Shown, Summary
from pgbn.engine.run.state import read_tables, restore_samplers, take_state
from pgbn.engine.shards.driver import executor_behind, shards_of
from pgbn.errors import DataError, did_you_mean, missing_attribute
from pgbn.network.schedule import Schedule
from pgbn.nodes.base import Latent, Observed
from pgbn.nodes.rules import find_link
from pgbn.samplers.executor import Executor, executor_of
from pgbn.samplers.random import ContentKeyed, stream_key, word_of
from pgbn.storage import folders

if TYPE_CHECKING:
    from pgbn.explain import Explanation
    from pgbn.network.network import Network


START_SWEEPS = 100  # of expectations, before a chain that starts from an estimate


def begin_values(program: Program, given: Given, key: int, start: Any) -> None:
    """Set given nodes to the first of their values, and the others to the values in ``start``, or
    else to draws from the prior."""
    given.put(program, 0)
    check_possible(program)
    first = read_start(program, start)
    for name in program.network.free:
        value = first.get(name)
        if value is None:
            draw = prior_step(program, name)
            value = draw(stream_key(key, word_of("initial"), word_of(name)))
        program.values[name] = _stored(program, name, value, begun=name in first)
    given.check(program)


def _stored(program: Program, name: str, value: NDArray[Any], begun: bool) -> NDArray[Any]:
    """Write a value to the program, a block of rows at a time. If the chain has not ``begun``, it
    is the value that the node begins from."""
    executor, node = program.executor_for(program.storage[name]), program.network.nodes[name]
    assert isinstance(node, Latent)
    if executor.memory is None:
        return np.array(value, np.float64) if begun else np.ascontiguousarray(node.begin(value))
    kept = executor.zeros(value.shape, np.float64)
    for start, stop in executor.cut(value.shape[1], value, kept):
        part = value[:, start:stop]
        kept[:, start:stop] = part if begun else node.begin(part)
        executor.release()
    return kept


def read_start(program: Program, start: Any) -> dict[str, NDArray[np.float64]]:
    """The first values of some latent nodes, checked, in storage order: those of a dict, or the
    last of some draws. A point estimate that is no possible value, such as half a switch, is left
    out."""
    if hasattr(start, "values") and hasattr(start, "dims"):  # Draws, which are made of chains
        start = _possible_values(program.network, start)
    if not isinstance(start, Mapping):
        raise DataError(
            f"start={start!r:.60}: give a dict from names of latent nodes to arrays, draws, or "
            "'estimate'"
        )
    return {name: _read_first(program, name, value) for name, value in start.items()}


def _possible_values(network: Network, draws: Any) -> dict[str, Any]:
    """The last draw of the free nodes, where it is a possible value."""
    last = {name: draws[name][-1, -1] for name in draws if name in network.free}
    return {name: value for name, value in last.items()
            if not cast(Latent, network.nodes[name]).refuses(value)}  # fmt: skip


def _read_first(program: Program, name: str, value: Any) -> NDArray[np.float64]:
    """One of them."""
    latent = program.network.free
    if name not in latent:
        known = f"start: {name!r} is given; omit it from start"
        unknown = f"start: {name!r} is not a latent node.{did_you_mean(name, latent)}"
        raise DataError(known if name in program.network.given else unknown)
    node = program.network.nodes[name]
    assert isinstance(node, Latent)
    check_unmasked(f"start: {name}", value)
    value = in_order(f"start: {name}", node.axes, value)
    array = numbers(f"start: {name}", value).astype(np.float64)
    if array.ndim != len(node.axes):
        raise DataError(f"start: {name} has shape {array.shape}, but its dims are {node.axes}")
    complaint = node.refuses(array)
    if complaint:
        raise DataError(f"start: {name} {complaint}")
    return to_storage(program, name, array[None])


def estimated(
    network: Network, data: Mapping[str, Any], start: Any, seed: int, number: int,
    threads: int | None, given: Any,
) -> Any:  # fmt: skip
    """``start`` or, for "estimate", the point estimate of a chain: each from its own seed."""
    if not isinstance(start, str) or start != "estimate":
        return {} if start is None else start
    own = stream_key(seed, number, word_of("estimate")) >> 1  # below 2^63, as seeds are
    return network.estimate(data, sweeps=START_SWEEPS, seed=own, given=given or None,
                            threads=threads)  # fmt: skip


def check_imputed(program: Program, name: str, caller: str = "imputed") -> None:
    """Reject a node that is not observed, has no missing cells, or whose cells are not imputed.

    A masked cell of x ~ Pois(λ) is unknown. Every sweep draws it, x | λ ~ Pois(λ), together with
    the latent counts of the other cells (`composed`); the rest of the sweep treats it as data.
    """
    network = program.network
    if not isinstance(name, str) or name not in network.observed:
        raise DataError(
            f"{caller}: {name!r} is not an observed node.{did_you_mean(name, network.observed)}"
        )
    if program.cells[name].missing is None:
        raise DataError(
            f"{caller}: the data of {name!r} have no missing cells; give a numpy.ma.masked_array"
        )
    node = network.nodes[name]
    link = find_link(node)
    assert link is not None  # `read_data` rejects masked cells without one
    if link.counts is not None:
        raise DataError(
            f"{caller}: {name!r} is a {type(node).__name__}: for its missing cells a sweep draws "
            "the latent counts behind the data, not the data; draw those from the values of a "
            "chain: network.generate(given=chain.values)"
        )
    if not any((name, slot) in network.wiring.rules for slot in node.slots()):
        raise DataError(
            f"{caller}: the parameters of {name!r} are numbers, so that no sweep draws its missing "
            "cells; Network.generate() does"
        )


class Chain(Shown):
    """One Markov chain of a network on data: its values, and how to advance it.

    `Network.chain` makes it. Invariant: the state after any number of sweeps never depends on
    ``threads`` or ``executor``. It depends only on the network, the data, the initial and given
    values, the seed and the chain's number.

    Attributes
    ----------
    network : Network
        The network.
    values : dict
        The current value of each latent node, by name.
    counts : dict
        The current counts that each latent node receives, by name.
    sweeps : int
        The number of sweeps so far.
    seed, number : int
        The seed, and the chain's number among the chains of this seed.
    sampler : str
        The sampler of the first layer.

    Examples
    --------
    >>> import pgbn as pg
    >>> chain = pg.zoo.pfa(2).chain({"x": [[2, 0, 1], [0, 3, 1]]}, seed=1)
    >>> chain.sweep(5).values["theta1"].shape
    (2, 2)
    >>> chain
    Chain 0: 5 sweeps
      phi1[topic1, term] (2, 3)
      gamma0[] ()
      c0[] ()
      r[topic1] (2,)
      p2[doc] (2,)
      theta1[doc, topic1] (2, 2)
      x[doc, term] (2, 3)
      settings: seed 1, sampler collapsed
    """

    if not TYPE_CHECKING:  # it would hide unknown attributes from type checkers

        def __getattr__(self, name: str) -> Any:
            """No attribute: an error that says what to write instead."""
            words = ("sample", "run", "step", "draw", "advance", "fit")
            raise missing_attribute(self, name, dict.fromkeys(words, "chain.sweep(n)"))

    def __init__(
        self, program: Program, given: Given, seed: int, number: int = 0, sampler: str = "auto"
    ) -> None:
        """A chain from the data and the first values that a program has: see `of_data`, `of_rows`
        and `replicated`."""
        self._program, self.network, self._given = program, program.network, given
        self.seed, self.number, self.sweeps, self._number = seed, number, 0, 0
        self._lock = Lock()
        self.sampler, self._chosen = choose(program, sampler)
        program.kernels = sampler != "composed"
        program.first_layers = samplers_of(program, self.sampler)
        self._follow(self._chosen)
        self._pending: set[str] = set()
        self._redraws: dict[str, Callable[[int], NDArray[Any]]] = {}
        for index, first_layer in enumerate(self._samplers):
            own = (index,) if index else ()
            first_layer.start(stream_key(self.seed, self.number, word_of("labels"), *own))

    @classmethod
    def _of_data(
        cls,
        network: Network,
        data: Mapping[str, Any],
        seed: int = 0,
        chain: int = 0,
        start: Any = None,
        sampler: str = "auto",
        threads: int | None = None,
        executor: Executor | None = None,
        given: Any = None,
    ) -> Chain:
        """See `pgbn.Network.chain`."""
        network, data = bind_indexes(network, data)
        network, values = with_values(network, given, data=data, start=start)
        fixed = Given(network, values)
        worker = executor_of(threads, executor)
        cells = read_data(network, read_corpora(network, data, worker))
        shapes = {name: cell.shape for name, cell in cells.items()}
        sizes = complete_sizes(network, {}, shapes | fixed.shapes)
        check_fits(network, sizes, rows_in=worker.memory)
        program = Program(network, cells, sizes, 1, worker.local if worker.spreads_rows else worker)
        program.shards = shards_of(program, worker)
        first = estimated(network, data, start, seed, chain, threads, values)
        begin_values(program, fixed, stream_key(seed, chain), first)
        return cls(program, fixed, seed, chain, sampler)

    @classmethod
    def _of_rows(
        cls,
        network: Network,
        cells: Mapping[str, Cells],
        given: Given,
        hashes: NDArray[np.uint64],
        seed: int = 0,
        sampler: str = "blocked",
        executor: Executor | None = None,
        indexes: Mapping[str, NDArray[np.int64]] | None = None,
    ) -> Chain:
        """One chain for each row of a plate, as replicates that share the given values. Their
        streams are keyed by ``hashes`` of their data, see `pgbn.engine.rows`. ``indexes`` are the
        numbers of their categories, (rows, *dims)."""
        shapes: dict[str, tuple[int, ...]] = {name: cell.shape for name, cell in cells.items()}
        sizes = complete_sizes(network, {}, shapes | given.shapes)
        keyed = ContentKeyed(executor_of(None, executor), hashes)
        program = Program(network, cells, sizes, hashes.size, keyed, network.given, indexes)
        begin_values(program, given, stream_key(seed, 0), {})
        return cls(program, given, seed, 0, sampler)

    @classmethod
    def _replicated(
        cls,
        network: Network,
        sizes: Mapping[str, int],
        replicates: int,
        seed: int = 0,
        sampler: str = "blocked",
        threads: int | None = None,
        executor: Executor | None = None,
        given: Any = None,
        begin: Mapping[str, NDArray[Any]] | None = None,
    ) -> Chain:
        """Many independent chains as one leading dim of every node, each on data of its own, at an
        exact draw of parameters and data, or at the values ``begin``. A given node of the network
        has the value in ``given``, the same for all, or else a draw of its own."""
        network, values = with_values(check_network(network), given, partly=True)
        fixed = Given(network, values)
        every = complete_sizes(network, sizes, fixed.shapes)
        check_fits(network, every, replicates, data=True)
        program = Program(network, {}, every, replicates, executor_of(threads, executor))
        fixed.check_replicated(network)
        fixed.put(program, 0)
        generate_into(program, seed, {**(begin or {}), **{n: program.values[n] for n in values}})
        return cls(program, fixed, seed, 0, sampler)

    def _redraw(self, name: str, key: int) -> None:
        """Replace the data of an observed node by new ones, given the current values."""
        node = self.network[name]
        assert isinstance(node, Observed)
        self._refresh()
        if name not in self._redraws:
            self._redraws[name] = prior_step(self._program, name)
        program, value = self._program, self._redraws[name](key)
        program.cells[name] = cells_of(node, value, program.replicates)
        if name in program.first_layers:
            program.first_layers[name].start(stream_key(key, 1))

    @property
    def _samplers(self) -> tuple[FirstLayer, ...]:
        """The samplers of the first layer, one for each observed node that has one."""
        return tuple(self._program.first_layers.values())

    def _follow(self, schedule: Schedule) -> None:
        """Take the steps in this order. It is not checked: a wrong order samples another law."""
        self.schedule = schedule
        self._turns, self._later = arrange(self._program, schedule, self.seed, self.number)
        if self._program.shards is not None:
            self._program.shards.follow(tuple(schedule), self.seed, self.number)
        begin_counts(self._turns, self.sweeps)

    @property
    def _order(self) -> list[str] | None:
        """The names of the steps, if they are in another order than the chosen one."""
        return None if self.schedule is self._chosen else self.schedule.names

    def _follow_names(self, order: Sequence[str]) -> None:
        """Take the chosen steps in the order of these names, as another chain did."""
        steps = {step.name: step for step in self._chosen}
        self._follow(Schedule([steps[name] for name in order], self._chosen.given))

    @property
    def _first_layer(self) -> FirstLayer | None:
        """The first of the `samplers`, in most networks the only one; or None."""
        return next(iter(self._samplers), None)

    def sweep(self, n: int = 1) -> Chain:
        """Run sweeps.

        Ctrl-C stops at the end of a sweep, and the chain can continue from there. A stop within a
        sweep would silently change the chain.

        Parameters
        ----------
        n
            The number of sweeps.

        Returns
        -------
        Chain
            This chain.

        Examples
        --------
        >>> import pgbn as pg
        >>> chain = pg.zoo.pfa(2).chain({"x": [[2, 0, 1], [0, 3, 1]]})
        >>> chain.sweep(5).sweep().sweeps
        6
        """
        turns, shards = joined(self._turns), self._program.shards
        with stop_gently(signal.SIGINT) as stop, self._alone():
            for _ in range(check_integer("sweep: n", n, 0)):
                self.sweeps += 1
                self._take_given()
                for turn in turns:
                    turn(self.sweeps)
                if shards is not None:
                    shards.swept()
                self._pending = set(self._later)
                if stop.requested:
                    break
        if stop.requested:  # at any time, also after the last sweep
            raise KeyboardInterrupt(f"stopped after sweep {self.sweeps} of the chain")
        return self

    def trace(self) -> Iterator[TraceEvent]:
        """Run one sweep, step by step: what each step reads, draws and leaves stale.

        The chain is bit-identical to that after `sweep`, also if the loop is left early.

        Yields
        ------
        TraceEvent
            One for each step.

        Examples
        --------
        >>> import pgbn as pg
        >>> chain = pg.zoo.pfa(2).chain({"x": [[2, 0, 1], [0, 3, 1]]}, sampler="blocked")
        >>> [event.step.name for event in chain.trace()][:2]
        ['counts(x)', 'counts(theta1)']
        """
        with self._alone():
            self.sweeps += 1
            self._take_given()
            try:
                yield from trace_turns(self._program, self._turns, self.sweeps)
            finally:
                self._pending = set(self._later)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """A context in which no other thread advances, replaces or copies the chain. Two threads
        that sweep it would draw into the same arrays; only wrong sums of counts would reveal it."""
        if not self._lock.acquire(blocking=False):
            raise DataError(
                "this chain is in use: another thread advances or copies it, or a trace of it has "
                "not ended; wait, close the trace, or give each thread a chain of its own "
                "(copy.copy(chain))"
            )
        try:
            yield
        finally:
            self._lock.release()

    def _take_given(self) -> None:
        """Set the given nodes to their values in this sweep, if they change from sweep to sweep."""
        number = self._given.number(self.sweeps)
        if number != self._number:
            self._given.put(self._program, number)
            self._number = number
            for index, sampler in enumerate(self._samplers):
                if sampler.is_given:
                    own = (self.sweeps, index) if index else (self.sweeps,)
                    key = stream_key(self.seed, self.number, word_of("labels"), *own)
                    sampler.loadings_changed(key)

    def _refresh(self, names: Collection[str] | None = None) -> None:
        """Draw the nodes that no step reads (or those among ``names``), so that their values
        belong to this sweep. Their streams are their own: looking does not change the chain."""
        wanted = self._pending if names is None else self._pending.intersection(names)
        for name in [name for name in self._later if name in wanted]:
            self._later[name](self.sweeps)
            self._pending.discard(name)
        for sampler in self._samplers:
            if names is None or sampler.pattern.loadings in names:
                sampler.show()

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of all arrays that the next sweep reads, by name.

        They are what the chain is besides its network, data, seed and number. `restore` continues
        from there, bit-identically.

        Examples
        --------
        >>> import pgbn as pg
        >>> net, data = pg.zoo.pfa(2), {"x": [[2, 0, 1], [0, 3, 1]]}
        >>> chain = net.chain(data).sweep(5)
        >>> other = net.chain(data).restore(chain.state(), chain.sweeps)
        >>> bool((other.sweep().values["r"] == chain.sweep().values["r"]).all())
        True
        """
        with self._alone():
            return take_state(self._program, self._pending)

    def restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> Chain:
        """Put a chain of the same network, data, seed and number where `state` was taken.

        Parameters
        ----------
        state
            The arrays that `state` returned.
        sweeps
            The sweeps that the chain had made then.

        Returns
        -------
        Chain
            This chain; see `state` for an example.

        Raises
        ------
        DataError
            If the arrays do not fit this chain. It is then as it was.

        Examples
        --------
        >>> import pgbn as pg
        >>> chain = pg.zoo.pfa(2).chain({"x": [[2, 0, 1], [0, 3, 1]]}).sweep(5)
        >>> state = chain.state()
        >>> chain.sweep(3).restore(state, 5).sweeps
        5
        """
        with self._alone():
            self._restore(state, sweeps)
        return self

    def _restore(self, state: Mapping[str, NDArray[Any]], sweeps: int) -> None:
        program, tables = self._program, read_tables(self._program, state)
        for name in self.network.free:
            if name not in tables["values"] and name not in self._later:
                raise DataError(f"restore: the state has no value of {name!r}")
        self.sweeps = check_integer("restore: sweeps", sweeps, 0)
        self._take_given()
        program.values.update(tables["values"])
        program.counts.update(tables["counts"])
        program.drawn.update(tables["drawn"])
        program.latent_counts.update(tables["latent_counts"])
        self._pending = {name for name in self._later if name not in tables["values"]}
        restore_samplers(program, tables["sampler"])

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made from the state. Steps are functions on the arrays of this
        chain itself, and a copy of its attributes would draw into them."""
        if (replicates := self._program.replicates) != 1:
            raise DataError(
                f"a chain of {replicates} replicates cannot be copied or pickled; make another one "
                "with the same arguments and sweeps"
            )
        order = self._order
        arguments = (self.network, dict(self._program.cells), self.seed, self.number, None,
                     sampler_name(self), None, executor_behind(self._program),
                     self._given.stacks or None)  # fmt: skip
        with self._alone():
            return _rebuilt, (
                arguments,
                order,
                take_state(self._program, self._pending),
                self.sweeps,
            )

    def __deepcopy__(self, memo: Any) -> Chain:
        return copy(self)  # its arrays are new; network and data, which never change, are shared

    @property
    def values(self) -> dict[str, NDArray[np.float64]]:
        """The value of every latent node, by name, with its dims in order: a dict of arrays that
        cannot be written to."""
        return self._select(self.network.latent)

    def _select(self, names: Collection[str]) -> dict[str, NDArray[np.float64]]:
        """The values of some latent nodes only; nodes drawn on demand are drawn if asked for."""
        self._refresh(names)
        out = {}
        for name in names:  # views through which nobody can change the chain
            value = to_axes(self._program, name, self._program.values[name])[0]
            out[name] = np.asarray(value).view()  # a node without dims gives a plain number
            out[name].flags.writeable = False
        return out

    def imputed(self, name: str) -> NDArray[np.int64]:
        """The data of an observed node, with its missing (masked) cells as the last sweep drew
        them from their posterior.

        Parameters
        ----------
        name
            An observed node whose data have missing cells.

        Returns
        -------
        numpy.ndarray
            Counts of the shape of the data.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn as pg
        >>> X = np.ma.masked_array([[2, 0, 1], [0, 3, 1]], mask=[[0, 0, 1], [0, 0, 0]])
        >>> chain = pg.zoo.pfa(2).chain({"x": X}).sweep(5)
        >>> chain.imputed("x")[1]
        array([0, 3, 1])
        """
        check_imputed(self._program, name)
        counts = self._program.latent_counts.get(name)
        if counts is None:
            raise DataError(f"imputed: {name!r} is imputed by sweeps: call chain.sweep() first")
        return np.asarray(self._program.cells[name].dense(counts)[0], np.int64)

    @property
    def counts(self) -> dict[str, NDArray[np.int64]]:
        """The integer counts that every latent node received in the last sweep, by name."""
        return self._counts_of(self.network.free)

    def _counts_of(self, names: Collection[str]) -> dict[str, NDArray[np.int64]]:
        """The same for some nodes: those of the topics of a first layer are a large array."""
        program, out = self._program, {}
        for sampler in self._samplers:
            if sampler.pattern.loadings in names:
                sampler.show()
        for name in names:
            parts = [program.counts[pair] for pair in program.counts if pair[1] == name]
            if parts:
                out[name] = to_axes(program, name, np.asarray(sum(parts)))[0]
        return out

    @validated
    def explain(self, format: str = "text", brief: bool = False) -> Explanation:
        """The derivation of this very sampler.

        The first layer is explained as this chain draws it, and missing cells as they are imputed.

        Parameters
        ----------
        format, brief
            As in `Network.explain`.

        Examples
        --------
        >>> import pgbn as pg
        >>> chain = pg.zoo.pfa(2).chain({"x": [[2, 0, 1], [0, 3, 1]]})
        >>> "theta1" in str(chain.explain(brief=True))
        True
        """
        from pgbn.explain import explain_chain

        return explain_chain(self, format, brief)

    @validated
    def append(self, data: Mapping[str, Any], rows: str | None = None, sweeps: int = 50) -> Chain:
        """A chain on the rows of this one and, after them, new ones, which continues from here.

        Old values stay. Those of the new rows are drawn given the values that all rows share, by
        sweeps over the new rows alone. From then on each sweep is exact for all rows; run some
        sweeps to settle.

        Parameters
        ----------
        data
            The new rows, by the name of their observed node.
        rows
            The dim of the rows, by default the first of the data.
        sweeps
            Sweeps over the new rows alone.

        Returns
        -------
        Chain
            Another chain, on all rows.

        Examples
        --------
        >>> import pgbn as pg
        >>> chain = pg.zoo.pfa(2).chain({"x": [[2, 0, 1], [0, 3, 1]]}).sweep(5)
        >>> chain.append({"x": [[1, 1, 0]]}, sweeps=5).values["theta1"].shape
        (3, 2)
        """
        from pgbn.engine.rows.append import append_rows

        return append_rows(self, data, rows, sweeps)

    def log_joint(self) -> float:
        """The log density of the data and all latent values together.

        Examples
        --------
        >>> import pgbn as pg
        >>> chain = pg.zoo.pfa(2).chain({"x": [[2, 0, 1], [0, 3, 1]]}).sweep(5)
        >>> chain.log_joint() != chain.log_likelihood()
        True
        """
        self._refresh()
        known = () if self.network.above else self.network.given  # their parents are omitted
        names = [name for name in self.network.nodes if name not in known]
        return float(sum(log_density(self._program, name)[0] for name in names))

    def log_likelihood(self) -> float:
        """The log density of the data given the latent values.

        Examples
        --------
        >>> import pgbn as pg
        >>> chain = pg.zoo.pfa(2).chain({"x": [[2, 0, 1], [0, 3, 1]]}).sweep(5)
        >>> chain.log_likelihood() < 0
        True
        """
        self._refresh()
        return float(sum(log_density(self._program, name)[0] for name in self.network.observed))

    @validated
    def save(self, path: str | Path) -> None:
        """Write the chain to a folder.

        Parameters
        ----------
        path
            The folder. `pgbn.load` gives the chain back, which continues bit-identically.

        Examples
        --------
        >>> import tempfile
        >>> import pgbn as pg
        >>> chain = pg.zoo.pfa(2).chain({"x": [[2, 0, 1], [0, 3, 1]]}).sweep(5)
        >>> folder = tempfile.mkdtemp()
        >>> chain.save(folder)
        >>> pg.load(folder).sweep().sweeps
        6
        """
        folders.save(self, path)

    def _summary(self) -> Summary:
        network, sizes = self.network, self._program.sizes
        arrays = [(n, network[n].axes, [sizes[dim] for dim in network[n].axes])
                  for n in network.nodes]  # fmt: skip
        return Summary(
            f"Chain {self.number}: {self.sweeps} sweep{'' if self.sweeps == 1 else 's'}",
            arrays,
            {
                "settings": f"seed {self.seed}, sampler {self.sampler}",
                "given": ", ".join(network.given),
            },
        )


def sampler_name(chain: Chain) -> str:
    """The ``sampler`` that makes the same chain again: "auto" may choose otherwise elsewhere."""
    general = chain.sampler == "composed" and chain._program.kernels
    return "general" if general else chain.sampler


def _rebuilt(
    arguments: tuple[Any, ...],
    order: Sequence[str] | None,
    state: Mapping[str, NDArray[Any]],
    sweeps: int,
) -> Chain:
    """The chain that `Chain.__reduce__` took apart."""
    chain = Chain._of_data(*arguments)
    if order is not None:
        chain._follow_names(order)
    return chain.restore(state, sweeps)


# ---- stopping by a signal -------------------------------------------------------------------
#
# After the current sweep, with a complete state:
#
#     with stop_gently() as stop:
#         while not stop.requested:
#             chain.sweep()


class Interrupted(KeyboardInterrupt):
    """A signal, raised after a sweep. The text says how to continue; ``chain`` is the chain at its
    current state and ``signal`` the number of the signal."""

    chain: Any = None
    signal: int = signal.SIGINT


class Stop:
    """Whether a signal asked for a stop, and which: 0 for none yet."""

    signal = 0

    @property
    def requested(self) -> bool:
        return bool(self.signal)

    def interrupted(self, text: str, chain: Any = None) -> Interrupted:
        """What is raised after the sweep."""
        stop = Interrupted(text)
        stop.chain, stop.signal = chain, self.signal
        return stop


# Ctrl-C; docker stop, Slurm and the system going down; a terminal that is closed.
_STOPS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
_ECHO = 1.0  # seconds: both the shell and the system signal that a terminal was closed


@contextmanager
def stop_gently(*numbers: int) -> Iterator[Stop]:
    """Let Ctrl-C, SIGTERM and SIGHUP, or those that are given, stop after the current sweep; a
    second signal stops at once.

    Signals with another handler, and ignored ones (nohup), are not touched. Only the main thread
    may handle signals, so nothing changes in other threads. The earlier handlers are restored
    afterwards. A process that a callback forks uses them, too: its parent ends it by SIGTERM, and
    waits.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    first, process = 0.0, os.getpid()

    def heed(number: int, frame: FrameType | None) -> None:
        nonlocal first
        if os.getpid() != process:
            signal.signal(number, before[number])
            signal.raise_signal(number)
            return
        now = time.monotonic()
        if not stop.requested:
            stop.signal, first = number, now
            again = "Ctrl-C again" if number == signal.SIGINT else "a second signal"
            _say(f"\nstopping after this sweep ({again}: at once)\n")
        elif number == signal.SIGINT:
            raise KeyboardInterrupt
        elif number == signal.SIGTERM or now - first > _ECHO:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
            os._exit(128 + number)  # the first process of a container survives its signals

    before = {number: signal.getsignal(number) for number in numbers or _STOPS}
    begun: dict[int, Any] = {signal.SIGINT: signal.default_int_handler}  # as Python begins
    ours = [n for n, handler in before.items() if handler is begun.get(n, signal.SIG_DFL)]
    for number in ours:
        signal.signal(number, heed)
    try:
        yield stop
    finally:
        for number in reversed(ours):  # Ctrl-C last: it interrupts nothing until then
            signal.signal(number, before[number])


def _say(text: str) -> None:
    """Write to the terminal. In a handler nothing may fail, and nothing that it interrupted may be
    touched."""
    with suppress(OSError, ValueError, AttributeError, RuntimeError):
        sys.stderr.write(text)
        sys.stderr.flush()
