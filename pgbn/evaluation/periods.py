"""Dates of documents, and the periods of equal length into which they are cut.

    periods_of(["2019-03-01", "2021-07-30", ""])    # periods (0, 28, -1), labels 2019-03 …

Dates are texts (2019, 2019-03, 2019-03-01, 2019-03-01T12:00:00Z), datetimes, or numbers such as
years; those with a time zone are read in UTC. An entry that is empty, None or NaN has no period. A
period of the report is a number of days, months or years, or a round step of numbers. It is the
shortest one that gives at most 30 periods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer
from pgbn.errors import DataError
from pgbn.evaluation.shares import is_missing, plain_list
from pgbn.storage.read_limits import check_bytes

_MOST = 30
_STEPS = (("D", 1), ("D", 7), ("M", 1), ("M", 3), ("Y", 1), ("Y", 2), ("Y", 5), ("Y", 10),
          ("Y", 25), ("Y", 100), ("Y", 1000), ("Y", 10**9))  # fmt: skip
_BEGIN = {"D": 3, "Y": 1970}  # numpy counts from Thursday, 1 January 1970
_UNITS = ("Y", "M", "D", "h", "m", "s")
_LARGEST = 2.0**62  # of a number that stands for a date: periods are counted by 64 bits


@dataclass(frozen=True)
class Periods:
    """``of[j]`` is the period of document j, −1 if it has none; ``labels`` are the starts of the
    periods."""

    of: NDArray[np.int64]
    labels: tuple[str, ...]


def check_dates(dates: Sequence[Any], name: str = "dates") -> None:
    """Reject entries that are not dates, and columns without any date."""
    _read(dates, name)


def periods_of(dates: Sequence[Any], name: str = "dates") -> Periods:
    """The period of every document, and the labels of all periods between the first and last."""
    there, values = _read(dates, name)
    number, begins = _rounded(values)
    of = np.full(len(there), -1, np.int64)
    of[there] = number
    is_time = begins.dtype.kind == "M"
    labels: Iterable[Any] = (
        np.datetime_as_string(begins) if is_time else (f"{begin:.10g}" for begin in begins)
    )
    return Periods(of, tuple(map(str, labels)))


def time_bins(dates: Any, bins: int | None = None) -> list[Any]:
    """The start of the period of each of ``dates``, None for entries without a date.

    Without ``bins``, periods are those of the report. With ``bins`` there are at most that many,
    equally long. They are complete years from the first one on. If there are fewer years than
    ``bins``, they are complete months, days and so on. Dates are numbers (years), datetimes, or
    texts such as "2019-03-01".
    """
    if bins is not None:
        bins = check_integer("bins", bins, 1)
        check_bytes(f"bins={bins}", 24 * bins, "ask for fewer")
    there, values = _read(dates)
    if bins is None:
        number, begins = _rounded(values)
        found = begins[number]
    else:
        found = _divided(values, bins)
    if found.dtype.kind == "M":
        starts = iter(found.astype("datetime64[s]"))
    else:
        starts = iter(
            (found.astype(np.int64) if (found == np.floor(found)).all() else found).tolist()
        )
    return [next(starts) if here else None for here in there]


# ---- where periods begin ----------------------------------------------------------------


def _rounded(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The number of the period of each date, from 0, and the starts of all periods."""
    if values.dtype.kind == "M":
        unit, step = next(
            (unit, step) for unit, step in _STEPS if np.ptp(_numbers(values, unit, step)) < _MOST
        )
        number = _numbers(values, unit, step)
        starts = np.arange(number.min(), number.max() + 1) * step - _BEGIN.get(unit, 0)
        return number - number.min(), starts.astype(f"datetime64[{unit}]")
    span = float(np.ptp(values))
    if not span:
        return np.zeros(len(values), np.int64), values[:1]
    width = _round_step(span)
    number = np.floor(values / width).astype(np.int64)
    return number - number.min(), np.arange(number.min(), number.max() + 1) * width


