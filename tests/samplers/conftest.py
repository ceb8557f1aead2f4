"""Fixtures of the tests of kernels on disk."""

from __future__ import annotations

import sys
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
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # which is told apart by seconds only
    (tmp_path / "kernel.py").write_text(KERNEL)
    return tmp_path / "cache"
