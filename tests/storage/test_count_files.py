"""Matrices of counts in files: those that others write are read, those that are wrong are named."""

from __future__ import annotations

import gzip
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("sklearn")
import pgbn
from pgbn.errors import DataError, PgbnError, PgbnWarning
from pgbn.storage import count_files
from pgbn.storage.count_files import read_matrix
from pgbn.storage.sources import FileReading, source_of
from tests.helpers.hostile import attempt, campaign

COUNTS, REALS = (
    f"%%MatrixMarket matrix coordinate {field} general\n" for field in ("integer", "real")
)


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode("latin-1") if isinstance(text, str) else text)
    return path


def read(path: Path) -> Any:
    return read_matrix(path, "mtx")[0].toarray()


def by_blocks(path: Path) -> Any:
    """The same, sorted on the disk."""
    source = source_of(path, FileReading())
    with source.prepared(path.parent):
        return np.concatenate([batch.counts.toarray() for batch in source.batches()])


# ---- Matrix Market ------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["integer", "real", "pattern", "unsigned-integer"])
@pytest.mark.parametrize("block", [7, 2**22])
def test_what_scipy_writes(
    tmp_path: Path, field: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_files, "BLOCK", block)
    dense = np.random.default_rng(0).poisson(0.4, (30, 20)) * (1.5 if field == "real" else 1)
    path, X = tmp_path / "x.mtx", sp.coo_array(dense)
    scipy.io.mmwrite(path, X, field=field, symmetry="general", comment="two\nlines")
    for reader in (read, by_blocks):
        assert np.array_equal(reader(path), dense > 0 if field == "pattern" else dense)


def test_dense_and_symmetric(tmp_path: Path) -> None:
    """They cannot be read in parts, and the remedy that is told works."""
    path, X = tmp_path / "x.mtx", np.arange(9).reshape(3, 3)
    for matrix in (X, sp.coo_array(X + X.T)):
        scipy.io.mmwrite(path, matrix)
        wanted = matrix.toarray() if sp.issparse(matrix) else matrix
        assert np.array_equal(read(path), wanted)
        with pytest.raises(DataError, match=r"coo_array\(X\), symmetry='general'"):
            by_blocks(path)
        scipy.io.mmwrite(path, sp.coo_array(matrix), symmetry="general")
        assert np.array_equal(by_blocks(path), wanted)


@pytest.mark.parametrize("end", ["", "\n", " ", "\r", "\r\n", "\t \n", "\n\n  \n"])
@pytest.mark.parametrize("packed", [False, True])
def test_ends_of_files(tmp_path: Path, end: str, packed: bool) -> None:
    """Some of these ended the interpreter."""
    data = f"{COUNTS}2 3 2\n1 1 4\n2 3 5{end}".encode()
    path = written(tmp_path / f"x.mtx{'.gz' * packed}", gzip.compress(data) if packed else data)
    assert read(path).tolist() == [[4, 0, 0], [0, 0, 5]]


