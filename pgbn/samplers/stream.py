"""What a vectorised draw needs to know: its key, its shape, its executor."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from pgbn.samplers.executor import SERIAL, Executor, Threads
from pgbn.samplers.random import stream_key, word_of

__all__ = ["Stream"]


@dataclass(slots=True)
class Stream:
    """The random numbers of one draw of an array of ``shape``.

    An array of a node is seen as (replicate, d1, d2, d3), with further axes if it has more dims.
    Its rows, along the last axis, are numbered by the flat index of the others; row i is drawn
    from the stream of (key, i) in order.
    A key must serve one draw only: two draws with one key are not independent, so a rule that
    draws twice takes a `child` for the second. ``simplex`` is the axis, or the axes, along
    which the node's value sums to one, where it does. ``executor`` may be a number of threads.
    ``variates``, if given, draw in place of the kernels: ``variates.gamma(stream, shape, rate)``
    stands for `pgbn.samplers.vectorised.gamma`, and so on (see `pgbn.samplers.plain`).
    """

    key: int
    shape: tuple[int, ...]
    executor: Executor = SERIAL
    simplex: Any = 3
    variates: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.executor, Integral):
            self.executor = Threads(int(self.executor))

    def child(self, name: str, without: int | tuple[int, ...] | None = None) -> "Stream":
        """An independent stream of the same shape, or with size 1 on the axes ``without``."""
        out = without if isinstance(without, tuple) else (without,)
        shape = tuple(1 if axis in out else size for axis, size in enumerate(self.shape))
        key = stream_key(self.key, word_of(name))
        return Stream(key, shape, self.executor, self.simplex, self.variates)
