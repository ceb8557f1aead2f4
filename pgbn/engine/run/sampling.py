"""Sampling that is saved as it goes, and chains side by side; the same bits in every way.

    draws = net.sample(data, chains=4, parallel=4, save="run")   # SIGTERM, a crash, a power cut …
    draws = pgbn.resume("run")

Each chain runs by itself from the state that the folder holds (at first, its beginning), and
commits its own part: the state after a sweep, and the draws since the last time, which then need no
memory. A chain depends on the network, the data, the seed and its number alone, so that neither the
order of chains nor the moments of commits change a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from math import prod
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from pgbn.checks import thread_count
from pgbn.engine.data.coords import Coords, check_coords, read_coords
from pgbn.engine.data.imputed import check_imputed
from pgbn.engine.data.indexes import bind_indexes
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.draws import Draws, read_keep
from pgbn.engine.run.given import hold_some
from pgbn.engine.run.meters import Meter, Silent
from pgbn.engine.run.progress import Callback, Clock, Event, Stop, check_callback, live, stop_gently
from pgbn.engine.run.run_store import FolderStore, MemoryStore, RunningChain, RunPlan
from pgbn.engine.run.saving import Timing
from pgbn.engine.run.side_by_side import ManyLines
from pgbn.errors import DataError, StorageError
from pgbn.storage.archive import is_archive
from pgbn.storage.memory import check_bytes
from pgbn.storage.writing import writing

if TYPE_CHECKING:
    from pgbn.network.network import Network
    from pgbn.samplers.executor import Executor

__all__ = ["resume_sampling", "sample_beside", "sample_saved"]

Store = FolderStore | MemoryStore


def sample_beside(
    network: Network,
    data: Mapping[str, Any],
    burn_in: int,
    draws: int,
    thin: int,
    chains: int,
    seed: int,
    keep: Iterable[str] | None,
    progress: bool,
    layer1: str,
    threads: int | None,
    callback: Callback | None,
    executor: Executor | None,
    given: Any,
    coords: Mapping[str, Any] | None,
    parallel: int,
    save: str | Path | None,
    minutes: float | None,
) -> Draws:
    """`Network.sample` with ``parallel`` or ``save``."""
    network, data = bind_indexes(network, data)
    network, held = hold_some(network, given)
    names, expressions = read_keep(network, keep)
    if expressions:
        raise DataError(
            f"keep: {', '.join(expressions)}: save= and parallel= keep nodes only; keep the nodes "
            "of the expression, and compute it from their draws"
        )
    check_coords(network, coords, network.sizes)
    plan = RunPlan(burn_in, draws, thin, chains, seed, tuple(names), parallel)
    check_callback(callback)
    if executor is not None:  # a folder cannot hold it, and chains side by side have their threads
        what = f"parallel={parallel!r}" if save is None else f"save={str(save)!r}"
        raise DataError(f"{what}, executor={executor!r}: give one of them")
    each = _threads_each(plan, threads)

    def make(number: int) -> Chain:
        return Chain(network, data, seed, number, None, layer1, each, given=held)

    def labels(chain: Chain) -> Coords:
        return read_coords(network, data, coords, chain.program.sizes)

    return sample_saved(plan, make, save, Timing(minutes), each, progress, callback, labels)


def sample_saved(
    plan: RunPlan,
    make: Callable[[int], Chain],
    save: str | Path | None,
    timing: Timing,
    threads: int | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    labels: Callable[[Chain], Coords] = lambda chain: {},
) -> Draws:
    """Run the chains that ``make(number)`` begins; ``threads`` are those of each, and ``labels``
    gives the names along dims."""
    if save is None:
        first = _checked(make(0), plan)
        each = 8 * sum(prod(first.program.shape[name]) for name in plan.keep)
        check_bytes(f"draws={plan.draws}, chains={plan.chains}", each * plan.draws * plan.chains,
                    "keep fewer draws or nodes, or save=…")  # fmt: skip
        start = partial(_begin, make, first)
        memory = MemoryStore(plan, start, labels(first))
        return _run_all(memory, plan, progress, callback)
    folder = Path(save)
    if is_archive(folder):
        raise StorageError(
            f"{folder}: there is something saved already; pgbn.resume({str(folder)!r}) goes on "
            "with a run that was stopped; else use another folder"
        )
    with writing(folder):
        store = FolderStore(folder, plan, timing, threads)
        store.begin((_checked(make(number), plan) for number in range(plan.chains)), labels)
        return _run_all(store, plan, progress, callback)


def _begin(make: Callable[[int], Chain], first: Chain, number: int) -> Chain:
    return make(number) if number else first


def resume_sampling(
    path: Path,
    timing: Timing,
    threads: int | None = None,
    progress: bool = True,
    callback: Callback | None = None,
) -> Draws:
    """Go on with a run from where each of its chains stands in the folder."""
    check_callback(callback)
    with writing(path):
        store = FolderStore.opened(path, timing)
        store.threads = _threads_each(store.plan, threads)
        return _run_all(store, store.plan, progress, callback)


def _threads_each(plan: RunPlan, threads: int | None) -> int:
    return max(1, thread_count(threads) // plan.parallel)


def _checked(chain: Chain, plan: RunPlan) -> Chain:
    for name in plan.keep:
        if name in chain.network.observed:
            check_imputed(chain.program, name, "keep")
    return chain


def _run_all(store: Store, plan: RunPlan, progress: bool, callback: Callback | None) -> Draws:
    """Run every chain to its end, or until a signal comes; what is kept is in the store."""
    with live(progress) as meter, stop_gently() as stop:
        runner = _Runner(store, plan, meter, callback, stop)
        if plan.parallel == 1:
            for number in range(plan.chains):
                runner.run(number)
        else:
            runner.run_beside()
    if runner.is_done:
        return store.finish()
    return store.interrupted(stop, runner.clock)


class _Runner:
    """Runs chains and tells of every sweep; one listener hears at a time."""

    def __init__(
        self, store: Store, plan: RunPlan, meter: Callback, callback: Callback | None, stop: Stop
    ) -> None:
        self.store, self.plan, self.stop = store, plan, stop
        self.heard: list[Any] = [meter] if callback is None else [meter, callback]
        if plan.parallel > 1 and isinstance(meter, Meter) and not isinstance(meter, Silent):
            self.heard[0] = ManyLines(meter, plan.chains)
        self.clock = Clock(plan.sweeps * plan.chains)
        self.clock.done = sum(store.sweeps(number) for number in range(plan.chains))
        self.failed = False
        self.lock = Lock()

    @property
    def is_done(self) -> bool:
        return all(self.store.sweeps(n) == self.plan.sweeps for n in range(self.plan.chains))

    def run(self, number: int) -> None:
        """One chain, from where it stands."""
        if self.store.sweeps(number) == self.plan.sweeps or self._is_over():
            return
        at = self.store.open(number)
        try:
            while at.chain.sweeps < self.plan.sweeps:
                at.chain.sweep()
                at.keep_draw(self.plan)
                self._tell(at)
                last = at.chain.sweeps == self.plan.sweeps
                if self._is_over() or last:
                    self.store.commit(at)
                    return
                self.store.after_sweep(at)
        except BaseException:
            self.failed = True
            raise

    def _is_over(self) -> bool:
        return self.stop.requested or self.failed

    def _tell(self, at: RunningChain) -> None:
        done = at.chain.sweeps
        burn_in, plan = done <= self.plan.burn_in, self.plan
        phase, of = ("burn_in", plan.burn_in) if burn_in else ("collect", plan.draws * plan.thin)
        with self.lock:
            event = Event(at.chain, 1, phase, done if burn_in else done - plan.burn_in, of,
                          **self.clock.tick())  # fmt: skip
            for listener in self.heard:
                if isinstance(listener, ManyLines):
                    listener.hear(event, at.trace)
                else:
                    listener(event)

    def run_beside(self) -> None:
        """Chains side by side on threads: kernels run without the lock of Python."""
        with ThreadPoolExecutor(self.plan.parallel, thread_name_prefix="pgbn-chain") as pool:
            running: set[Future[None]] = {
                pool.submit(copy_context().run, self.run, n) for n in range(self.plan.chains)
            }
            try:
                while running:  # with a timeout, so that signals are heard
                    done, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                    for each in done:
                        each.result()
            except BaseException:
                self.failed = True
                for each in running:
                    each.cancel()
                raise