WRONG = {
    f"{COUNTS}2 2 1\n1 1 3.7\n": "line 3: '3.7' is not an integer; write 'real'",
    f"{COUNTS}2 2 1\n1 1 3.0": "line 3: '3.0' is not an integer",
    f"{COUNTS}2 2 1\n1 1 3\0": "line 3: '1 1 3\\x00'; give a row",
    f"{COUNTS}2 2 1\n\0\0\0": "line 3: '\\x00",
    f"{COUNTS}2 2 2\n1 1 1\n1 1 1e3\n": "line 4: '1e3' is not an integer",
    f"{COUNTS}2 2 1\n1 1 9223372036854775808\n": "line 3: the value '9223372036854775808'",
    f"{COUNTS}2 2 1\n1 1 9223372036854775807\n": "line 3: the value",
    f"{COUNTS}2 2 1\n1 1 {'9' * 5000}\n": "line 3: '999",
    f"{COUNTS}2 2 2\n1 1 {2**62}\n1 1 {2**62}\n": "add up to 2^63 or more",
    f"{COUNTS}2 2 1\n1 1 -3\n": "line 3: the value '-3'",
    f"{COUNTS}2 2 1\n3 1 3\n": "line 3: row 3 of a matrix with 2",
    f"{COUNTS}2 2 1\n1 0 3\n": "line 3: column 0 of a matrix with 2",
    f"{COUNTS}2 2 1\n1 1\n3\n": "line 3: '1 1'; give a row, a column and a value",
    f"{COUNTS}2 2 1\n1 1 1_0\n": "line 3: '1 1 1_0'",
    f"{COUNTS}2 2 1\n1 1 1-2\n": "line 3: '1-2' is not an integer",
    f"{COUNTS}2 2 1\n1 1 \xb2\n": "line 3",
    f"{COUNTS}2 2 2\n1 1 1\n": "line 4: 1 entries, but the header says 2; is the file cut off",
    f"{COUNTS}2 2 1\n1 1 1\n2 2 1\n": "more entries than the 1",
    f"{COUNTS}2 2\n": "line 2: '2 2'; give the numbers of rows, columns and entries",
    f"{COUNTS}{'9' * 30} 2 1\n": "line 2",
    f"{COUNTS}-2 2 1\n": "line 2",
    COUNTS: "no line with the sizes",
    f"{REALS}2 2 1\n1 1 nan\n": "line 3: the value 'nan'",
    f"{REALS}2 2 1\n1 1 1e999\n": "line 3: the value '1e999'",
    f"{REALS}2 2 1\n1.5 1 3\n": "line 3: '1.5' is not an integer",
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
        read(path)
    assert "wrong.mtx: not a matrix in the format mtx" in str(caught.value)
    assert WRONG[text] in str(caught.value)


def test_real_values_beyond_the_integers_stay_real(tmp_path: Path) -> None:
    """1e30 was turned into a negative integer."""
    path = written(tmp_path / "r.mtx", f"{REALS}1 2 2\n1 1 1e30\n1 2 2\n")
    assert read(path).tolist() == [[1e30, 2.0]]


@pytest.mark.parametrize("sizes", ["500000000 5 1", "5 5 500000000000", "100000000000 1 1"])
def test_a_header_takes_no_memory(tmp_path: Path, sizes: str) -> None:
    """What 60 bytes claim is rejected in a process that may have 2 GB."""
    pytest.importorskip("resource")
    path = written(tmp_path / "claim.mtx", f"{COUNTS}{sizes}\n1 1 1\n")
    code = (
        "import resource, sys; import pgbn\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))\n"
        "try: pgbn.Corpus.read(sys.argv[1])\n"
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


@pytest.mark.parametrize("reader", [read, by_blocks])
@pytest.mark.parametrize("length", [2**16 - 1, 2**16, 2**16 + 7, 3 * 2**16])
def test_long_comments_are_skipped_to_their_end(tmp_path: Path, reader: Any, length: int) -> None:
    """What came after 65,536 bytes was taken for the sizes."""
    comment = "%" + "c" * (length - 8) + " 9 9 0\n"
    path = written(tmp_path / "x.mtx", f"{COUNTS}{comment}2 3 1\n2 3 5\n")
    assert reader(path).tolist() == [[0, 0, 0], [0, 0, 5]]


@pytest.mark.parametrize("reader", [read, by_blocks])
@pytest.mark.parametrize(("text", "line"), [
    (COUNTS.replace("\n", " " * 2**16 + "2 3 1\n") + "2 3 5\n", 1),
    (f"{COUNTS}{' ' * 2**16}2 3 1\n2 3 5\n", 2),
    (f"{COUNTS}2 3 2\n1 1 1\n2 3 {' ' * 2**17}5\n", 4),
])  # fmt: skip
def test_other_long_lines_are_rejected(
    tmp_path: Path, reader: Any, text: str, line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_files, "BLOCK", 2**10)
    with pytest.raises(DataError, match=f"line {line}: a line of 65536 bytes or more"):
        reader(written(tmp_path / "x.mtx", text))


# ---- other formats ------------------------------------------------------------------------


MATRICES = {
    "rows.mtx": f"{COUNTS}3000000000 5 1\n1 1 1\n",
    "dense.mtx": "%%MatrixMarket matrix array real general\n100000000 100000\n1\n",
    "index.svmlight": "1 1:1 4000000000:3\n",
    "words.svmlight": "no : : 3\n",
    "before.svmlight": "1 -3:1\n",
    "twice.svmlight": "1 2:1 2:2 1:3\n",
    "empty.svmlight": "",
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_that_are_none(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=name):
        pgbn.Corpus.read(written(tmp_path / name, MATRICES[name]))


ints = st.lists(st.integers(-3, 6) | st.just(10**9), min_size=0, max_size=4)


@campaign(120)
@given(
    st.sampled_from(["csr", "csc", "coo", "bsr", "dia", "no", 3]),
    st.lists(st.integers(-1, 4) | st.just(10**12), min_size=1, max_size=3),
    st.lists(st.floats(), min_size=0, max_size=4),
    ints, ints,
)  # fmt: skip
def test_sparse_archives(place: Path, form: Any, shape: list[int], data: list[float],
                         first: list[int], second: list[int]) -> None:  # fmt: skip
    path = place / "hostile.npz"
    names = {"indices": first, "indptr": second, "row": first, "col": second, "offsets": first}
    np.savez(path, format=np.array(form), shape=np.array(shape), data=np.array(data),
             **{key: np.array(value, np.int64) for key, value in names.items()})  # fmt: skip
    found = attempt(lambda: pgbn.Corpus.read(path), ["hostile.npz"])
    if found is not None:
        assert found.counts.toarray().min() >= 0


@pytest.mark.parametrize(("arrays", "words"), [
    ({"X": np.array([object()])}, "not a matrix in the format npz"),
    ({"a": np.eye(3), "b": np.eye(3)}, "no array 'X'"),
    ({"X": np.zeros((2, 2, 2))}, "an array of shape"),
    ({}, "no array 'X'"),
    ({"X": np.full((2, 2), np.nan)}, "not finite"),
    ({"X": np.eye(3), "vocabulary": np.array(["a", "a", "b"])}, "two columns are called 'a'"),
    ({"X": np.eye(3), "vocabulary": np.array("a")}, "vocabulary has the shape"),
    ({"X": np.eye(4), "vocabulary": np.array([["a", "b"], ["c", "d"]] * 2)}, "vocabulary has"),
    ({"X": np.eye(3), "vocabulary": np.arange(3)}, "vocabulary has the shape"),
    ({"X": np.eye(3, dtype=np.float16)}, "numbers of the dtype float16"),
    ({"X": np.eye(3, dtype=np.longdouble)}, "numbers of the dtype"),
    ({"X": np.eye(3, dtype=">f8")}, "numbers of the dtype >f8"),
    ({"X": np.full((2, 2), 2**63, np.uint64)}, "give numbers below"),
    ({"format": np.array("coo"), "shape": np.array([5 * 10**8, 5]), "row": np.array([0]),
      "col": np.array([0]), "data": np.array([1])}, "500000000 rows, but only 1 entries"),
])  # fmt: skip
def test_archives_that_are_rejected(tmp_path: Path, arrays: dict[str, Any], words: str) -> None:
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(DataError, match=rf"x\.npz: .*{words}"):
        pgbn.Corpus.read(tmp_path / "x.npz")


def test_archives_that_claim_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 3), }"
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as archive:
        archive.writestr("X.npy", (header % 10**12).ljust(127) + b"\n" + bytes(100))
    with pytest.raises(DataError, match=r"bomb\.npz"):
        pgbn.Corpus.read(tmp_path / "bomb.npz")
    np.savez_compressed(tmp_path / "zeros.npz", X=np.zeros((100, 1000)))
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 10**6)
    with pytest.raises(DataError, match=r"zeros\.npz: its arrays would need"):
        pgbn.Corpus.read(tmp_path / "zeros.npz")


