"""Histograms of ranks."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from pgbn.plot.ranks import rank_histograms


def test_bars_outside_of_the_band_are_red() -> None:
    share = np.full(4, 0.25)
    counts = {"good <a>": np.array([26, 25, 24, 25]), "bad": np.array([70, 10, 10, 10])}
    picture = str(rank_histograms(counts, dict.fromkeys(counts, share)))
    ElementTree.fromstring(picture)
    assert picture.count("#b3261e") == 4
    assert "good &lt;a&gt;: 26, 25, 24, 25" in picture
