"""Live lines of chains side by side, and R-hat while they run."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from pgbn import zoo
from pgbn.diagnostics import split_rhat
from pgbn.engine.run import meters
from pgbn.engine.run.side_by_side import label_free, worst_rhat
from tests.helpers.small_data import counts


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("rich", [True, False])
def test_a_line_for_each_chain_and_rhat(monkeypatch: pytest.MonkeyPatch, rich: bool) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(meters.Meter, "every", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "250")
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    zoo.pfa(3).sample({"x": counts()}, 2, 8, chains=2, parallel=2, threads=2)
    shown = screen.getvalue()
    for part in ("chain 0: collect 8/8", "chain 1: collect 8/8", "R-hat at most"):
        assert part in shown, (part, shown[-600:])


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
