"""The four ways through the package go down room by room, and come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.ways import Visits, four_ways, visits
from tests.rooms.table import ROOMS

# Functions that are handed down: how a sampler revises a step (and the verb `sample` itself), work
# for the executor of a chain, a callback of a training, codecs, what the live line shows.
HANDED_DOWN = {
    ("network", "engine"),
    ("samplers", "engine"),
    ("training", "estimators"),
    ("storage", "engine"),
    ("storage", "training"),
    ("engine", "training"),
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Visits]:
    folder = tmp_path_factory.mktemp("ways")
    return {name: visits(way) for name, way in four_ways(str(folder)).items()}


WAYS = ("net.sample", "PGBN().fit", "transform", "pgbn fit")


@pytest.mark.parametrize("way", WAYS)
def test_no_room_calls_the_verbs_of_one_below(way: str, seen: dict[str, Visits]) -> None:
    """A verb goes up. Whoever is up already calls the room itself, and does not come back."""
    assert not seen[way].verbs


@pytest.mark.parametrize("way", WAYS)
def test_calls_go_down(way: str, seen: dict[str, Visits]) -> None:
    up = {
        (caller, room)
        for caller, room in seen[way].calls
        if room != "top" and caller != "top" and room not in ROOMS[caller].imports
    }
    assert up <= HANDED_DOWN


def test_the_ways_are_walked(seen: dict[str, Visits], tmp_path: Path) -> None:
    assert "engine/run/chain.py" in seen["net.sample"].files
    assert "estimators/pgbn.py" in seen["PGBN().fit"].files
    assert "samplers/documents/scratch.py" not in seen["net.sample"].files
    assert "cli/train.py" in seen["pgbn fit"].files