def test_an_archive_that_says_it_is_encrypted_is_rejected_in_words(tmp_path: Path) -> None:
    """One bit of the flags of each entry, in its own header and in the list at the end."""
    path = tmp_path / "x.npz"
    sp.save_npz(path, sp.csr_matrix(np.eye(3, dtype=int)), compressed=False)
    data = bytearray(path.read_bytes())
    for head, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(head)
        while at >= 0:
            data[at + flags] |= 1
            at = data.find(head, at + 1)
    path.write_bytes(data)
    with pytest.raises(PgbnError, match=r"x\.npz"):
        pgbn.Corpus.read(path)


def test_svmlight_counts_from_one_or_says_that_it_does_not(tmp_path: Path) -> None:
    """New documents without a term 0 would be read with all terms one place off."""
    path = written(tmp_path / "x.svmlight", "0 1:2 3:1\n1 2:4\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pgbn.Corpus.read(path).counts.toarray().tolist() == [[2, 0, 1], [0, 4, 0]]
    path.write_text("0 0:2 2:1\n1 1:4\n")
    with pytest.warns(PgbnWarning, match=r"x\.svmlight: it has a column 0, so its columns count"):
        assert pgbn.Corpus.read(path).counts.toarray().tolist() == [[2, 0, 1], [0, 4, 0]]
