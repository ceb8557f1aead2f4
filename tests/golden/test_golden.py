"""Today's code reads what an earlier commit wrote, and goes on from it as that commit did."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest

import pgbn as pg
from tests.same_bits.machine import differences

from .describe import LINES, command, continued, described, digest, is_stopped, resumed
from .write import COMMAND, EXPECTED, FILES, NETWORKS

RECORD = json.loads(EXPECTED.read_text("utf-8"))
NAMES = list(RECORD["files"])
CHECKPOINTS = [name for name in NAMES if is_stopped(FILES / name)]
MODELS = [name for name in NAMES if name not in CHECKPOINTS]
ELSEWHERE = differences(RECORD["machine"])

# Draws have the same bits on every x86-64 machine; what numpy computes from them has not.
x86_64 = platform.machine() in ("x86_64", "AMD64")
same_draws = pytest.mark.skipif(not x86_64, reason="draws were recorded on x86-64")


def _sklearn(name: str) -> None:
    if name.startswith("estimator") or name == COMMAND:
        pytest.importorskip("sklearn")


def test_the_files_are_those_that_are_expected() -> None:
    assert {path.name for path in FILES.iterdir()} == set(RECORD["files"])
    assert {path.stem for path in NETWORKS.iterdir()} == set(RECORD["networks"])


@pytest.mark.parametrize("name", RECORD["networks"])
def test_networks_are_read(name: str) -> None:
    text = (NETWORKS / f"{name}.json").read_text("utf-8")
    network = pg.Network.from_json(text)
    assert network.to_json(None) + "\n" == text
    assert digest(network.schedule.latex()) == RECORD["networks"][name]


@pytest.mark.parametrize("name", NAMES)
def test_files_are_read(name: str) -> None:
    _sklearn(name)
    assert described(FILES / name) == RECORD["files"][name]["content"]


@pytest.mark.parametrize("name", MODELS)
def test_what_is_read_can_be_written(name: str, tmp_path: Path) -> None:
    _sklearn(name)
    pg.save(pg.load(FILES / name, threads=1), tmp_path / "again")
    old, new = RECORD["files"][name]["content"], described(tmp_path / "again")
    assert (new["type"], new["kind"], new["object"]) == (old["type"], old["kind"], old["object"])


@same_draws
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_models_go_on(name: str, threads: int) -> None:
    _sklearn(name)
    if name.endswith("data-frame"):
        pytest.importorskip("pandas")
    assert continued(FILES / name, threads) == RECORD["files"][name]["next"]


@same_draws
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_stopped_trainings_go_on(name: str, threads: int) -> None:
    """The result is that of the training without a stop: ``write`` has compared them."""
    assert digest(resumed(FILES / name, threads)) == RECORD["files"][name]["next"]


@pytest.mark.parametrize("line", LINES)
def test_commands_print_the_same(line: str) -> None:
    pytest.importorskip("typer")
    pytest.importorskip("sklearn")
    if ELSEWHERE and "topics" in line:
        pytest.skip(f"the last digits of its means were recorded on another machine: {ELSEWHERE}")
    assert command(line, FILES / COMMAND) == RECORD["files"][COMMAND]["commands"][line]
