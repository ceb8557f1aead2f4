"""Live lines of chains side by side, and R-hat while they run."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from pgbn import zoo
from pgbn.diagnostics import split_rhat
from pgbn.engine.run import progress
from pgbn.engine.run.run_plan import label_free, worst_rhat
from tests.helpers.small_data import counts


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("rich", [True, False])
def test_a_line_for_each_chain_and_rhat(monkeypatch: pytest.MonkeyPatch, rich: bool) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress.Meter, "every", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "250")
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    zoo.pfa(3).sample({"x": counts()}, 2, 8, chains=2, parallel=2, threads=2)
    shown = screen.getvalue()
    for part in ("chain 0: collect 8/8", "chain 1: collect 8/8", "R-hat at most"):
        assert part in shown, (part, shown[-600:])


class Watched(progress.Meter):
    """Shows each chain once in an hour."""

    every = 3600.0

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def show(self, text: str, part: float) -> None:
        self.texts.append(text)


def test_the_lines_are_lines_and_the_last_ones_are_true(monkeypatch: pytest.MonkeyPatch) -> None:
    r"""They were one line with "\n" in it, and a chain that another was shown before stood still."""
    meter = Watched()
    monkeypatch.setattr(progress, "choose_meter", lambda: meter)
    zoo.pfa(3).sample({"x": counts()}, 2, 8, chains=2, parallel=2, threads=2)
    lines = meter.texts[-1].split("\n")
    assert [line.partition(" ·")[0] for line in lines[:2]] == [
        "chain 0: collect 8/8", "chain 1: collect 8/8",
    ]  # fmt: skip
    assert lines[2].startswith("R-hat at most")


def test_rhat_of_what_has_no_labels() -> None:
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.ones(5), 3)
    assert label_free(phi, True) == pytest.approx(label_free(phi[[2, 0, 1]], True))
    assert label_free(np.arange(4.0), False) == 1.5
    good, bad = rng.normal(size=(2, 50)), rng.normal(size=(2, 50))
    bad[1] += 5
    traces = [{"a": list(good[n]), "b": [*bad[n], *[0.0] * n]} for n in range(2)]
    assert worst_rhat(traces) == (split_rhat(bad), "b")
    assert worst_rhat([{"a": [1.0]}, {"a": [2.0]}]) is None
    assert worst_rhat([{"a": [1.0]}, {}]) is None
    assert worst_rhat([]) is None
