"""Fixtures of the tests of kernels on disk."""

from __future__ import annotations

from pathlib import Path

import numba
import pytest

from pgbn.samplers import compiled
from tests.helpers.cached_kernel import KERNEL


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where kernels of this test are kept; nothing was said yet."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiled, "_said", [])
    (tmp_path / "kernel.py").write_text(KERNEL)
    return tmp_path / "cache"
