"""The table of convergence."""

import re

import numpy as np
import pytest

from pgbn.report import report_data, report_html
from pgbn.training import train_layerwise


@pytest.mark.filterwarnings("error")
def test_a_training_too_short_to_settle_shows_dashes() -> None:
    counts = np.random.default_rng(0).poisson(1.0, (30, 12))
    model = train_layerwise(counts, 6, 2, burn_in=9, collect=1, min_width=1, threads=1)
    data = report_data(model)
    assert data.series[0].settled == data.series[0].sweeps.size  # nothing is left
    page = report_html(data)
    assert not re.findall(r"<td[^>]*>[^<]*nan[^<]*</td>", page)
    assert '<td class="figure">–</td>' * 4 in page
