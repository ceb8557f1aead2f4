"""Hands: workers of which each has a memory of its own, and does what it is told in order.

This is all that pgbn needs of a cluster; `pgbn.samplers.on_ray` is one, and
`tests/helpers/hands_here.py` another, in one process. An executor that has a method ``hands()``
gives its rows to them, see `pgbn.engine.shards`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, Protocol

from pgbn.errors import PgbnError

LIVES = 3  # of a worker, for one message


class WorkerLost(PgbnError):
    """A worker is dead, or gives no answer."""

    def __init__(self, worker: int, reason: str) -> None:
        super().__init__(f"worker {worker}: {reason}")
        self.worker, self.reason = worker, reason


class Hands(Protocol):
    """Workers 0, 1, …, ``number`` of them, each with a dict of its own, its room."""

    number: int
    threads: int  # of each worker
    commit: int  # sweeps from one commit to the next

    def age(self, worker: int) -> int:
        """How often a worker has been replaced."""

    def renew(self, worker: int) -> None:
        """Put a new worker, with an empty room, in the place of one, which is ended if it lives."""

    def share(self, value: Any) -> Any:
        """A handle: given to `ask` in place of the value it goes to each machine once. Arrays of
        it are read only."""

    def ask(self, worker: int, function: Callable[..., Any], *args: Any) -> Any:
        """Let a worker call ``function(room, *args)`` when it has done what it was asked before.
        Returns a ticket, which is a handle of the result too."""

    def answers(self, tickets: Mapping[int, Any]) -> dict[int, Any]:
        """The results of one ticket for each worker. Raises `WorkerLost` for one that is dead or
        late, and what a function raised."""

    def done(self, tickets: Mapping[int, Any]) -> None:
        """Wait for results that are not fetched; as `answers` raises."""


def hands_of(executor: Any) -> Hands | None:
    """The workers of an executor, if it has any."""
    hands = getattr(executor, "hands", None)
    return None if hands is None else hands()


def hand_out(
    hands: Hands, function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]]
) -> Iterator[Any]:
    """The results of ``function(room, *job)`` for all jobs, in their order, one job for each worker
    at a time. Nothing is left in a room: whoever takes the place of a lost worker gets its job."""
    waiting = iter(jobs)
    while now := list(islice(waiting, hands.number)):
        lives = dict.fromkeys(range(len(now)), LIVES)
        tickets = {worker: hands.ask(worker, function, *job) for worker, job in enumerate(now)}
        while True:
            try:
                answers = hands.answers(tickets)
                break
            except WorkerLost as error:
                lives[error.worker] -= 1
                if not lives[error.worker]:
                    raise
                with suppress(WorkerLost):  # the next round notices it
                    hands.renew(error.worker)
                    tickets[error.worker] = hands.ask(error.worker, function, *now[error.worker])
        yield from (answers[worker] for worker in range(len(now)))
