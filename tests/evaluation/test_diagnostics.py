"""R-hat and effective sample size against ArviZ 0.23.4 (rhat and ess, both by rank)."""

import numpy as np
import pytest

from pgbn.diagnostics import bulk_ess, split_rhat
from pgbn.errors import DataError


def cases() -> dict[str, np.ndarray]:
    g = np.random.default_rng(7)
    out = {"independent": g.normal(size=(4, 100))}
    walk = np.zeros((3, 201))
    noise = g.normal(size=walk.shape)
    for i in range(1, 201):
        walk[:, i] = 0.9 * walk[:, i - 1] + noise[:, i]
    out["autoregressive"] = walk
    out["one apart"] = g.normal(size=(4, 60)) + np.array([0, 0, 0, 3])[:, None]
    out["wider tails"] = g.normal(size=(4, 60)) * np.array([1, 1, 1, 4])[:, None]
    g.normal(size=(2, 50))
    out["antithetic"] = np.where(np.arange(50) % 2, 1, -1) * np.abs(g.normal(size=(2, 50)))
    out["ties"] = g.poisson(2.0, size=(2, 40)).astype(float)
    out["single"] = g.gamma(0.3, size=(1, 37))
    out["short"] = g.normal(size=(2, 11))
    return out


ARVIZ = {
    "independent": (0.9983889049881076, 412.8092068026309),
    "autoregressive": (1.1468744664059218, 17.95506237637578),
    "one apart": (1.484147045054364, 8.768863757722025),
    "wider tails": (1.2357323662448718, 243.63879750996074),
    "antithetic": (0.9923432720055066, 200.0),
    "ties": (0.9948354257035766, 79.5134648280013),
    "single": (None, 18.66245188716625),  # ArviZ gives no R-hat of one chain
    "short": (0.9919941883239946, 21.72102682448339),
}


@pytest.mark.parametrize("name", ARVIZ)
def test_equal_to_arviz(name: str) -> None:
    draws, (rhat, ess) = cases()[name], ARVIZ[name]
    assert bulk_ess(draws) == pytest.approx(ess, rel=1e-10)
    if rhat is not None:
        assert split_rhat(draws) == pytest.approx(rhat, rel=1e-10)


def test_known_autocorrelation() -> None:
    """An AR(1) chain has ESS = n (1 − ρ)/(1 + ρ)."""
    noise, draws = np.random.default_rng(0).normal(size=(4, 20_000)), np.zeros((4, 20_000))
    for i in range(1, draws.shape[1]):
        draws[:, i] = 0.6 * draws[:, i - 1] + noise[:, i]
    assert bulk_ess(draws) == pytest.approx(draws.size * 0.4 / 1.6, rel=0.07)
    assert split_rhat(draws) == pytest.approx(1.0, abs=2e-3)


def test_only_ranks_matter() -> None:
    draws = np.random.default_rng(3).normal(size=(3, 50))
    assert bulk_ess(np.exp(5 * draws)) == bulk_ess(draws)


def test_edges() -> None:
    assert np.isnan(split_rhat([1.0, 2.0, 3.0]))
    assert np.isnan(bulk_ess([[1.0, np.nan, 2.0, 3.0, 1.0]]))
    assert split_rhat(np.ones((2, 10))) == 1.0
    assert bulk_ess(np.ones((2, 10))) == 20.0
    apart = np.repeat([[0.0], [1.0]], 10, axis=1)  # two chains that stand still, elsewhere
    assert split_rhat(apart) == np.inf
    assert bulk_ess(apart) < 10
    for draws in (4, 5, 6, 7, 8, 9, 10):
        values = np.random.default_rng(draws).normal(size=(2, draws))
        assert 0 < bulk_ess(values) < 100
    with pytest.raises(DataError, match=r"\(chains, draws\)"):
        split_rhat(np.ones((2, 2, 2)))
    for words in ("a", [["a", "b"]], [[1.0], [1.0, 2.0]], {}):
        with pytest.raises(DataError, match="give numbers"):
            split_rhat(words)
