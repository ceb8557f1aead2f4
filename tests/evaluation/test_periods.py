"""Dates and periods."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation.periods import check_dates, periods_of, time_bins
from tests.evaluation.test_shares import Boxed


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
    ([1.6e18, 1.6e18], [0, 0], "1.6e+18", "1.6e+18"),
    (["1019-01-01", "2050-01-01"], [0, 10], "1000", "2000"),
])  # fmt: skip
def test_periods(dates, of, first, last) -> None:
    found = periods_of(dates)
    assert found.of.tolist() == of
    assert (found.labels[0], found.labels[-1]) == (first, last)
    assert max(of) < len(found.labels) <= 30


@pytest.mark.parametrize(("dates", "said"), [
    (["2019-03-01", "soon"], r"'soon' of document 1 is not a date; give years"),
    (["2019-13-01", "2019"], "'2019-13-01' of document 0"), ([None, ""], "no document has a date"),
    ([[1, 2]], r"\[1, 2\] of document 0"), ([np.nan], "no document has a date"),
    ([1e30], "1e\\+30 of document 0"), ([float("inf")], "inf of document 0"),
])  # fmt: skip
def test_what_is_no_date_is_refused(dates, said) -> None:
    for read in (check_dates, time_bins):
        with pytest.raises(DataError, match=said):
            read(dates)
    with pytest.raises(DataError, match="bins=0"):
        time_bins([2000], 0)


@pytest.mark.parametrize("form", ["list", "object", "floats", "texts", "nullable", "arrow"])
def test_years_are_years_though_one_is_missing(form) -> None:
    years: object = [None, *range(2000, 2010)]
    if form in ("object", "nullable"):
        pandas = pytest.importorskip("pandas")
        years = pandas.Series(years, dtype=object if form == "object" else "Int64")
    elif form == "floats":
        years = np.array([np.nan, *range(2000, 2010)])
    elif form == "texts":
        years = ["", *map(str, range(2000, 2010))]
    elif form == "arrow":
        years = Boxed(years)
    assert time_bins(years, 2) == [None, *[2000] * 5, *[2005] * 5]
    assert periods_of(years).of.tolist() == [-1, *range(10)]


@pytest.mark.parametrize(("dates", "bins", "begins"), [
    ([2000, 2001, 2004, 2010], 2, [2000, 2000, 2000, 2006]),
    (range(2000, 2011), 10, [2000 + n // 2 * 2 for n in range(11)]),
    ([2000, 2004], 10, [2000, 2004]),  # not 2000.4
    ([2000.5, 2003.9, 2009.2], 2, [2000, 2000, 2005]),
    ([0.0, 0.3, 1.0], 2, [0.0, 0.0, 0.5]),
    ([5.0, np.nan], 3, [5, None]),
    (["2020-01-01", None, "2020-12-31", "2020-03-01"], 2, ["2020-01", None, "2020-07", "2020-01"]),
    (["2001-05-03", "2004-02-01"], 10, ["2001-05", "2004-01"]),  # thirds of a year
    (["2001-05-03", "2011-02-01"], 10, ["2001", "2011"]),
    (["2001-05-03", "2001-05-12", "2001-05-08"], 2, ["2001-05-03", "2001-05-08", "2001-05-08"]),
    (["2001-05-03T01:10", "2001-05-03T04:20"], 2, ["2001-05-03T01", "2001-05-03T03"]),
    (["2001-05-03", "2004-02-01"], 1, ["2001", "2001"]),
])  # fmt: skip
def test_at_most_so_many_periods_of_whole_years_months_or_days(dates, bins, begins) -> None:
    found = time_bins(dates, bins)
    texts = any(isinstance(each, str) for each in begins)
    assert found == ([each and np.datetime64(each) for each in begins] if texts else begins)
    assert len({each for each in found if each is not None}) <= bins


def test_without_a_number_periods_are_those_of_the_report() -> None:
    years = [None, *range(2000, 2011)]
    assert time_bins(years) == years
    assert {type(each) for each in time_bins(years)} == {int, type(None)}
    for dates in (years, [1990, 2021], [0.1, 0.9], ["2019-03-01", "2021-07-30", "2020-05"]):
        found, page = time_bins(dates), periods_of(dates)
        told = [None if each is None else np.datetime_as_string(each, "M")
                if isinstance(each, np.datetime64) else f"{each:.10g}" for each in found]  # fmt: skip
        assert told == [page.labels[each] if each >= 0 else None for each in page.of]


@pytest.mark.filterwarnings("error")
def test_dates_with_a_time_zone_are_read_in_utc() -> None:
    zone = timezone(timedelta(hours=2))
    for dates in (
        ["2001-01-01T01:00:00+02:00", "2001-12-31T12:00:00Z"],
        [datetime(2001, 1, 1, 1, tzinfo=zone), datetime(2001, 12, 31, 12, tzinfo=UTC)],
    ):
        assert time_bins(dates, 2) == [np.datetime64("2000"), np.datetime64("2001")]
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2001-01-01", periods=40, freq="D", tz="UTC")
    assert time_bins(days, 2)[0] == np.datetime64("2001-01")
    assert time_bins(pandas.Series(days)) == time_bins(days.tz_localize(None))
