"""Every text is the one that was written. If a change is meant: python -m tests.snapshots.write."""

from __future__ import annotations

from difflib import unified_diff

import pytest

import pgbn as pg

from .texts import MODELS, TEXTS
from .write import FILES, as_written


def test_every_file_is_a_text() -> None:
    assert {path.name for path in FILES.iterdir()} == set(TEXTS)


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_is_the_one_in_the_file(name: str) -> None:
    file, found = (FILES / name).read_text("utf-8"), as_written(TEXTS[name]())
    difference = unified_diff(
        file.splitlines(), found.splitlines(), name, "found", n=1, lineterm=""
    )
    assert found == file, "\n".join(difference)


@pytest.mark.parametrize("name", MODELS)
def test_json_is_read_and_written_again(name: str) -> None:
    text = MODELS[name]().to_json()
    assert pg.Network.from_json(text).to_json() == text


def test_every_node_type_has_a_text() -> None:
    """Types that the models of the zoo use; a new model of the zoo may need a new text."""
    from tests.helpers.models import zoo_models
    from tests.helpers.wider_models import wider_models

    every = [*zoo_models().values(), *(network for network, _ in wider_models().values())]
    used = {type(node).__name__ for network in every for node in network.nodes.values()}
    shown = {type(node).__name__ for make in MODELS.values() for node in make().nodes.values()}
    assert used <= shown
