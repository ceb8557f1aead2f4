"""Running means of chains."""

from __future__ import annotations

import numpy as np

import pgbn as pg
from pgbn.plot.animate import drift_chart, running_means


def test_running_means_of_the_values() -> None:
    network = pg.zoo.pfa(2)
    data = {"x": np.ones((2, 3), int)}
    means = running_means([network.chain(data, seed=seed, threads=1) for seed in (0, 1)], 4)
    chain = network.chain(data, seed=1, threads=1)
    kept = [float(np.log1p(chain.sweep().values["c0"])) for _ in range(4)]
    assert np.allclose(means["c0"][1], np.cumsum(kept) / np.arange(1, 5))
    assert "phi1" not in means  # its mean is known


def test_the_chart() -> None:
    chains = [pg.zoo.pfa(2).chain({"x": np.ones((2, 3), int)}, seed=s, threads=1) for s in (0, 1)]
    chart = drift_chart(chains, ["a <b>", "c"], 5)
    assert chart.count("<polyline") == 2
    assert "a &lt;b&gt;: " in chart
