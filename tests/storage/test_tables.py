"""Tables of numbers and of texts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from pgbn import Corpus
from pgbn.errors import DataError, PgbnError
from pgbn.storage.corpus import read_corpus
from pgbn.storage.tables import check_columns, read_columns, read_numbers
from pgbn.storage.texts import read_texts


@pytest.mark.parametrize(("text", "values", "rows", "columns"), [
    ("1,2\n3,4.5\n", [[1, 2], [3, 4.5]], None, None),
    ("a,b\n1,2\n", [[1, 2]], None, ["a", "b"]),
    (",a,b\n7,1,2\n8,3,4\n", [[1, 2], [3, 4]], ["7", "8"], ["a", "b"]),  # as pandas writes an index
    ("doc,a\n7,1\n", [[1]], ["7"], ["a"]),  # what names the rows is called as their dim is
    ("id,a\nann,1\n\nbob,2\n", [[1], [2]], ["ann", "bob"], ["a"]),
    ("ann,1\nbob,2\n", [[1], [2]], None, None),
    ("\ufeffa\n3\n", [[3]], None, ["a"]),
])  # fmt: skip
def test_tables(
    tmp_path: Path, text: str, values: Any, rows: list[str] | None, columns: list[str] | None
) -> None:
    (tmp_path / "t.csv").write_text(text, "utf-8")
    found = read_numbers(tmp_path / "t.csv", rows="doc")
    if text.startswith("ann"):  # its first line is taken for the names of columns
        assert (found.rows, found.columns) == (["bob"], ["1"])
        return
    assert np.array_equal(found.values, values)
    assert (found.rows, found.columns) == (rows, columns)
    (tmp_path / "t.tsv.gz").write_bytes(gzip.compress(text.replace(",", "\t").encode()))
    assert np.array_equal(read_numbers(tmp_path / "t.tsv.gz", rows="doc").values, values)


def test_cells_that_are_missing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,\nNA,nan\n")
    found = read_numbers(tmp_path / "t.csv").values
    assert np.array_equal(np.ma.getmaskarray(found), [[False, True], [True, True]])
    assert found[0, 0] == 1


def test_arrays_and_matrices(tmp_path: Path) -> None:
    cube, matrix = np.arange(24).reshape(2, 3, 4), sp.csr_array([[0, 2], [1, 0]])
    np.save(tmp_path / "a.npy", cube)
    assert np.array_equal(read_numbers(tmp_path / "a.npy").values, cube)
    scipy.io.mmwrite(tmp_path / "a.mtx", matrix)
    assert np.array_equal(read_numbers(tmp_path / "a.mtx").values.toarray(), matrix.toarray())
    np.savez(tmp_path / "a.npz", X=matrix.toarray(), vocabulary=np.array(["u", "v"]))
    assert read_numbers(tmp_path / "a.npz").columns == ["u", "v"]


@pytest.mark.parametrize(("name", "content", "words"), [
    ("a.csv", b"a,b\n1,2\n3\n", "line 3 has 1 cells, the first has 2"),
    ("a.csv", b"a,b\n1,x\n", "row 2 has 'x', which is no number"),
    ("a.csv", b"", "nothing in it"),
    ("a.csv", b"a,b\n", "no row of numbers"),
    ("a.csv", b"a\nb\n", "no numbers in it"),
    ("a.csv", b"a\n\xff\n", "not utf-8"),
    ("a.csv.gz", b"a\n1\n", "cannot be read"),
    ("a.npy", b"nonsense", "not an array of numbers"),
    ("a.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': 'O'}  \n", "not an array of numbers"),
    ("a.json", b"[1]", "no kind of file that has numbers: .csv"),
])  # fmt: skip
def test_what_is_refused(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=words) as caught:
        read_numbers(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    with pytest.raises(DataError, match="no such file"):
        read_numbers(tmp_path / f"gone-{name.replace('json', 'csv')}")


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """A run of such a table could not be given new rows by name."""
    path = tmp_path / "x.csv"
    path.write_text("a,b,a\n1,2,3\n")
    with pytest.raises(DataError, match=r"x\.csv: two columns are called 'a'; rename one"):
        read_numbers(path)
    path.write_text("a,,\n1,2,3\n")
    assert read_numbers(path).columns == ["a", "", ""]


def test_a_folder_in_the_place_of_a_table_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(
        PgbnError, match=r"^\S*x\.csv: not a file, but a pipe, a device or a folder$"
    ):
        read_numbers(tmp_path / "x.csv")


BAD = {
    "a comma that is not quoted": (
        "id,text\n1,good\n2,first part, and the rest\n",
        "line 3 has 3 cells, but the first line names 2; put texts that have a comma in quotes",
    ),
    "a quote that is never closed": (
        'id,text\n1,"so it began\n2,two\n3,three\n',
        "lines 2 to 4: a quote is opened, and not closed",
    ),
    "a quote that another row closes": (
        'id,text\n1,"Great she said\n2,"Bad he said\n3,three\n',
        "lines 2 to 3: a quote is opened, and not closed",
    ),
    "two columns of one name": ("id,text,text\n1,one,two\n", "two columns are called 'text'"),
    "two columns of labels": ("id,id,text\n1,2,two\n", "two columns are called 'id'"),
    "nothing": ("", "no column 'text': its first line names none"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_would_be_lost_is_refused(case: str, tmp_path: Path) -> None:
    content, told = BAD[case]
    path = tmp_path / "rows.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=told) as caught:
        read_corpus(path, label="id")
    assert str(path) in str(caught.value)
    with pytest.raises(DataError, match=told):
        Corpus.build(path, tmp_path / "corpus", label="id")


@pytest.mark.parametrize("separator", [",", "\t"])
def test_whole_tables_are_read_as_they_are(separator: str, tmp_path: Path) -> None:
    rows = ["id,text,,", '1,"one, and ""two"""', '2,"several\r\n\r\nlines",,', "", "3", '4,"a"b, ,']
    path = tmp_path / ("rows.csv" if separator == "," else "rows.tsv")
    path.write_text("\r\n".join(rows).replace(",", separator), newline="")
    corpus = read_corpus(path, label="id")
    assert corpus.labels == ["1", "2", "3", "4"]
    assert corpus.texts == [f'one{separator} and "two"', "several\r\n\r\nlines", "", "ab"]


