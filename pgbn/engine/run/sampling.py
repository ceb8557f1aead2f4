"""Running chains and keeping their draws: in memory, or saved as they come, one after another or
side by side; the same bits in every way.

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
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from pgbn.checks import check_path, thread_count
from pgbn.engine.data.coords import Coords, bind_indexes, check_coords, read_coords
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.given import hold_some
from pgbn.engine.run.progress import Callback, Clock, Event, Meter, Silent, check_callback, live
from pgbn.engine.run.run_plan import ManyLines, MemoryStore, RunningChain, RunPlan, read_keep
from pgbn.engine.run.run_store import KIND, FolderStore
from pgbn.errors import DataError, StorageError
from pgbn.storage.archive import is_archive
from pgbn.storage.read_limits import check_bytes
from pgbn.storage.runner import Runner, Timing
from pgbn.storage.stopping import Stop, stop_gently

if TYPE_CHECKING:
    from pgbn.network.network import Network
    from pgbn.samplers.executor import Executor


Store = FolderStore | MemoryStore


def sample(
    network: Network,
    data: Mapping[str, Any],
    burn_in: int,
    draws: int,
    thin: int,
    chains: int,
    seed: int,
    keep: Iterable[str] | Mapping[str, Any] | None,
    progress: bool,
    layer1: str,
    threads: int | None,
    callback: Callback | None = None,
    executor: Executor | None = None,
    given: Any = None,
    coords: Mapping[str, Any] | None = None,
    parallel: int = 1,
    save: str | Path | None = None,
    minutes: float | None = 5.0,
) -> Draws:
    """See `pgbn.Network.sample`."""
    network, data = bind_indexes(network, data)
    network, held = hold_some(network, given, data)
    kept = read_keep(network, keep)
    check_coords(network, coords, network.sizes)
    plan = RunPlan(burn_in, draws, thin, chains, seed, kept.names, parallel, kept.json())
    check_callback(callback)
    if executor is not None and parallel != 1:  # chains side by side have threads of their own
        raise DataError(f"parallel={parallel!r}, executor={executor!r}: give one of them")
    each = threads if parallel == 1 else _threads_each(plan, threads)

    def make(number: int) -> Chain:
        return Chain.of_data(network, data, seed, number, None, layer1, each, executor, held)

    def labels(chain: Chain) -> Coords:
        return read_coords(network, data, coords, chain.program.sizes)

    return sample_saved(plan, make, save, Timing(minutes), each, progress, callback, labels,
                        executor)  # fmt: skip


def sample_saved(
    plan: RunPlan,
    make: Callable[[int], Chain],
    save: str | Path | None,
    timing: Timing,
    threads: int | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    labels: Callable[[Chain], Coords] = lambda chain: {},
    executor: Executor | None = None,
) -> Draws:
    """Run the chains that ``make(number)`` begins; ``threads`` are those of each, and ``labels``
    gives the names along dims."""
    if save is None:
        return _sample_in_memory(plan, make, progress, callback, labels)
    folder = check_path("save", save)
    if is_archive(folder):
        raise StorageError(
            f"{folder}: there is something saved already; pgbn.resume({str(folder)!r}) goes on "
            "with a run that was stopped; else use another folder"
        )
    with Runner(folder, KIND, asdict(plan), timing) as runner:
        store = FolderStore(runner, plan, threads, executor)
        store.begin((_checked(make(number), plan) for number in range(plan.chains)), labels)
        return _run_all(store, plan, progress, callback)


def _sample_in_memory(
    plan: RunPlan,
    make: Callable[[int], Chain],
    progress: bool,
    callback: Callback | None,
    labels: Callable[[Chain], Coords],
) -> Draws:
    first = _checked(make(0), plan)
    need = plan.kept(first.network).bytes(first.program.sizes) * plan.draws * plan.chains
    what = f"draws={plan.draws}, chains={plan.chains} of {', '.join(plan.keep)}"
    check_bytes(what, need, "keep fewer draws (draws=, thin=) or nodes (keep=), or save=…")
    waiting = [first]  # a chain is needed until it has run, and no longer
    store = MemoryStore(plan, lambda n: make(n) if n else waiting.pop(), labels(first))
    return _run_all(store, plan, progress, callback)


def resume_sampling(
    path: Path,
    timing: Timing,
    threads: int | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    executor: Executor | None = None,
) -> Draws:
    """Go on with a run from where each of its chains stands in the folder."""
    check_callback(callback)
    with Runner(path, KIND, timing=timing) as runner:
        store = FolderStore.opened(runner)
        store.executor = executor
        store.threads = None if executor is not None else _threads_each(store.plan, threads)
        return _run_all(store, store.plan, progress, callback)


def _threads_each(plan: RunPlan, threads: int | None) -> int:
    return max(1, thread_count(threads) // plan.parallel)


def _checked(chain: Chain, plan: RunPlan) -> Chain:
    plan.kept(chain.network).reader(chain)
    return chain


def _run_all(store: Store, plan: RunPlan, progress: bool, callback: Callback | None) -> Draws:
    """Run every chain to its end, or until a signal comes; what is kept is in the store."""
    with live(progress) as meter, stop_gently() as stop:
        running = _Chains(store, plan, meter, callback, stop)
        try:
            running.run_all()
        except KeyboardInterrupt:  # at once, in the middle of a sweep
            if isinstance(store, FolderStore):
                raise
            return store.interrupted(stop, running.clock, whole=False)
    if running.is_done:
        return store.finish()
    return store.interrupted(stop, running.clock)


class _Chains:
    """Runs chains and tells of every sweep; one listener hears at a time."""

    def __init__(
        self, store: Store, plan: RunPlan, meter: Callback, callback: Callback | None, stop: Stop
    ) -> None:
        self.store, self.plan, self.stop = store, plan, stop
        self.received: list[Any] = [meter] if callback is None else [meter, callback]
        if plan.parallel > 1 and isinstance(meter, Meter) and not isinstance(meter, Silent):
            self.received[0] = ManyLines(meter, plan.chains)
        self.clock = Clock(plan.sweeps * plan.chains)
        self.clock.done = sum(store.sweeps(number) for number in range(plan.chains))
        self.failed = False
        self.lock = Lock()

    @property
    def is_done(self) -> bool:
        return all(self.store.sweeps(n) == self.plan.sweeps for n in range(self.plan.chains))

    def run_all(self) -> None:
        """All chains, one after another or side by side."""
        if self.plan.parallel > 1:
            self._run_beside()
            return
        for number in range(self.plan.chains):
            self.run(number)

    def run(self, number: int) -> None:
        """One chain, from where it stands."""
        if self.store.sweeps(number) == self.plan.sweeps or self._is_over():
            return
        at = self.store.open(number)
        try:
            while at.chain.sweeps < self.plan.sweeps:
                at.chain.sweep()
                at.keep_draw()
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
            for listener in self.received:
                if isinstance(listener, ManyLines):
                    listener.hear(event, at.trace)
                else:
                    listener(event)

    def _run_beside(self) -> None:
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
