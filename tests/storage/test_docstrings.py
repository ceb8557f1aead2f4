"""The corpus that needs no download."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
from pgbn.docstrings import docstrings


def test_docstrings() -> None:
    found = docstrings()
    assert len(found) > 2000
    assert "singular" in found["numpy.linalg.svd"].lower()
    assert len(set(found.values())) == len(found)
    assert not any("tests" in name.split(".") for name in found)
