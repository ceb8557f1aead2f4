"""What the campaign against bad input shares: bad values, and what a good end is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import pgbn

INFINITE = float("inf")
HUGE = (10**9, 10**30)
ODD = (
    0, -1, 2.5, True, None, "a", "", float("nan"), INFINITE, -INFINITE, [], [3], {}, b"3", 1 + 2j,
    np.int8(3), 3.0, np.array(3), "\ud800", "\x00", "\u202eabc", object(),
)  # fmt: skip

odd = st.sampled_from(ODD)
odd_or_huge = st.sampled_from(ODD + HUGE)
# Any unicode, and often what hurts: half characters, NUL, right-to-left marks, quotes.
_painful = st.sampled_from(["\ud800", "\udfff", "\x00", "\u202e", "\u05d0", " ", "\n", '"', "<"])
words = st.lists(_painful | st.characters(), max_size=6).map("".join)


def campaign(examples: int) -> Callable[[Any], Any]:
    """The same cases in every run, without a deadline: the machine may be busy."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def attempt(run: Callable[[], Any], culprits: Iterable[str]) -> Any:
    """The result, or None after an error that users may meet and that names a culprit.

    Anything else (MemoryError, OverflowError, KeyError, …) is not caught: the test fails.
    """
    try:
        return run()
    except (ValueError, TypeError) as caught:
        error = caught
    text = str(error)
    assert any(name in text for name in culprits), f"{type(error).__name__}: {text}"
    assert isinstance(error, pgbn.PgbnError) or "sklearn" in _origin(error), repr(error)
    return None


def _origin(error: BaseException) -> str:
    """The files that an error came through."""
    files, trace = [], error.__traceback__
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    cause = error.__cause__
    return " ".join(files) + ("" if cause is None else _origin(cause))
