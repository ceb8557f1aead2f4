"""The corpus that needs no download."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
from pgbn.docstrings import docstrings
from pgbn.errors import DataError


def test_docstrings() -> None:
    found = docstrings()
    assert len(found) > 2000
    assert "singular" in found["numpy.linalg.svd"].lower()
    assert len(set(found.values())) == len(found)
    assert not any("tests" in name.split(".") for name in found)


def test_packages_that_are_none() -> None:
    for odd in ("numpy", 3, None, ["no_such_package"], [3], [""], {"a": 1}):
        with pytest.raises(DataError, match="packages"):
            docstrings(odd)
    assert docstrings(["keyword"], shortest=10) == docstrings(("keyword",), 10)  # a lone module
