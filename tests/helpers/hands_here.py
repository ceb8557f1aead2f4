"""Workers in this process: what they are told and what they answer is copied, as between machines."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Mapping
from typing import Any

from pgbn.samplers.executor import Threads
from pgbn.samplers.hands import WorkerLost

__all__ = ["HandsHere", "Spread"]


class _Shared:
    def __init__(self, value: Any) -> None:
        self.data = pickle.dumps(value)


class HandsHere:
    """Workers that are lost with a probability, before or after they did what they were asked."""

    def __init__(self, number: int, loses: float = 0.0, commit: int = 1, seed: int = 0) -> None:
        self.number, self.threads, self.commit, self.loses = number, 1, commit, loses
        self.rooms: list[dict[str, Any] | None] = [{} for _ in range(number)]
        self.ages = [0] * number
        self.random, self.lost, self.asked = random.Random(seed), 0, 0

    def age(self, worker: int) -> int:
        return self.ages[worker]

    def renew(self, worker: int) -> None:
        self.rooms[worker] = {}
        self.ages[worker] += 1

    def share(self, value: Any) -> Any:
        return _Shared(value)

    def ask(self, worker: int, function: Callable[..., Any], *args: Any) -> Any:
        self.asked += 1
        copies = [pickle.loads(a.data if isinstance(a, _Shared) else pickle.dumps(a)) for a in args]
        dies = self.random.random()
        if dies < self.loses / 2:
            self.rooms[worker], self.lost = None, self.lost + 1
        room = self.rooms[worker]
        if room is None:
            return WorkerLost(worker, "dead")
        result = _Shared(function(room, *copies))
        if dies < self.loses:
            self.rooms[worker] = None
            self.lost += 1
            return WorkerLost(worker, "dead")
        return result

    def answers(self, tickets: Mapping[int, Any]) -> dict[int, Any]:
        self.done(tickets)
        return {worker: pickle.loads(ticket.data) for worker, ticket in tickets.items()}

    def done(self, tickets: Mapping[int, Any]) -> None:
        for ticket in tickets.values():
            if isinstance(ticket, WorkerLost):
                raise ticket


class Spread(Threads):
    """Threads for what the driver does, and workers in this process for rows."""

    def __init__(self, workers: int, **options: Any) -> None:
        super().__init__(1)
        object.__setattr__(self, "here", HandsHere(workers, **options))

    def hands(self) -> HandsHere:
        return self.here
