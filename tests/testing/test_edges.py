"""check_edge: right edges pass, and each of the three methods is seen when it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pgbn as pg
from pgbn.samplers import share_out
from pgbn.testing import check_edge, z_counts, z_mean
from tests.helpers.own_edges import Carried, Moving

SIZES = {"day": 3, "place": 2}
EVENT = pg.Gamma("event", 1.5, 2.0, dims=("place", "day"))
EDGE = Carried(EVENT, axis=2, weights=(0.5, 0.3))


def test_a_right_edge_passes() -> None:
    result = check_edge(EDGE, SIZES, replicates=5_000)
    assert not result.failures, str(result)
    assert set(result.errors) == {"evaluate", "least coefficient below 0", "expose of",
                                  "rows of place alone"}  # fmt: skip
    assert "one count in cell" in str(result)
    wide = check_edge(Carried(EVENT + 2.0 * EVENT, axis=2, weights=(1.0, 1.0)), SIZES, 2_000)
    assert not wide.failures


def _even(self: Any, stream: Any, count: Any, of: Any) -> Any:
    """Shares that do not look at the operand."""
    late = [np.broadcast_to(self._late(np.ones_like(of), s), of.shape) for s, _ in self._lags(of)]
    return {"of": sum(self._early(n, s) for s, n in enumerate(share_out(stream, count, late)))}


def _whole(self: Any, stream: Any, count: Any, of: Any) -> Any:
    """All counts of a cell go to one summand: the means are right, the law is not."""
    parts = [w * self._late(of, s) for s, w in self._lags(of)]
    (first, second) = share_out(stream, np.minimum(count, 1), parts)
    return {"of": first * count + self._early(second * count, 1)}


def _lost(self: Any, stream: Any, count: Any, of: Any) -> Any:
    return {"of": count * 0}


BROKEN: dict[str, tuple[str, Callable[..., Any], str]] = {
    "even shares": ("split", _even, "one count in cell"),
    "one summand a cell": ("split", _whole, "variance of of"),
    "lost counts": ("split", _lost, "one count in cell"),
    "not adjoint": ("expose", lambda self, slot, exposure, shape: self.evaluate(exposure), "expose"),
    "not linear": ("evaluate", lambda self, of: of**2 + self._late(of, 1), "evaluate"),
    "rows of days": ("independent_dims", lambda self, of: ("day",), "rows of day alone"),
    "negative": ("evaluate", lambda self, of: of - 0.1 * self._late(of, 1), "below 0"),
}  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_a_wrong_edge_is_seen(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, function, name = BROKEN[broken]
    monkeypatch.setattr(Carried, method, function)
    failures = check_edge(EDGE, SIZES, replicates=5_000).failures
    assert any(name in failure for failure in failures), failures


def test_what_cannot_be_checked_is_said() -> None:
    with pytest.raises(pg.NetworkError, match="give an edge that defines evaluate"):
        check_edge(Moving(EVENT, along="day", size=3, weights=(1.0,)), SIZES)
    with pytest.raises(pg.NetworkError, match="give the size of 'day'"):
        check_edge(EDGE, {"place": 2})
    with pytest.raises(pg.NetworkError, match="too many"):
        check_edge(EDGE, {"day": 100, "place": 20})


# ---- scores of samples ----

RNG = np.random.default_rng(0)
POISSON = RNG.poisson(3.0, 20_000)


def test_right_claims_pass_and_wrong_ones_do_not():
    assert abs(z_mean(POISSON, 3.0)) < 4
    assert z_mean(POISSON, 2.9) > 4
    assert z_mean(POISSON, 3.1) < -4
    assert abs(z_counts(POISSON, stats.poisson(3.0).pmf)) < 4
    assert z_counts(POISSON, stats.poisson(3.2).pmf) > 4
    assert z_counts(POISSON, stats.nbinom(3, 0.5).pmf) > 4


def test_scores_of_right_claims_are_standard_normal():
    scores = [z_mean(RNG.exponential(2.0, 500), 2.0) for _ in range(400)]
    assert abs(np.mean(scores)) < 0.25
    assert 0.85 < np.std(scores) < 1.15


def test_impossible_draws_and_certain_ones():
    assert z_counts([0, 1, 1, 7], lambda n: np.where(n < 2, 0.5, 0.0)) == float("inf")
    assert z_mean([2.0, 2.0, 2.0], 2.0) == 0.0
    assert z_mean([2.0, 2.0, 2.0], 1.0) == float("inf")
    with pytest.raises(pg.DataError, match="give at least 2"):
        z_mean([1.0], 1.0)
    for wrong in ([1], [-1, 2], [0.5, 1.0]):
        with pytest.raises(pg.DataError, match="whole numbers from 0 on"):
            z_counts(wrong, stats.poisson(1.0).pmf)
