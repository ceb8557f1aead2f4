"""Numbers in files."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from pgbn.errors import DataError, PgbnError
from pgbn.storage.tables import read_numbers


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
    ("a.csv", b"a,b\n1,x\n", "row 2 has 'x', which is not a number"),
    ("a.csv", b"", "it is empty"),
    ("a.csv", b"a,b\n", "no row of numbers"),
    ("a.csv", b"a\nb\n", "no numbers in it"),
    ("a.csv", b"a\n\xff\n", "not utf-8"),
    ("a.csv", "a,b\n1,2\n".encode("utf-16"), "not utf-8 at byte 0; it begins like utf-16; save it"),
    ("a.csv.gz", b"a\n1\n", "cannot be read"),
    ("a.npy", b"nonsense", "not an array of numbers"),
    ("a.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': 'O'}  \n", "not an array of numbers"),
    ("a.json", b"[1]", "not a kind of file with numbers: .csv"),
])  # fmt: skip
def test_what_is_rejected(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=words) as caught:
        read_numbers(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    with pytest.raises(DataError, match="no such file"):
        read_numbers(tmp_path / f"gone-{name.replace('json', 'csv')}")


def test_columns_of_one_name_are_rejected(tmp_path: Path) -> None:
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
