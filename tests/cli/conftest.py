"""Texts in every format, and a model of them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers.corpora import write_corpora

collect_ignore_glob = [] if find_spec("typer") and find_spec("sklearn") else ["test_*.py"]


@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same texts in every format, and a model."""
    from tests.helpers.commands import FAST, run

    place = tmp_path_factory.mktemp("cli")
    write_corpora(place)
    words = ["fit", str(place / "texts"), "-o", str(place / "model"), *FAST, "--max-df", "1.0"]
    assert run(words) == 0
    return place
