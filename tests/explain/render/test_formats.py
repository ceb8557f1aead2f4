"""The table of formats."""

from __future__ import annotations

import pytest

import pgbn as pg
from pgbn.explain.render import FORMATS


def test_every_format_is_in_the_docstring() -> None:
    for name in FORMATS:
        assert f'"{name}"' in (pg.Network.explain.__doc__ or "")


def test_a_new_format_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "length", lambda blocks: str(len(list(blocks))))
    assert int(pg.zoo.pfa(3).explain("length")) > 20
