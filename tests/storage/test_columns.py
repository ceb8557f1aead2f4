"""Columns beside the texts of a table."""

import json
from pathlib import Path

import pytest

from pgbn.errors import DataError
from pgbn.storage.tables import check_columns, read_columns
from pgbn.storage.texts import read_texts

ROWS = [
    {"text": "one", "day": "2019-03-01", "kind": "a"},
    {"text": "two", "kind": None, "extra": 1},
    {"text": "three", "day": 2020, "kind": "b"},
]


def write(place: Path) -> dict[str, Path]:
    lines = "\n".join(json.dumps(row) for row in ROWS)
    (place / "rows.jsonl").write_text(lines.replace("\n", "\n\n", 1), "utf-8")  # an empty line too
    (place / "rows.csv").write_text("text,day,kind\none,2019-03-01,a\ntwo,,\nthree,2020,b\n")
    return {"jsonl": place / "rows.jsonl", "csv": place / "rows.csv"}


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_the_rows_are_those_of_the_texts(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path)[kind]
    found = read_columns(path, kind, ["day", "kind"], "utf-8")
    assert found == {"day": ["2019-03-01", "", "2020"], "kind": ["a", "", "b"]}
    assert len(found["day"]) == len(list(read_texts(path, kind, "text", None, "utf-8")))


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_wrong_name_is_refused_with_those_that_exist(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path)[kind]
    check_columns(path, kind, {"--date": "day", "--class": "kind"}, "utf-8")
    with pytest.raises(DataError, match=r"--date days: .* has no column .*: text, day, kind"):
        check_columns(path, kind, {"--date": "days"}, "utf-8")
    with pytest.raises(DataError, match=r"--date day: .* \(lines\) has no columns"):
        check_columns(path, "lines", {"--date": "day"}, "utf-8")


def test_what_is_no_object_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\n[1]\n')
    with pytest.raises(DataError, match="line 2 is a list, not an object"):
        check_columns(tmp_path / "bad.jsonl", "jsonl", {"--class": "kind"}, "utf-8")
