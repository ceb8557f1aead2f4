"""Topics over time and by class."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from pgbn.errors import DataError
from pgbn.report import report_data, report_html
from pgbn.report.sections import groups_html, groups_payload, has_groups
from tests.helpers.report_models import trained


def test_columns_of_a_data_frame() -> None:
    kinds, names = list("ab") * 40, [f"t{j}" for j in range(80)]
    years = [2000 + j % 3 for j in range(80)]
    index = range(100, 180)
    series = [pd.Series(column, index=index) for column in (kinds, names, years)]
    plain, framed = (
        report_data(trained(), classes=c, titles=t, dates=d)
        for c, t, d in ((kinds, names, years), series)
    )
    assert report_html(framed) == report_html(plain)


def test_mean_shares_by_period_and_class() -> None:
    years = [2000 + j % 3 if j else None for j in range(80)]
    kinds = [None if j == 5 else "<b>" if j % 4 else "b" for j in range(80)]
    data = report_data(trained(), dates=years, classes=kinds, columns={"date": "<i>"})
    found = groups_payload(data)["groups"]
    assert found["time"]["labels"] == ["2000", "2001", "2002"]
    assert found["time"]["sizes"] == [26, 27, 26]
    rows = [j for j in range(80) if j and j % 3 == 1]
    np.testing.assert_allclose(
        found["time"]["layers"][1][1], 1000 * data.theta[1][rows].mean(axis=0), rtol=6e-3
    )
    assert found["class"]["labels"] == ["<b>", "b"]
    assert found["class"]["sizes"] == [59, 20]
    rows = [j for j in range(80) if kinds[j] == "b"]
    np.testing.assert_allclose(
        found["class"]["layers"][0][1], 1000 * data.theta[0][rows].mean(axis=0), rtol=6e-3
    )
    html = groups_html(data)
    assert "Over time: &lt;i&gt;" in html
    assert html.count("1 documents have none") == 2


def test_rare_classes_are_one() -> None:
    data = report_data(trained(), classes=[f"c{min(j, 20)}" for j in range(80)])
    found = groups_payload(data)["groups"]["class"]
    assert len(found["labels"]) == 13
    assert found["labels"][0] == "c20"
    assert found["labels"][-1] == "all others"
    assert sum(found["sizes"]) == 80
    assert "time" not in groups_payload(data)["groups"]


def test_only_where_they_are_known() -> None:
    data = report_data(trained())
    assert not has_groups(data)
    assert groups_payload(data) == {}
    dated = dataclasses.replace(data, theta=(), dates=["2019"])
    assert not has_groups(dated)
    with pytest.raises(DataError, match="dates: 3 entries, but 80 documents"):
        report_data(trained(), dates=[1, 2, 3])
    with pytest.raises(DataError, match="'soon' of document 0 is no date"):
        report_data(trained(), dates=["soon"] * 80)
