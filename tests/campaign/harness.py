"""What the campaigns share: a case is a number, and any error but one of pgbn's is a finding.

A campaign is a class: it is made with an empty folder, and ``run(number)`` runs a case. The same
number is the same case in every run. A case may end in a result or in a `pgbn.PgbnError`. Anything
else is a finding: another error, a NaN, a crash, or more than 30 seconds of the processor.
"""

from __future__ import annotations

import io
import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import NotFittedError

import pgbn
from pgbn.cli import run_command

__all__ = ["Campaign", "check_finite", "command", "forked", "refusable", "run_cases"]

SECONDS = 30


class Campaign(Protocol):
    """Cases by their numbers."""

    def run(self, number: int) -> None:
        """Case ``number``."""


def run_cases(
    campaign: Campaign, numbers: Iterable[int], seconds: float = 1e9
) -> tuple[int, list[str]]:
    """How many cases were run within the time, and what was found."""

    def late(*ignored: Any) -> None:
        raise TimeoutError(f"more than {SECONDS} s")

    done, found, start = 0, [], time.monotonic()
    before = [(number, signal.signal(number, late)) for number in _timers()]
    try:
        for number in numbers:
            if time.monotonic() - start > seconds:
                break
            _limit(SECONDS)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    campaign.run(number)
            except Exception:
                found.append(f"case {number}: {traceback.format_exc()}")
            finally:
                _limit(0)
            done += 1
    finally:
        for number, handler in before:
            signal.signal(number, handler)
    return done, found


def _timers() -> list[int]:
    return [getattr(signal, name) for name in ("SIGALRM", "SIGPROF") if hasattr(signal, name)]


def _limit(seconds: float) -> None:
    """So much time of the processor, and twenty times as much by the clock: a machine that others
    use is no finding, and an error in the middle of numba's compiler would leave its lock held."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, 20 * seconds)


def check_finite(what: str, arrays: dict[str, Any]) -> None:
    """Arrays without NaN and infinite numbers."""
    for name, array in arrays.items():
        assert np.isfinite(np.asarray(array)).all(), f"{what}: {name} is not finite"


def refusable(run: Callable[[], Any]) -> Any:
    """The result, or None after an error of pgbn."""
    try:
        return run()
    except (pgbn.PgbnError, NotFittedError):  # an estimator may be saved before it is fitted
        return None


def command(words: list[str]) -> None:
    """A command of the shell, which must end in a result or in one line."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = run_command(words)
    assert "a bug?" not in error.getvalue(), error.getvalue()
    for text in (out.getvalue(), error.getvalue()):
        assert "\x1b" not in text, f"{words}: an escape reaches the terminal"
    assert code in (0, 1, 2), (words, code)


def forked(work: Callable[[], Any], seconds: float = 1e6, sent: int = 0) -> bool:
    """Whether a child that does some work was stopped before it was done.

    After ``seconds`` the child gets the signal ``sent``, by default SIGKILL. A child that ends by
    `KeyboardInterrupt` was stopped. A child that fails is an error."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the child may end
    process = os.fork()
    if process == 0:
        code = 1
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            work()
            code = 0
        except KeyboardInterrupt:
            code = 2
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    due, sent = time.monotonic() + seconds, sent or signal.SIGKILL
    while not (ended := os.waitpid(process, os.WNOHANG))[0]:
        if time.monotonic() > due:
            os.kill(process, sent)
            due = 1e30
        time.sleep(0.001)
    status = ended[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 1:
        raise AssertionError("a child failed")
    return os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 2
