"""Hands: workers of which each has a memory of its own, and does what it is told in order.

This is all that pgbn needs of a cluster; `pgbn.samplers.on_ray` is one, and
`tests/helpers/hands_here.py` another, in one process. An executor that has a method ``hands()``
gives its rows to them, see `pgbn.engine.shards`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pgbn.errors import PgbnError

__all__ = ["Hands", "WorkerLost"]


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
