"""Settings that every test has. Helpers that tests import stand in tests/helpers."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

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
    os.environ.pop("PGBN_THREADS", None)  # tests that are about it set it
    os.environ["MPLBACKEND"] = "Agg"  # no windows


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On Windows, leave out the tests that need signals, forks, pipes or links of POSIX."""
    if sys.platform != "win32":
        return
    for item in items:
        found = words_of_posix(item.function) if isinstance(item, pytest.Function) else []
        if found:
            item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(found)}"))
