"""Messages to the workers of a chain, and what is done about those that are lost.

A worker depends on nothing but what it is told, in order. So whoever takes the place of one that is
lost is told what that one was told: it begins with what it left at its last commit, does again what
came after, and has the same bits. The others do not notice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4
from weakref import finalize

from pgbn.engine.shards import worker
from pgbn.errors import PgbnError
from pgbn.samplers.hands import LIVES, Hands, WorkerLost

__all__ = ["Mail", "Message"]

Message = tuple[Callable[..., Any], tuple[Any, ...]]


class Mail:
    """Messages to as many of the ``hands`` as there are ranges of rows, ``edges``; ``executor`` is
    what they are called in errors."""

    def __init__(self, hands: Hands, edges: Sequence[tuple[int, int]], executor: str) -> None:
        self.hands, self.edges, self.executor, self.name = hands, edges, executor, uuid4().hex
        self.begin([])
        finalize(self, _forget, hands, self.name, len(edges))

    def begin(self, first: Sequence[Message]) -> None:
        """Forget all messages. Each worker is told its own of the ``first`` ones."""
        self._first = list(first)
        self._committed: tuple[list[Message], dict[int, Any]] | None = None
        self._log: list[list[Message]] = [[] for _ in self.edges]  # since the last commit
        self._ages = [-1 for _ in self.edges]
        self._unread: list[dict[int, Any]] = []

    def tell(
        self, function: Callable[..., Any], *args: Any, own: Sequence[tuple[Any, ...]] = ()
    ) -> list[Any]:
        """The answers of all workers to a message that changes something; ``own`` are arguments of
        each worker's own."""
        tickets = self._write(function, args, own)
        self._read()
        return self._answers(tickets, [log[-1] for log in self._log], self.hands.answers)

    def note(
        self, function: Callable[..., Any], *args: Any, own: Sequence[tuple[Any, ...]] = ()
    ) -> None:
        """The same without an answer: the workers go on, and so does the driver."""
        self._unread.append(self._write(function, args, own))

    def ask(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """The answers of all workers to a question, by which nothing changes."""
        return self._ask((function, args), self.hands.answers)[1]

    def commit(self, base: Callable[[], list[Message]]) -> None:
        """Let the workers give away what they have. A new one is told the ``base``, what all
        workers have, and then goes on from there."""
        tickets, _ = self._ask((worker.commit, ()), self.hands.done)
        self._log = [[] for _ in self.edges]
        self._committed = (base(), tickets)

    def _ask(self, message: Message, wait: Callable[..., Any]) -> tuple[dict[int, Any], list[Any]]:
        tickets = {}
        for number in range(len(self.edges)):
            self._catch_up(number)
            tickets[number] = self._send(number, message)
        self._read()
        return tickets, self._answers(tickets, [message] * len(self.edges), wait)

    def _write(
        self, function: Callable[..., Any], args: tuple[Any, ...], own: Sequence[tuple[Any, ...]]
    ) -> dict[int, Any]:
        tickets = {}
        for number, log in enumerate(self._log):
            message = (function, (*args, *(own[number] if own else ())))
            self._catch_up(number)
            log.append(message)
            tickets[number] = self._send(number, message)
        return tickets

    def _read(self) -> None:
        """See that the messages without an answer were understood; that a worker is lost will be
        noticed by the next one."""
        unread, self._unread = self._unread, []
        for tickets in unread:
            for number, ticket in tickets.items():
                with suppress(WorkerLost):
                    self.hands.done({number: ticket})

    def _send(self, number: int, message: Message) -> Any:
        function, args = message
        return self.hands.ask(number, function, self.name, *args)

    def _answers(
        self, tickets: dict[int, Any], messages: Sequence[Message], wait: Callable[..., Any]
    ) -> list[Any]:
        """Wait for the answers; workers that are lost are replaced, which changes their ticket."""
        lost: Counter[int] = Counter()
        while True:
            try:
                answers = wait(tickets)
                return [] if answers is None else [answers[number] for number in sorted(answers)]
            except WorkerLost as error:
                number = error.worker
                lost[number] += 1
                if lost[number] >= LIVES:
                    first, last = self.edges[number]
                    raise PgbnError(
                        f"{self.executor}: worker {number}, which has the rows from {first} to "
                        f"{last}, was lost {LIVES} times at one step: {error.reason}"
                    ) from error
                with suppress(WorkerLost):  # the next round notices it
                    tickets[number] = self._again(number, messages[number])

    def _again(self, number: int, message: Message) -> Any:
        """The ticket of a message to the worker that takes the place of a lost one."""
        if self._ages[number] == self.hands.age(number):
            self.hands.renew(number)
        logged = bool(self._log[number]) and self._log[number][-1] is message
        ticket = self._replay(number)
        return ticket if logged else self._send(number, message)

    def _catch_up(self, number: int) -> None:
        """Tell a worker that is new what the one before was told."""
        lives = LIVES
        while self._ages[number] != self.hands.age(number):
            try:
                self._replay(number)
            except WorkerLost:
                lives -= 1
                if not lives:
                    raise
                self.hands.renew(number)

    def _replay(self, number: int) -> Any:
        """From the last commit on, all messages again, of which all but the last must have been
        understood; the ticket of the last."""
        self._ages[number] = self.hands.age(number)
        messages = [self._first[number]]
        if self._committed is not None:
            (put, *loadings), tickets = self._committed
            messages += [put, (worker.restore, (tickets[number],)), *loadings]
        sent = [self._send(number, message) for message in (*messages, *self._log[number])]
        for ticket in sent[:-1]:
            self.hands.done({number: ticket})
        return sent[-1]


def _forget(hands: Hands, name: str, workers: int) -> None:
    """The chain is no longer needed."""
    with suppress(Exception):  # nor, perhaps, are the workers
        for number in range(workers):
            hands.ask(number, worker.forget_chain, name)
