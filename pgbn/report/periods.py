"""Dates of documents, and the periods of equal length that a chart over time has.

    periods_of(["2019-03-01", "2021-07-30", ""])    # periods (0, 28, -1), labels 2019-03 …

Dates are texts (2019, 2019-03, 2019-03-01, 2019-03-01T12:00:00Z), datetimes, or numbers such as
years; what is empty, None or NaN has no period. A period is a number of days, months or years, or
a round step of numbers, the shortest with which there are at most 30 of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import DataError

__all__ = ["Periods", "check_dates", "periods_of"]

_MOST = 30
_STEPS = (("D", 1), ("D", 7), ("M", 1), ("M", 3), ("Y", 1), ("Y", 2), ("Y", 5), ("Y", 10),
          ("Y", 25), ("Y", 100), ("Y", 1000), ("Y", 10**9))  # fmt: skip
_BEGIN = {"D": 3, "Y": 1970}  # numpy counts from Thursday, 1 January 1970


@dataclass(frozen=True)
class Periods:
    """``of[j]`` is the period of document j, −1 if it has none; ``labels`` say where they begin."""

    of: NDArray[np.int64]
    labels: tuple[str, ...]


def check_dates(dates: Sequence[Any], name: str = "dates") -> None:
    """Refuse what is no date, and dates of which there is none."""
    _read(dates, name)


def periods_of(dates: Sequence[Any], name: str = "dates") -> Periods:
    """The period of every document, and the labels of all periods between the first and last."""
    there, values = _read(dates, name)
    of = np.full(len(there), -1, np.int64)
    if values.dtype.kind == "M":
        unit, step = next(
            (unit, step) for unit, step in _STEPS if np.ptp(_numbers(values, unit, step)) < _MOST
        )
        number = _numbers(values, unit, step)
        starts = np.arange(number.min(), number.max() + 1) * step - _BEGIN.get(unit, 0)
        labels = tuple(np.datetime_as_string(starts.astype(f"datetime64[{unit}]")))
    else:
        width = _round_step(float(np.ptp(values)))
        number = np.floor(values / width).astype(np.int64)
        begins = np.arange(number.min(), number.max() + 1) * width
        labels = tuple(f"{begin:.10g}" for begin in begins)
    of[there] = number - number.min()
    return Periods(of, tuple(map(str, labels)))


def _numbers(values: NDArray[Any], unit: str, step: int) -> NDArray[np.int64]:
    """The number of the period of each date; weeks begin on Monday, decades at 0."""
    count = values.astype(f"datetime64[{unit}]").astype(np.int64)
    return np.asarray((count + _BEGIN.get(unit, 0)) // step)


def _round_step(span: float) -> float:
    """1, 2, 5, 10, … or 0.5, 0.2, …; whole years where they are few enough."""
    power = 10.0 ** np.floor(np.log10(max(span, 1e-9) / _MOST))
    steps = [power * digit for digit in (1.0, 2.0, 5.0, 10.0, 20.0)]
    step = next(each for each in steps if span / each + 1 <= _MOST)
    return max(float(step), 1.0) if span >= 2 else float(step)


def _read(dates: Sequence[Any], name: str) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which documents have a date, and these, all as datetimes or all as numbers."""
    entries = [_entry(each) for each in dates]
    there = np.array([each is not None for each in entries], np.bool_)
    known = [each for each in entries if each is not None]
    if not known:
        raise DataError(f"{name}: no document has a date")
    if all(isinstance(each, float) for each in known):
        return there, np.array(known, np.float64)
    days = []
    for row, each in enumerate(entries):
        if each is None:
            continue
        try:
            days.append(_day(each))
        except (ValueError, OverflowError):
            raise DataError(
                f"{name}: {dates[row]!r:.40} of document {row} is no date; give years, datetimes "
                "or texts such as 2019-03-01"
            ) from None
    return there, np.array(days, "datetime64[D]")


def _entry(value: Any) -> Any:
    """None, a number, or what stands for a day."""
    if value is None or value != value:
        return None
    if isinstance(value, date | np.datetime64):
        return value
    text = str(value).strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        return text
    return number if np.isfinite(number) else text


def _day(value: Any) -> Any:
    """The day of a date in a list where not all are numbers."""
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[D]")
    if isinstance(value, datetime):
        value = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return np.datetime64(value.date(), "D")
    if isinstance(value, date):
        return np.datetime64(value, "D")
    if isinstance(value, float):  # a year among dates
        return np.datetime64(f"{int(value):04d}", "D")
    if len(value) == 7:  # a month
        return np.datetime64(value, "D")
    return _day(datetime.fromisoformat(value))
