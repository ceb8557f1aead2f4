"""Ray: workers on the cores of this machine, or of a cluster, that keep the rows.

This is the only part of pgbn that uses Ray. It has actors with a state each
(`pgbn.samplers.worker_pool`), an object store for messages to all of them, and a test whether one
is dead or does not answer. The messages are defined in `pgbn.engine.shards`.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, NamedTuple
from weakref import finalize

from pgbn.checks import MOST_THREADS, check_integer, is_finite_number, thread_count
from pgbn.errors import DataError, PgbnError
from pgbn.samplers.executor import DelegatingExecutor, Executor, Threads
from pgbn.samplers.worker_pool import WorkerLost, WorkerPool

_CORES = os.cpu_count() or 1
_STARTS = 3  # Ray gives up after 30 s; a busy machine may need more
_LONGEST = 1e9  # seconds; Ray counts thousandths in 64 bits


class Ray(DelegatingExecutor):
    """Rows on workers of Ray: processes of this machine, or of the machines of a cluster.

    Nodes without rows are drawn in this process. A worker that dies or does not answer is replaced,
    and the new one continues from the last commit, bit-identical.

    Parameters
    ----------
    workers : int, optional
        The number of processes. The default is as many as the cores allow.
    address : str, optional
        The address of a cluster, or "auto" for the one that this machine belongs to. The default
        are processes of this machine.
    threads : int, default 1
        The threads of each worker.
    timeout : float, default 600
        The seconds after which a worker that gives no answer is replaced.
    commit : int, default 1
        Workers store their arrays with Ray after this number of sweeps.

    Raises
    ------
    DataError
        If ray is not installed, does not start, or has too few cores.

    Examples
    --------
    Documents are spread in blocks of 256 rows; a chain of few rows has one worker.

    >>> import pgbn
    >>> executor = pgbn.Ray(workers=2)  # doctest: +SKIP
    >>> draws = net.sample(data, sampler="partial", executor=executor)  # doctest: +SKIP
    >>> executor.close()  # doctest: +SKIP
    """

    spreads_rows = True
    _pool: RayPool | None

    def __init__(
        self,
        workers: int | None = None,
        address: str | None = None,
        threads: int = 1,
        timeout: float = 600.0,
        commit: int = 1,
    ) -> None:
        if find_spec("ray") is None:
            raise DataError("pgbn.Ray needs the package ray: pip install pgbn[ray]")
        if address is not None and (not isinstance(address, str) or not address):
            raise DataError(f"Ray: address={address!r}: give the address of a cluster, or 'auto'")
        self.threads = check_integer("Ray: threads", threads, 1)
        self._asked = None if workers is None else check_integer("Ray: workers", workers, 1)
        self.workers = self._asked or max(_CORES // self.threads, 1)
        self.commit = check_integer("Ray: commit", commit, 1)
        if address is None and self.workers * self.threads > MOST_THREADS:
            raise DataError(
                f"Ray: workers={workers!r}, threads={threads!r}: more than {MOST_THREADS} threads "
                "on this machine; give fewer, or the address of a cluster"
            )
        if not is_finite_number(timeout) or not 0 < timeout <= _LONGEST:
            raise DataError(
                f"Ray: timeout={timeout!r:.60}: give seconds, more than 0 and at most {_LONGEST:g}"
            )
        self.address, self.timeout = address, float(timeout)
        self.below, self._pool = Threads(thread_count(None)), None

    def __repr__(self) -> str:
        address = "" if self.address is None else f", address={self.address!r}"
        return f"Ray(workers={self.workers}{address})"

    def __deepcopy__(self, memo: Any) -> Ray:
        return self  # a copy of its owner, such as an estimator, has the same workers

    def __reduce__(self) -> tuple[Any, ...]:
        return Ray, (self._asked, self.address, self.threads, self.timeout, self.commit)

    @property
    def local(self) -> Executor:
        return self.below

    def worker_pool(self) -> RayPool:
        if self._pool is None or not self._pool.is_alive():
            self._pool = RayPool(self)
        return self._pool

    def close(self) -> None:
        """End the workers, and Ray if it was started for them.

        Examples
        --------
        >>> executor.close()  # doctest: +SKIP
        """
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class _Worker:
    """An actor: a state, and the functions that it is asked to call with it."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def where(self) -> tuple[str, int]:
        import ray

        return ray.get_runtime_context().get_node_id(), os.getpid()

    def do(self, function: Callable[..., Any], *args: Any) -> tuple[bool, Any]:
        return True, function(self.state, *args)