def _numbers(values: NDArray[Any], unit: str, step: int) -> NDArray[np.int64]:
    """The number of the period of each date; weeks start on Monday, decades at 0."""
    return np.asarray((_count(values, unit) + _BEGIN.get(unit, 0)) // step)


def _count(values: NDArray[Any], unit: str) -> NDArray[np.int64]:
    """How many years, months, … after 1970 each date is."""
    return values.astype(f"datetime64[{unit}]").astype(np.int64)


def _round_step(span: float) -> float:
    """1, 2, 5, 10, … or 0.5, 0.2, …; integral years if they are few enough."""
    power = 10.0 ** np.floor(np.log10(max(span, 1e-9) / _MOST))
    steps = [power * digit for digit in (1.0, 2.0, 5.0, 10.0, 20.0)]
    step = next(each for each in steps if span / each + 1 <= _MOST)
    return max(float(step), 1.0) if span >= 2 else float(step)


def _divided(values: NDArray[Any], bins: int) -> NDArray[Any]:
    """The start of the period of each date, with at most ``bins`` periods."""
    if values.dtype.kind == "M":
        unit = next((u for u in _UNITS if np.ptp(_count(values, u)) + 1 >= bins), _UNITS[-1])
        count = _count(values, unit)
        if unit == "M":  # parts of a year that begin with it
            step = next(each for each in (1, 2, 3, 4, 6, 12) if np.ptp(count // each) < bins)
            begin = count // step * step
        else:
            begin = _in_steps(count, bins)
        return begin.astype(f"datetime64[{unit}]")
    floors = np.floor(values)
    if (floors == values).all() or np.ptp(values) >= bins:
        return _in_steps(floors.astype(np.int64), bins)
    edges = np.linspace(values.min(), values.max(), bins + 1)
    return edges[np.clip(np.searchsorted(edges, values, "right") - 1, 0, bins - 1)]


def _in_steps(count: NDArray[np.int64], bins: int) -> NDArray[np.int64]:
    """Integers rounded down to multiples of a step above the least; it is the shortest step that
    gives at most ``bins`` values."""
    least = count.min()
    step = -(-(int(np.ptp(count)) + 1) // bins)
    return np.asarray(least + (count - least) // step * step)


# ---- what is given ----------------------------------------------------------------------


def _read(dates: Any, name: str = "dates") -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which documents have a date, and these dates, all as datetimes or all as numbers."""
    given = plain_list(dates, name)
    entries = [_entry(each) for each in given]
    there = np.array([each is not None for each in entries], np.bool_)
    known = [each for each in entries if each is not None]
    if not known:
        raise DataError(f"{name}: no document has a date")
    if all(isinstance(each, float) for each in known):
        return there, np.array(known, np.float64)
    moments = []
    for row, each in enumerate(entries):
        if each is None:
            continue
        try:
            moments.append(_moment(each))
        except (ValueError, OverflowError):
            raise DataError(
                f"{name}: {given[row]!r:.40} of document {row} is not a date; give years, "
                "datetimes or texts such as 2019-03-01"
            ) from None
    return there, np.array(moments, "datetime64[s]")


def _entry(value: Any) -> Any:
    """An entry as None, a number, or a moment."""
    if is_missing(value):
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
    return number if abs(number) < _LARGEST else text


def _moment(value: Any) -> Any:
    """The moment of a date in a list that contains not only numbers."""
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[s]")
    if isinstance(value, datetime):
        value = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return np.datetime64(value.replace(microsecond=0), "s")
    if isinstance(value, date):
        return np.datetime64(value, "s")
    if isinstance(value, float):  # a year among dates
        return np.datetime64(f"{int(value):04d}", "s")
    if len(value) == 7:  # a month
        return np.datetime64(value, "s")
    return _moment(datetime.fromisoformat(value))
