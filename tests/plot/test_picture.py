"""A picture is shown in Jupyter and saved whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

import pgbn as pg


def test_picture_shows_in_jupyter_and_saves(tmp_path: Path) -> None:
    picture = pg.zoo.pgbn([3, 2]).plot()
    assert picture._repr_svg_() == str(picture)
    target = tmp_path / "net.svg"
    target.write_text("old")
    picture.save(target)
    assert target.read_text(encoding="utf-8") == str(picture)
    assert list(tmp_path.iterdir()) == [target]  # no temporary file is left


@pytest.mark.parametrize("path", ["", "."])
def test_a_picture_needs_the_name_of_a_file(path: str) -> None:
    with pytest.raises(pg.PgbnError, match=r"path=.*: give the name of a file for the picture"):
        pg.zoo.pgbn([3]).plot().save(path)


def test_a_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "net.svg"
    target.write_text("old")

    def refuse(self: Path, other: Path) -> None:
        raise OSError("disk is full")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(pg.PgbnError, match=r"net.svg: could not be written .disk is full"):
        pg.zoo.pgbn([3]).plot().save(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(pg.PgbnError, match=r"nowhere.net.svg: could not be written"):
        pg.zoo.pgbn([3]).plot().save(tmp_path / "nowhere" / "net.svg")
