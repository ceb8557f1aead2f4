"""How a training with checkpoints is run: keywords in one place."""

from __future__ import annotations

from inspect import Parameter, signature

import pytest

import pgbn
from pgbn import checkpoint
from pgbn.errors import DataError

OWN = {"minutes": 5.0, "sweeps": None, "share": 0.05, "callback": None, "threads": None,
       "progress": True}  # fmt: skip


@pytest.mark.parametrize("function", [checkpoint.train, pgbn.resume])
def test_a_reader_sees_the_keywords(function: object) -> None:
    shown = signature(function).parameters  # type: ignore[arg-type]
    assert {name: shown[name].default for name in OWN} == OWN
    rest = any(each.kind is Parameter.VAR_KEYWORD for each in shown.values())
    assert rest is (function is checkpoint.train)  # which takes the settings too


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"minutes": -1}, "minutes=-1"), ({"share": float("nan")}, "share=nan"), ({"sweeps": 0}, "sweeps=0"),
     ({"callback": 3}, "callback=3")],
)  # fmt: skip
def test_resume_checks_before_it_reads(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        pgbn.resume("nowhere", **wrong)
