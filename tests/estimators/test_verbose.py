"""The lines of ``verbose``."""

from __future__ import annotations

import errno
import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

import pgbn
from pgbn.estimators.pgbn import Reporter


def test_a_line_is_one_line_and_commands_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    chain = SimpleNamespace(network=pgbn.zoo.pgbn([3, 2]))
    event: Any = SimpleNamespace(chain=chain, depth=2, phase="\x1b[2J\n", sweep=5, sweeps=5)
    Reporter(1)(event)
    assert capsys.readouterr().out == "[pgbn] layer 2, \\u001b[2J\\n 5/5, width 2\n"
    Reporter(0)(event)
    assert capsys.readouterr().out == ""


class _Nowhere(io.StringIO):
    """An output that takes nothing: full, a pipe that nobody reads, or closed."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str, /) -> int:
        raise self.error


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "full"), BrokenPipeError(), ValueError("closed file")]
)
def test_training_goes_on_where_nobody_can_read(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout", _Nowhere(error))
    counts = np.random.default_rng(0).poisson(0.5, (30, 20))
    model = pgbn.PGBN((4, 3), burn_in=3, collect=2, min_width=1, random_state=0, verbose=2)
    assert model.fit(counts).n_iter_ == 10
    found = pgbn.train_minibatch(counts, 3, steps=3, show_every=1, seed=0)
    assert found.widths == (3,)
