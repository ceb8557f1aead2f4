"""Workers of which each has a memory of its own, and does what it is asked in order.

This is all that pgbn needs of a cluster; `pgbn.samplers.on_ray` is one, and
`tests/helpers/workers_here.py` another, in one process. An executor that has a `worker_pool` gives
its rows to it, see `pgbn.engine.shards`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

from pgbn.errors import PgbnError

LIVES = 3  # of a worker, for one question


class WorkerLost(PgbnError):
    """A worker is dead, or gives no answer."""

    def __init__(self, worker: int, reason: str) -> None:
        super().__init__(f"worker {worker}: {reason}")
        self.worker, self.reason = worker, reason


class WorkerPool(ABC):
    """Workers 0, 1, …, ``number`` of them, each with a dict of its own, its state."""

    number: int
    threads: int  # of each worker
    commit: int  # sweeps from one commit to the next

    @abstractmethod
    def age(self, worker: int) -> int:
        """How often a worker has been replaced."""

    @abstractmethod
    def renew(self, worker: int) -> None:
        """Put a new worker, with an empty state, in the place of one, which is ended if it
        lives."""

    @abstractmethod
    def share(self, value: Any) -> Any:
        """A handle: given to `ask` in place of the value it goes to each machine once. Its arrays
        are read only."""

    @abstractmethod
    def ask(self, worker: int, function: Callable[..., Any], *args: Any) -> Any:
        """Let a worker call ``function(state, *args)`` when it has done what it was asked before.
        Returns a ticket, which is a handle of the result too."""

    @abstractmethod
    def answer(self, worker: int, ticket: Any, fetch: bool = True) -> Any:
        """The result of a ticket or, unless it is to be fetched, the ticket, when it is done.
        Raises `WorkerLost` if the worker is dead or late, and what the function raised."""

    def collect(
        self,
        worker: int,
        age: int,
        tickets: Sequence[Any],
        again: Callable[[], Sequence[Any]],
        fetch: bool = True,
    ) -> Any:
        """The `answer` to the last of some tickets that a worker of this ``age`` has. If the worker
        is lost it is replaced, and ``again()`` asks the new one."""
        for life in range(1, LIVES + 1):
            try:
                *before, last = tickets if life == 1 else again()
                for ticket in before:
                    self.answer(worker, ticket, fetch=False)
                return self.answer(worker, last, fetch)
            except WorkerLost:
                if life == LIVES:
                    raise
                with suppress(WorkerLost):  # the next life notices it
                    if self.age(worker) == age:  # nobody else has replaced it
                        self.renew(worker)
                age = self.age(worker)

    def map(self, function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """The results of ``function(state, *job)`` for all jobs, in their order, one job for each
        worker at a time. Nothing is left in a state, so that a new worker can take any job."""
        waiting = iter(jobs)
        while now := list(islice(waiting, self.number)):
            asks = [partial(self._ask, number, function, job) for number, job in enumerate(now)]
            asked = [(self.age(number), ask()) for number, ask in enumerate(asks)]
            for number, (age, tickets) in enumerate(asked):
                yield self.collect(number, age, tickets, asks[number])

    def _ask(
        self, worker: int, function: Callable[..., Any], job: tuple[Any, ...]
    ) -> Sequence[Any]:
        return [self.ask(worker, function, *job)]
