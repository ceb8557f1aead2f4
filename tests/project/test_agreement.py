"""docs/agreement.md shows the results that are kept, and none of them is a disagreement."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import norm

from benchmarks import agreement

ROOT = Path(__file__).parents[2]


def read(name: str) -> dict[str, Any]:
    path = ROOT / agreement.RESULTS / f"agreement-{name}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def test_the_page_shows_the_results(monkeypatch) -> None:
    monkeypatch.setattr(agreement, "RESULTS", ROOT / agreement.RESULTS)
    page = (ROOT / agreement.PAGE).read_text("utf-8")
    assert set(re.findall(r"<!-- begin (\w+) -->", page)) == set(agreement.TABLES)
    assert agreement.with_tables(page) == page


def test_every_difference_is_below_three_standard_errors() -> None:
    for name in agreement.TABLES:
        found = read(name)
        assert found["scores"]
        assert all(abs(score) < agreement.MOST for score in found["scores"].values()), name
        assert (ROOT / agreement.IMAGES / f"agreement-{name}.png").is_file()


def test_the_differences_are_those_of_the_numbers_that_are_kept() -> None:
    peers, authors, calibration = (read(name) for name in ("peers", "authors", "calibration"))
    assert agreement.compare(peers["found"]) == pytest.approx(peers["scores"])
    heldout = json.loads((ROOT / agreement.RESULTS / "heldout.json").read_text("utf-8"))
    assert agreement.authors(heldout) == pytest.approx(authors["scores"])
    values = {name: norm.isf(each["p"] / 2) for name, each in calibration["found"].items()}
    assert values == pytest.approx(calibration["scores"])
    for trace in peers["found"].values():
        assert {len(values) for values in trace.values()} == {8}  # seeds


def test_a_program_that_is_behind_is_seen() -> None:
    """Three seeds, half a unit apart: many standard errors."""
    near, far = [1.0, 1.1, 0.9], [0.5, 0.6, 0.4]
    scores = agreement.compare({"pgbn": {2: near}, "topica": {2: far}, "textbook": {2: near}})
    assert scores["topica, 2 sweeps"] > agreement.MOST
    assert scores["textbook, 2 sweeps"] == 0
