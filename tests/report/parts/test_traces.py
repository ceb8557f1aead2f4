"""The table of convergence."""

import re

import numpy as np
import pytest

from pgbn.report import Series, report_data, report_html
from pgbn.report.traces import diagnosis_html
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


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (np.array([[4.0, 0.0, 3.0, 1.0, 2.0, 5.0]]), "too few draws"),  # R-hat 0.842, ESS 5
        (np.random.default_rng(1).normal(size=(1, 60)), "too few draws"),
        (np.random.default_rng(0).normal(size=(1, 400)), "mixed"),
        (np.random.default_rng(0).normal(size=(4, 60)), "too few draws"),
        (np.random.default_rng(0).normal(size=(4, 400)), "mixed"),
        (np.arange(400.0)[None], "run longer"),
        (np.repeat([[1.0, 2.0]], 200, axis=1), "run longer"),  # R-hat is infinite
        (np.full((1, 3), 1.0), "too few draws"),
    ],
)
def test_the_verdict_needs_enough_draws(values, verdict) -> None:
    series = Series("log likelihood", np.arange(float(values.shape[1])), values)
    assert series.verdict == verdict
    page = diagnosis_html([series])
    assert re.search(f">{verdict}(</span>)?</td></tr>", page)
    assert ('class="note">“' in page) is (verdict != "mixed"), "what it means is explained"
