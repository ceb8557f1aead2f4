"""Deep Poisson factor analysis with sigmoid belief gates."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import Bernoulli, LogitBernoulli, Network, NetworkError, zoo
from tests.helpers.recovery import covered

MILD = (4.0, 4.0)
SIZES = {"doc": 3, "term": 3}


def mild(*widths: int) -> Network:
    return zoo.dpfa_sbn(widths, 1.0, (2.0, 2.0), MILD, (2.0, 4.0), MILD, MILD)


def test_layers() -> None:
    net = zoo.dpfa_sbn([8, 4, 2])
    assert [type(net[f"h{t}"]) for t in (1, 2, 3)] == [LogitBernoulli, LogitBernoulli, Bernoulli]
    assert net["w2"].axes == ("unit2", "unit3")
    assert net.sizes == {"topic": 8, "unit2": 4, "unit3": 2}
    assert isinstance(zoo.dpfa_sbn([5])["h1"], Bernoulli)
    with pytest.raises(NetworkError, match=r"widths\[1\]=0"):
        zoo.dpfa_sbn([3, 0])


@pytest.mark.long
def test_intervals_cover_the_rates() -> None:
    assert 80 <= covered(mild(2, 2), {"doc": 12, "term": 4}) <= 97


def test_new_documents() -> None:
    net = zoo.dpfa_sbn([4, 2])
    x = np.random.default_rng(0).poisson(2.0, (6, 5))
    draws = net.sample({"x": x}, burn_in=5, draws=4, seed=0)
    rows = net.infer({"x": x[:2]}, given=draws, rows="doc", burn_in=5, samples=8)
    assert rows["h2"].shape == (2, 2)
    assert ((rows["h2"] >= 0) & (rows["h2"] <= 1)).all()
