"""The table of widths: what is given, used and effective, and how each layer reads."""

import re

import numpy as np

from pgbn.report.convert import report_data
from pgbn.report.sections import widths_html
from pgbn.training.trained import TrainedNetwork


def three_topics():
    """Topics 0 and 2 of 20 terms share eight of ten leading terms; topic 1 has ten of its own."""
    phi = np.full((3, 20), 1e-4)
    phi[0, :10] = phi[1, 10:] = phi[2, 2:12] = np.arange(10, 0, -1)
    phi /= phi.sum(axis=1, keepdims=True)
    return TrainedNetwork(phi=(phi,), r=np.ones(3), c=np.ones(1), weights=(np.ones(3),))


def test_twins_and_diversity_stand_beside_the_widths():
    page = widths_html(report_data(three_topics(), max_width=3))
    figures = re.findall(r'<td class="figure">([^<]*)</td>', page)
    assert figures == ["3", "3", "3.0", "2", "0.67"]
    assert "All topics that layer 1 was given are in use" in page
    assert "six of their ten words" in page
