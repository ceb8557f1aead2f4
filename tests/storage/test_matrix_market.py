"""Matrix Market files: those that others write are read, those that are wrong are named."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from pgbn.errors import DataError
from pgbn.storage import count_files
from pgbn.storage.count_files import market_blocks, market_shape, read_market, read_matrix

COUNTS, REALS = (
    f"%%MatrixMarket matrix coordinate {field} general\n" for field in ("integer", "real")
)


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode("latin-1") if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("field", ["integer", "real", "pattern", "unsigned-integer"])
@pytest.mark.parametrize("block", [7, 2**22])
def test_what_scipy_writes(
    tmp_path: Path, field: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_files, "BLOCK", block)
    X = sp.coo_array(
        np.random.default_rng(0).poisson(0.4, (30, 20)) * (1.5 if field == "real" else 1)
    )
    scipy.io.mmwrite(tmp_path / "x.mtx", X, field=field, comment="two\nlines")
    found = read_market(tmp_path / "x.mtx")
    assert found.dtype == (np.float64 if field == "real" else np.int64)
    assert np.array_equal(found.toarray(), X.toarray() > 0 if field == "pattern" else X.toarray())


def test_dense_and_symmetric(tmp_path: Path) -> None:
    X = np.arange(12).reshape(4, 3)
    scipy.io.mmwrite(tmp_path / "dense.mtx", X)
    assert np.array_equal(read_market(tmp_path / "dense.mtx"), X)
    square = sp.coo_array(X[:3] + X[:3].T)
    scipy.io.mmwrite(tmp_path / "square.mtx", square, symmetry="symmetric")
    assert np.array_equal(read_market(tmp_path / "square.mtx").toarray(), square.toarray())


@pytest.mark.parametrize("end", ["", "\n", " ", "\r", "\r\n", "\t \n", "\n\n  \n"])
@pytest.mark.parametrize("packed", [False, True])
def test_ends_of_files(tmp_path: Path, end: str, packed: bool) -> None:
    """Some of these ended the interpreter."""
    data = f"{COUNTS}2 3 2\n1 1 4\n2 3 5{end}".encode()
    path = written(tmp_path / f"x.mtx{'.gz' * packed}", gzip.compress(data) if packed else data)
    found, _ = read_matrix(path, "mtx")
    assert found.toarray().tolist() == [[4, 0, 0], [0, 0, 5]]


WRONG = {
    f"{COUNTS}2 2 1\n1 1 3.7\n": "line 3: '3.7' is not a whole number; write 'real'",
    f"{COUNTS}2 2 1\n1 1 3.0": "line 3: '3.0' is not a whole number",
    f"{COUNTS}2 2 1\n1 1 3\0": "line 3: '1 1 3\\x00'; give a row",
    f"{COUNTS}2 2 1\n\0\0\0": "line 3: '\\x00",
    f"{COUNTS}2 2 2\n1 1 1\n1 1 1e3\n": "line 4: '1e3' is not a whole",
    f"{COUNTS}2 2 1\n1 1 9223372036854775808\n": "line 3: the value '9223372036854775808'",
    f"{COUNTS}2 2 1\n1 1 9223372036854775807\n": "line 3: the value",
    f"{COUNTS}2 2 1\n1 1 {'9' * 5000}\n": "line 3: '999",
    f"{COUNTS}2 2 2\n1 1 {2**62}\n1 1 {2**62}\n": "add up to 2^63 or more",
    f"{COUNTS}2 2 1\n1 1 -3\n": "line 3: the value '-3'",
    f"{COUNTS}2 2 1\n3 1 3\n": "line 3: row 3 of a matrix with 2",
    f"{COUNTS}2 2 1\n1 0 3\n": "line 3: column 0 of a matrix with 2",
    f"{COUNTS}2 2 1\n1 1\n3\n": "line 3: '1 1'; give a row, a column and a value",
    f"{COUNTS}2 2 1\n1 1 1_0\n": "line 3: '1 1 1_0'",
    f"{COUNTS}2 2 1\n1 1 \xb2\n": "line 3",
    f"{COUNTS}2 2 2\n1 1 1\n": "1 entries, but the header says 2; is the file cut off",
    f"{COUNTS}2 2 1\n1 1 1\n2 2 1\n": "more entries than the 1",
    f"{COUNTS}2 2\n": "line 2: '2 2'; give the numbers of rows, columns and entries",
    f"{COUNTS}{'9' * 30} 2 1\n": "line 2",
    f"{COUNTS}-2 2 1\n": "line 2",
    COUNTS: "no line with the sizes",
    f"{REALS}2 2 1\n1 1 nan\n": "line 3: the value 'nan'",
    f"{REALS}2 2 1\n1 1 1e999\n": "line 3: the value '1e999'",
    f"{REALS}2 2 1\n1.5 1 3\n": "line 3: '1.5' is not a whole number",
    f"{REALS}2 2 1\n1 1 1.2.3\n": "line 3: '1.2.3' is not a number",
    "%%MatrixMarket matrix coordinate complex general\n": "line 1 says 'coordinate', 'complex'",
    "%%MatrixMarket matrix array pattern general\n": "line 1 says",
    "%%MatrixMarket matrix coordinate real skew-symmetric\n": "line 1 says",
    "%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n": "symmetric, but with the shape",
    "": "line 1 is not",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG, ids=lambda text: repr(text[-20:]))
def test_what_is_wrong_is_named(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "wrong.mtx", text)
    with pytest.raises(DataError) as caught:
        read_matrix(path, "mtx")
    assert "wrong.mtx: not a matrix in the format mtx" in str(caught.value)
    assert WRONG[text] in str(caught.value)


def test_real_values_beyond_the_integers_stay_real(tmp_path: Path) -> None:
    """1e30 was turned into a negative integer."""
    found, _ = read_matrix(written(tmp_path / "r.mtx", f"{REALS}1 2 2\n1 1 1e30\n1 2 2\n"), "mtx")
    assert found.toarray().tolist() == [[1e30, 2.0]]


@pytest.mark.parametrize("sizes", ["500000000 5 1", "5 5 500000000000", "100000000000 1 1"])
def test_a_header_takes_no_memory(tmp_path: Path, sizes: str) -> None:
    """What 60 bytes claim is refused in a process that may have 2 GB."""
    pytest.importorskip("resource")
    path = written(tmp_path / "claim.mtx", f"{COUNTS}{sizes}\n1 1 1\n")
    code = (
        "import resource, sys; from pgbn.corpus import read_corpus\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))\n"
        "try: read_corpus(sys.argv[1])\n"
        "except Exception as error: print(type(error).__name__, error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    error, kilobytes = done.stdout.splitlines()
    assert error.startswith("DataError")
    assert "claim.mtx" in error
    assert int(kilobytes) < 18 * 10**5


def _by_blocks(path: Path) -> object:
    return market_shape(path), list(market_blocks(path))


@pytest.mark.parametrize("read", [read_market, _by_blocks])
@pytest.mark.parametrize("length", [2**16 - 1, 2**16, 2**16 + 7, 3 * 2**16])
def test_long_comments_are_skipped_to_their_end(tmp_path: Path, read: Any, length: int) -> None:
    """What came after 65,536 bytes was taken for the sizes."""
    comment = "%" + "c" * (length - 8) + " 9 9 0\n"
    path = written(tmp_path / "x.mtx", f"{COUNTS}{comment}2 3 1\n2 3 5\n")
    found = read(path)
    if read is _by_blocks:
        assert found[0] == (2, 3, 1)
        assert [part.tolist() for part in found[1][0]] == [[1], [2], [5]]
    else:
        assert found.toarray().tolist() == [[0, 0, 0], [0, 0, 5]]


@pytest.mark.parametrize("read", [read_market, _by_blocks])
@pytest.mark.parametrize(("text", "line"), [
    (COUNTS.replace("\n", " " * 2**16 + "2 3 1\n") + "2 3 5\n", 1),
    (f"{COUNTS}{' ' * 2**16}2 3 1\n2 3 5\n", 2),
    (f"{COUNTS}2 3 2\n1 1 1\n2 3 {' ' * 2**17}5\n", 4),
])  # fmt: skip
def test_other_long_lines_are_refused(
    tmp_path: Path, read: Any, text: str, line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_files, "BLOCK", 2**10)
    with pytest.raises(DataError, match=f"line {line}: a line of 65536 bytes or more"):
        read(written(tmp_path / "x.mtx", text))


@pytest.mark.parametrize("X", [np.array([[1, 2], [2, 3]]), sp.csr_array([[1, 2], [2, 3]])])
def test_the_remedy_for_what_cannot_be_read_in_parts_is_one(X: Any, tmp_path: Path) -> None:
    """scipy writes a dense matrix, or a symmetric one, as such unless it is told."""
    path = tmp_path / "x.mtx"
    scipy.io.mmwrite(path, X)
    with pytest.raises(DataError, match=r"coo_array\(X\), symmetry='general'"):
        market_shape(path)
    scipy.io.mmwrite(path, sp.coo_array(X), symmetry="general")
    assert market_shape(path) == (2, 2, 4)
