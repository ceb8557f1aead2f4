"""Workers in this process: what they are asked and what they answer is copied, as between machines."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import Any

from pgbn.samplers.executor import Threads
from pgbn.samplers.worker_pool import WorkerLost, WorkerPool


class _Shared:
    """A value in shared memory: the arrays of its copies are read only."""

    def __init__(self, value: Any) -> None:
        buffers: list[pickle.PickleBuffer] = []
        self.data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        self.buffers = [bytes(buffer.raw()) for buffer in buffers]

    def get(self) -> Any:
        return pickle.loads(self.data, buffers=self.buffers)


class WorkersHere(WorkerPool):
    """Workers that are lost with a probability, before or after they did what they were asked."""

    def __init__(self, number: int, loses: float = 0.0, commit: int = 1, seed: int = 0) -> None:
        self.number, self.threads, self.commit, self.loses = number, 1, commit, loses
        self.states: list[dict[str, Any] | None] = [{} for _ in range(number)]
        self.ages = [0] * number
        self.random, self.lost, self.asked = random.Random(seed), 0, 0

    def age(self, worker: int) -> int:
        return self.ages[worker]

    def renew(self, worker: int) -> None:
        self.states[worker] = {}
        self.ages[worker] += 1

    def share(self, value: Any) -> Any:
        return _Shared(value)

    def ask(self, worker: int, function: Callable[..., Any], *args: Any) -> Any:
        self.asked += 1
        copies = [arg.get() if isinstance(arg, _Shared) else pickle.loads(pickle.dumps(arg))
                  for arg in args]  # fmt: skip
        dies = self.random.random()
        if dies < self.loses / 2:
            self.states[worker], self.lost = None, self.lost + 1
        state = self.states[worker]
        if state is None:
            return WorkerLost(worker, "dead")
        try:
            result = _Shared(function(state, *copies))
        except Exception as error:
            return error
        if dies < self.loses:
            self.states[worker] = None
            self.lost += 1
            return WorkerLost(worker, "dead")
        return result

    def answer(self, worker: int, ticket: Any, fetch: bool = True) -> Any:
        if isinstance(ticket, Exception):
            raise ticket
        return ticket.get() if fetch else ticket


class Spread(Threads):
    """Threads for what the driver does, and workers in this process for rows."""

    spreads_rows = True

    def __init__(self, workers: int, **options: Any) -> None:
        super().__init__(1)
        object.__setattr__(self, "here", WorkersHere(workers, **options))

    def worker_pool(self) -> WorkersHere:
        return self.here
