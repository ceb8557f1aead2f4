"""A few cases of every campaign, the record of the long ones, and the page that shows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pgbn
from tests.campaign.__main__ import CAMPAIGNS, RESULTS, main, table
from tests.helpers.repository import DOCS

ROOT = Path(__file__).parents[2]
# campaign → cases in an ordinary run of the tests; those of one line share a process
SHORT = (
    {"corpora": 60, "changes": 6, "folders": 12},
    {"commits": 25, "kills": 7, "faults": 3, "interrupts": 3},
    {"forms": 24, "extremes": 12, "calls": 400},
    {"renamed": 3},
)
POSIX = {"changes", "commits", "kills", "faults", "interrupts"}  # they fork


def test_every_campaign_has_a_short_form() -> None:
    assert {name for each in SHORT for name in each} == set(CAMPAIGNS)


@pytest.mark.parametrize("cases", SHORT, ids=lambda cases: next(iter(cases)))
def test_a_few_cases(cases: dict[str, int], tmp_path: Path) -> None:
    """In a process of its own, since cases fork, replace signals and end processes."""
    results = tmp_path / "results.json"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    for name, number in cases.items():
        if not hasattr(os, "fork") and name in POSIX:
            continue
        command = [sys.executable, "-m", "tests.campaign", "--only", name, "--cases", str(number),
                   "--results", str(results)]  # fmt: skip
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True,
                              timeout=900, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
        assert json.loads(results.read_text())[name]["cases"] == number


def test_a_finding_ends_the_command_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader that ends by another error than one of pgbn."""
    monkeypatch.setattr(pgbn.Corpus, "read", lambda *_, **__: 1 // 0)
    results = str(tmp_path / "results.json")
    assert main(["--only", "corpora", "--cases", "2", "--results", results]) == 1
    assert "corpora: 2 cases, 2 findings" in capsys.readouterr().out


def test_the_page_has_the_results() -> None:
    """docs/reliability.md: `python -m tests.campaign --table` makes the table."""
    results = json.loads(RESULTS.read_text())
    assert set(results) == set(CAMPAIGNS)
    assert not any(each["findings"] for each in results.values())
    assert table(results) in (DOCS / "reliability.md").read_text("utf-8")
