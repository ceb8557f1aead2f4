"""The corpus that needs no download."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
import pgbn
from pgbn.errors import DataError


def test_docstrings() -> None:
    found = pgbn.datasets.load_docstrings()
    assert len(found) > 2000
    assert "singular" in found["numpy.linalg.svd"].lower()
    assert len(set(found.values())) == len(found)
    assert not any("tests" in name.split(".") for name in found)


def test_packages_that_are_none() -> None:
    for odd in ("numpy", 3, None, ["no_such_package"], [3], [""], {"a": 1}):
        with pytest.raises(DataError, match="packages"):
            pgbn.datasets.load_docstrings(odd)
    assert pgbn.datasets.load_docstrings(["keyword"], shortest=10) == pgbn.datasets.load_docstrings(
        ("keyword",), 10
    )  # a lone module
