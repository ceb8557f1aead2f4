"""Workers, each with a memory of its own, that carry out messages in order.

This is all that pgbn needs of a cluster. `pgbn.samplers.on_ray` implements it, and so does
`tests/helpers/workers_here.py`, in one process. An executor that has a `worker_pool` gives its rows
to it, see `pgbn.engine.shards`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from pgbn.errors import PgbnError

LIVES = 3  # of a worker, for one question
Message = tuple[
    Callable[..., Any], tuple[Any, ...]
]  # a function of a worker's state, its arguments


class WorkerLost(PgbnError):
    """A worker is dead, or gives no answer."""

    def __init__(self, worker: int, reason: str) -> None:
        super().__init__(f"worker {worker}: {reason}")
        self.worker, self.reason = worker, reason


class WorkerPool(ABC):
    """Workers 0, 1, …, each with a dict of its own, its state: what pgbn needs of a cluster.

    A subclass writes `age`, `renew`, `share`, `ask` and `answer`.

    Attributes
    ----------
    number : int
        The number of workers.
    threads : int
        The threads of each worker.
    commit : int
        The number of sweeps from one commit to the next.

    Examples
    --------
    One worker, in this process:

    >>> from pgbn.extend import WorkerPool
    >>> class Here(WorkerPool):
    ...     number = threads = commit = 1
    ...     state = {}
    ...     def age(self, worker):
    ...         return 0
    ...     def renew(self, worker):
    ...         self.state = {}
    ...     def share(self, value):
    ...         return value
    ...     def ask(self, worker, function, *args):
    ...         return function(self.state, *args)
    ...     def answer(self, worker, ticket, fetch=True):
    ...         return ticket
    >>> list(Here().map(lambda state, x: x**2, [(1,), (2,), (3,)]))
    [1, 4, 9]
    """

    number: int
    threads: int  # of each worker
    commit: int  # sweeps from one commit to the next

    @abstractmethod
    def age(self, worker: int) -> int:
        """How often a worker has been replaced.

        Parameters
        ----------
        worker : int
            Its number.

        Returns
        -------
        int
            The number of replacements.

        Examples
        --------
        >>> pool.age(0)  # doctest: +SKIP
        0
        """

    @abstractmethod
    def renew(self, worker: int) -> None:
        """Replace a worker, which is ended if it is alive, by a new one with an empty state.

        Parameters
        ----------
        worker : int
            Its number.

        Examples
        --------
        >>> pool.renew(0)  # doctest: +SKIP
        """

    @abstractmethod
    def share(self, value: Any) -> Any:
        """A handle of a value, which `ask` takes in its place: the value goes to each machine once.

        Parameters
        ----------
        value : object
            The value. Workers see its arrays read-only.

        Returns
        -------
        object
            The handle.

        Examples
        --------
        >>> handle = pool.share(array)  # doctest: +SKIP
        """

    @abstractmethod
    def ask(self, worker: int, function: Callable[..., Any], *args: Any) -> Any:
        """Let a worker call ``function(state, *args)`` after all earlier messages.

        Parameters
        ----------
        worker : int
            Its number.
        function : callable
            A function that the worker can import.
        *args
            Its arguments after the state: values, handles of `share`, or tickets.

        Returns
        -------
        object
            A ticket, which is also a handle of the result.

        Examples
        --------
        >>> ticket = pool.ask(0, function, 3)  # doctest: +SKIP
        """

    @abstractmethod
    def answer(self, worker: int, ticket: Any, fetch: bool = True) -> Any:
        """The result of a ticket, once it is there.

        Parameters
        ----------
        worker : int
            The number of the worker.
        ticket : object
            What `ask` returned.
        fetch : bool, default True
            Whether to return the result; else the ticket is returned when the result is there.

        Returns
        -------
        object
            The result, or the ticket.

        Raises
        ------
        WorkerLost
            If the worker is dead or late. Exceptions of the function are raised here, too.

        Examples
        --------
        >>> pool.answer(0, pool.ask(0, function, 3))  # doctest: +SKIP
        """

    def map(self, function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """The results of ``function(state, *job)`` for all jobs, in their order.

        Each worker has one job at a time. Jobs leave nothing in a state, so that a new worker can
        take any of them.

        Parameters
        ----------
        function : callable
            A function that workers can import.
        jobs : iterable of tuple
            The arguments of each call.

        Yields
        ------
        object
            The result of a job.

        Examples
        --------
        >>> list(pool.map(function, [(1,), (2,)]))  # doctest: +SKIP
        """
        waiting = iter(jobs)
        while now := list(islice(waiting, self.number)):
            yield from Session(self, len(now)).ask([(function, job) for job in now])


class Session:
    """The messages to some ``workers`` of a pool, in order.

    A worker depends on nothing else. A new worker in place of a lost one receives the same messages
    again, and is bit-identical; the others do not notice.
    """

    def __init__(self, pool: WorkerPool, workers: int) -> None:
        self.pool = pool
        self._logs: list[list[Message]] = [[] for _ in range(workers)]
        self._ages = [-1] * workers  # of the workers that have done all messages of the log

    def begin(self, first: Sequence[list[Message]]) -> None:
        """Each worker receives its own list of the ``first`` messages."""
        self.continue_from(first)
        self._ages = [-1] * len(first)

    def continue_from(self, logs: Sequence[list[Message]]) -> None:
        """From now on a new worker receives these messages, and all later ones."""
        self._logs = [list(log) for log in logs]

    def tell(self, messages: Sequence[Message]) -> list[Any]:
        """The answers to messages that change something, one for each worker."""
        answers = self.ask(messages)
        for log, message in zip(self._logs, messages, strict=True):
            log.append(message)
        return answers

    def ask(self, messages: Sequence[Message], fetch: bool = True) -> list[Any]:
        """The answers to messages that change nothing."""
        tickets = [self._send(number, message) for number, message in enumerate(messages)]
        return [
            self._answer(number, message, tickets[number], fetch)
            for number, message in enumerate(messages)
        ]

    def _send(self, number: int, message: Message) -> list[Any]:
        """The tickets of a message and, for a worker that is new, of all before it."""
        age, before = self.pool.age(number), self._logs[number]
        messages = [message] if self._ages[number] == age else [*before, message]
        self._ages[number] = age
        return [self.pool.ask(number, function, *args) for function, args in messages]

    def _answer(self, number: int, message: Message, tickets: list[Any], fetch: bool) -> Any:
        """The answer to the last ticket. If the worker is lost, a new one takes over."""
        for life in range(1, LIVES + 1):
            try:
                *before, last = tickets if life == 1 else self._send(number, message)
                for ticket in before:
                    self.pool.answer(number, ticket, fetch=False)
                return self.pool.answer(number, last, fetch)
            except WorkerLost:
                if life == LIVES:
                    raise
                with suppress(WorkerLost):  # the next attempt notices it
                    if self.pool.age(number) == self._ages[number]:  # nobody else has replaced it
                        self.pool.renew(number)
