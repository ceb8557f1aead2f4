"""docs/agreement.md shows the results that are kept, and none of them is a disagreement."""

from __future__ import annotations

import json
import re
from pathlib import Path

from benchmarks import agreement

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_results(monkeypatch) -> None:
    monkeypatch.setattr(agreement, "RESULTS", ROOT / agreement.RESULTS)
    page = (ROOT / agreement.PAGE).read_text("utf-8")
    assert set(re.findall(r"<!-- begin (\w+) -->", page)) == set(agreement.TABLES)
    assert agreement.with_tables(page) == page


def test_every_difference_is_below_three_standard_errors() -> None:
    for name in agreement.TABLES:
        found = json.loads((ROOT / agreement.RESULTS / f"agreement-{name}.json").read_text("utf-8"))
        assert found["scores"]
        assert max(map(abs, found["scores"].values())) < agreement.MOST, name


def test_a_program_that_is_behind_is_seen() -> None:
    """Three seeds, half a unit apart: many standard errors."""
    near, far = [1.0, 1.1, 0.9], [0.5, 0.6, 0.4]
    scores = agreement.compare({"pgbn": {2: near}, "topica": {2: far}, "textbook": {2: near}})
    assert scores["topica, 2 sweeps"] > agreement.MOST
    assert scores["textbook, 2 sweeps"] == 0
