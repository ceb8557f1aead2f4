"""A saved model, documents in every format, and a place for bad files."""

from __future__ import annotations

from pathlib import Path

import pytest

import pgbn
from tests.helpers.corpora import write_corpora
from tests.helpers.saved import QUICK, counts


@pytest.fixture(scope="module")
def trained() -> pgbn.LayerwiseTraining:
    return pgbn.train_layerwise(counts(), 8, 2, average=3, **QUICK)


@pytest.fixture
def folder(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> Path:
    """A saved model."""
    pgbn.save(trained, tmp_path / "model", data=counts())
    return tmp_path / "model"


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same texts in every format."""
    pytest.importorskip("sklearn")
    place = tmp_path_factory.mktemp("corpora")
    write_corpora(place)
    return place


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text with odd characters, and a model of it."""
    pytest.importorskip("typer")
    pytest.importorskip("sklearn")
    from tests.helpers.hostile_commands import make_model

    return make_model(tmp_path_factory.mktemp("hostile"))