def test_columns_beside_the_texts_are_refused_likewise(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,day,day\none,2001,2002\n")
    with pytest.raises(DataError, match="two columns are called 'day'"):
        read_columns(path, "csv", ["day"], "utf-8")
    path.write_text("text,day\none,2001,2002\n")
    with pytest.raises(DataError, match="line 2 has 3 cells"):
        read_columns(path, "csv", ["day"], "utf-8")


ROWS = [
    {"text": "one", "day": "2019-03-01", "kind": "a"},
    {"text": "two", "kind": None, "extra": 1},
    {"text": "three", "day": 2020, "kind": "b"},
]


def write_rows(place: Path) -> dict[str, Path]:
    lines = "\n".join(json.dumps(row) for row in ROWS)
    (place / "rows.jsonl").write_text(lines.replace("\n", "\n\n", 1), "utf-8")  # an empty line too
    (place / "rows.csv").write_text("text,day,kind\none,2019-03-01,a\ntwo,,\nthree,2020,b\n")
    return {"jsonl": place / "rows.jsonl", "csv": place / "rows.csv"}


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_the_rows_are_those_of_the_texts(tmp_path: Path, kind: str) -> None:
    path = write_rows(tmp_path)[kind]
    found = read_columns(path, kind, ["day", "kind"], "utf-8")
    assert found == {"day": ["2019-03-01", "", "2020"], "kind": ["a", "", "b"]}
    assert len(found["day"]) == len(list(read_texts(path, kind, "text", None, "utf-8")))


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_wrong_name_is_refused_with_those_that_exist(tmp_path: Path, kind: str) -> None:
    path = write_rows(tmp_path)[kind]
    check_columns(path, kind, {"--date": "day", "--class": "kind"}, "utf-8")
    with pytest.raises(DataError, match=r"--date days: .* has no column .*: text, day, kind"):
        check_columns(path, kind, {"--date": "days"}, "utf-8")
    with pytest.raises(DataError, match=r"--date day: .* \(lines\) has no columns"):
        check_columns(path, "lines", {"--date": "day"}, "utf-8")


def test_what_is_no_object_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\n[1]\n')
    with pytest.raises(DataError, match="line 2 is a list, not an object"):
        check_columns(tmp_path / "bad.jsonl", "jsonl", {"--class": "kind"}, "utf-8")
