"""Dates and periods."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.report.periods import check_dates, periods_of


@pytest.mark.parametrize(("dates", "of", "first", "last"), [
    (["2019-03-01", "2021-07-30", "", "2020-05"], [0, 28, -1, 14], "2019-03", "2021-07"),
    (["2019", 2021.0, None, float("nan")], [0, 2, -1, -1], "2019", "2021"),
    ([1990, 2021], [0, 15], "1990", "2020"),
    (["2019-03-01T23:00:00-05:00", "2019-03-05"], [0, 3], "2019-03-02", "2019-03-05"),
    ([date(1800, 1, 1), "2019-03-05"], [0, 21], "1800", "2010"),
    (["2019-03-05", "2019-06-30"], [0, 16], "2019-03-04", "2019-06-24"),  # weeks
    ([np.datetime64("2019-03-01"), datetime(2019, 3, 1, tzinfo=UTC)], [0, 0], "2019-03-01",
     "2019-03-01"),
    ([0.1, 0.9], [0, 16], "0.1", "0.9"),
    ([5], [0], "5", "5"),
    (["1019-01-01", "2050-01-01"], [0, 10], "1000", "2000"),
])  # fmt: skip
def test_periods(dates, of, first, last) -> None:
    found = periods_of(dates)
    assert found.of.tolist() == of
    assert (found.labels[0], found.labels[-1]) == (first, last)
    assert max(of) < len(found.labels) <= 30


def test_a_zone_moves_the_day() -> None:
    late = datetime(2019, 3, 1, 23, tzinfo=timezone(timedelta(hours=-5)))
    assert periods_of([late]).labels == ("2019-03-02",)


@pytest.mark.parametrize(("dates", "said"), [
    (["2019-03-01", "soon"], r"'soon' of document 1 is no date; give years"),
    (["2019-13-01", "2019"], "'2019-13-01' of document 0"),
    ([None, ""], "no document has a date"),
])  # fmt: skip
def test_what_is_no_date_is_refused(dates, said) -> None:
    with pytest.raises(DataError, match=said):
        check_dates(dates)
