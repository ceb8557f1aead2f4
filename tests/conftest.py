"""Settings that every test has. Helpers that tests import stand in tests/helpers."""

from __future__ import annotations

import gc
import os
import signal
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numpy.typing import NDArray

from tests.helpers.posix import words_of_posix

# Hypothesis: the same cases in every run, and no deadline, since the machine may be busy.
settings.register_profile(
    "pgbn",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def pytest_configure() -> None:
    """What the developer's own shell says must not decide a test."""
    settings.load_profile("pgbn")
    gc.disable()  # until all tests are collected: nothing of them goes away
    os.environ.pop("PGBN_THREADS", None)  # tests that are about it set it
    os.environ["MPLBACKEND"] = "Agg"  # no windows
    # A shell that starts the tests in the background, or nohup, has them ignore signals that tests
    # are about, and their child processes too.
    for name, usual in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On Windows, leave out the tests that need signals, forks, pipes or links of POSIX."""
    if sys.platform != "win32":
        return
    for item in items:
        found = words_of_posix(item.function) if isinstance(item, pytest.Function) else []
        if found:
            item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(found)}"))


def pytest_collection_finish() -> None:
    """What was collected stays to the end: no need to look for cycles among 700,000 objects again
    and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_runtest_setup() -> None:
    """What is drawn without a seed, as by ``random_state=None``, is the same in every run."""
    np.random.seed(0)  # noqa: NPY002 - this is where scikit-learn's None leads


@pytest.fixture(scope="session")
def documents() -> NDArray[np.int64]:
    """Counts of 40 documents × 25 terms, with an empty document and an unused term."""
    x = np.random.default_rng(0).poisson(0.6, (40, 25))
    x[3] = 0
    x[:, 7] = 0
    x.flags.writeable = False  # shared by all tests
    return x