class _Ticket(NamedTuple):
    """Two results of a call: that it was made, and its value, to be fetched if it is wanted."""

    made: Any
    result: Any


class RayPool(WorkerPool):
    """Actors of Ray."""

    def __init__(self, settings: Ray) -> None:
        import ray

        self.ray: Any = ray
        self.settings, self.timeout = settings, settings.timeout
        self.number, self.threads, self.commit = settings.workers, settings.threads, settings.commit
        os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # they are raised again here
        self.began = not ray.is_initialized()
        if self.began:
            self._begin(settings.address)
        self._check_cores()
        settings.workers = self.number
        self._kind = ray.remote(_Worker).options(
            # on this machine workers share the cores, as threads do: none waits for a free one
            num_cpus=self.threads if settings.address else 0,
            max_restarts=0,
            scheduling_strategy="SPREAD",
        )
        here = ray.get_runtime_context().get_node_id()
        sockets = {node["NodeID"]: node["ObjectStoreSocketName"] for node in ray.nodes()}
        self._socket = sockets.get(here, "")
        self._ages = [0] * self.number
        self._actors: list[Any] = [self._kind.remote() for _ in range(self.number)]
        self._places = [self._place(number) for number in range(self.number)]
        self._end = finalize(self, _end, ray, self._actors, self.began, self._socket)

    def _begin(self, address: str | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_worker_niceness", "0")  # else they have a low priority
        cores = {} if address else {"num_cpus": max(_CORES, self.number * self.threads)}
        for left in range(_STARTS - 1 if address is None else 0, -1, -1):
            try:
                with _own_signals():
                    # "local": else Ray joins a Ray of another program on this machine
                    self.ray.init(address or "local", include_dashboard=None if address else False,
                                  log_to_driver=False, logging_level=logging.ERROR,
                                  **cores)  # fmt: skip
                return
            except Exception as error:
                if left and "timed out" in str(error):
                    with suppress(Exception):
                        self.ray.shutdown()
                    continue
                where = f"address={address!r}: no cluster there" if address else "it did not start"
                raise DataError(f"Ray: {where} ({error})") from error

    def _check_cores(self) -> None:
        if self.settings.address is None:
            return
        cores = int(self.ray.cluster_resources().get("CPU", 0))
        if self.settings._asked is None:
            self.number = max(cores // self.threads, 1)
        if cores < self.number * self.threads:
            raise DataError(
                f"Ray: {self.number} workers of {self.threads} threads, but the cluster has "
                f"{cores} cores; give workers={max(cores // self.threads, 1)}"
            )

    def _place(self, number: int) -> tuple[str, int]:
        """The machine and the process of a worker."""
        try:
            return self.ray.get(self._actors[number].where.remote(), timeout=self.timeout)
        except self.ray.exceptions.GetTimeoutError:
            raise WorkerLost(number, f"it did not start within {self.timeout:g} s") from None
        except self.ray.exceptions.RayActorError as error:
            raise WorkerLost(number, f"it did not start: {error}") from error

    def is_alive(self) -> bool:
        """Whether Ray is alive. If its process on this machine has ended, it is shut down here:
        else it would end this process without an exception."""
        if self.ray.is_initialized() and not _is_served(self._socket):
            self.ray.shutdown()
        return self._end.alive and self.ray.is_initialized()

    def _check_alive(self) -> None:
        if not self.is_alive():  # else Ray would begin anew by itself, without the workers
            raise PgbnError(
                "Ray was shut down, or its process on this machine has ended; continue from the "
                "last checkpoint (save= and resume)"
            )

    def close(self) -> None:
        self._end()

    # ---- the methods of a pool ----------------------------------------------------------

    def age(self, worker: int) -> int:
        return self._ages[worker]

    def renew(self, worker: int) -> None:
        self._check_alive()
        with suppress(Exception):
            self.ray.kill(self._actors[worker])
        with suppress(Exception):  # one that hangs does not receive it
            self._end_process(*self._places[worker])
        self._ages[worker] += 1
        self._actors[worker] = self._kind.remote()
        self._places[worker] = self._place(worker)

    def _end_process(self, node: str, process: int) -> None:
        if node == self.ray.get_runtime_context().get_node_id():
            os.kill(process, signal.SIGKILL)
            return
        strategy = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, False)
        kill = self.ray.remote(os.kill).options(num_cpus=0, scheduling_strategy=strategy)
        self.ray.wait([kill.remote(process, signal.SIGKILL)], timeout=30.0)

    def share(self, value: Any) -> Any:
        self._check_alive()
        return self.ray.put(value)

    def ask(self, worker: int, function: Callable[..., Any], *args: Any) -> _Ticket:
        self._check_alive()
        given = [arg.result if isinstance(arg, _Ticket) else arg for arg in args]
        call = self._actors[worker].do.options(num_returns=2)
        return _Ticket(*call.remote(function, *given))

    def answer(self, worker: int, ticket: _Ticket, fetch: bool = True) -> Any:
        failures = self.ray.exceptions
        self._check_alive()
        try:
            if not self.ray.wait([ticket.made], timeout=self.timeout)[0]:
                raise WorkerLost(worker, f"it gave no answer within timeout={self.timeout:g} s")
            self._check_alive()
            self.ray.get(ticket.made)
            return self.ray.get(ticket.result) if fetch else ticket
        except failures.RayTaskError as error:
            if isinstance(error.cause, failures.RaySystemError):  # such as an unknown node type
                reason = str(error.cause).strip().splitlines()[-1]
                raise PgbnError(
                    f"Ray: worker {worker} could not read what it was given: {reason}"
                ) from error
            raise error.cause from error
        except failures.RayActorError as error:
            raise WorkerLost(worker, f"it died: {error}") from error
        except failures.ObjectLostError as error:
            raise PgbnError(
                f"Ray: what worker {worker} left at its last commit was lost with its machine; "
                "continue from the last checkpoint (save= and resume)"
            ) from error


@contextmanager
def _own_signals() -> Iterator[None]:
    """Begin Ray, and leave signals as they are: it would take SIGTERM for itself, so that a stop
    leaves no checkpoint. Its processes ignore SIGHUP; else they would end with the terminal, and
    the driver with them before it has saved."""
    before = {}
    if threading.current_thread() is threading.main_thread():  # no other may set them
        names = ("SIGINT", "SIGTERM", "SIGHUP")
        numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
        before = {number: signal.getsignal(number) for number in numbers}
        for number in numbers[2:]:
            signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # one that Python does not know
                signal.signal(number, handler)


def _is_served(path: str) -> bool:
    """Whether Ray's process on this machine (the raylet) listens at the socket of its store."""
    if not path or not hasattr(socket, "AF_UNIX"):
        return True
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _end(ray: Any, actors: list[Any], began: bool, path: str) -> None:
    """End the actors, and Ray if it was begun for them; nothing if Ray has ended, since it would
    begin anew by itself."""
    with suppress(Exception):
        for actor in actors if ray.is_initialized() and _is_served(path) else ():
            ray.kill(actor)
        if began:
            ray.shutdown()
