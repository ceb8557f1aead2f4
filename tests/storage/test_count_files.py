"""Matrices of counts in files, good and bad."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("typer")
pytest.importorskip("sklearn")
from pgbn.corpus import read_corpus
from pgbn.errors import DataError, PgbnError, PgbnWarning
from tests.helpers.hostile import attempt, campaign
from tests.helpers.hostile_commands import FAST, command

BANNER = "%%MatrixMarket matrix coordinate integer general\n"


MATRICES: dict[str, str] = {
    "absurd.mtx": f"{BANNER}1000000000000 1000000000000 1\n1 1 1\n",
    "rows.mtx": f"{BANNER}3000000000 5 1\n1 1 1\n",
    "columns.mtx": f"{BANNER}5 3000000000 1\n1 1 1\n",
    "negative.mtx": f"{BANNER}3 3 2\n1 1 -5\n2 2 1\n",
    "outside.mtx": f"{BANNER}3 3 1\n9 9 5\n",
    "large.mtx": f"{BANNER}3 3 1\n1 1 99999999999999999999999\n",
    "complex.mtx": "%%MatrixMarket matrix coordinate complex general\n3 3 1\n1 1 5 5\n",
    "nan.mtx": "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 nan\n2 2 inf\n",
    "dense.mtx": "%%MatrixMarket matrix array real general\n100000000 100000\n1\n",
    "index.svmlight": "1 1:1 4000000000:3\n",
    "words.svmlight": "no : : 3\n",
    "before.svmlight": "1 -3:1\n",
    "twice.svmlight": "1 2:1 2:2 1:3\n",
    "empty.svmlight": "",
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(MATRICES[name])
    code, line = command("fit", tmp_path / name, "-o", tmp_path / "m", *FAST)
    assert code == 1
    assert name in line or "would need" in line
    assert "a bug?" not in line


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
    found = attempt(lambda: read_corpus(path), ["hostile.npz"])
    if found is not None:
        assert found.counts.toarray().min() >= 0


def test_dense_archives(tmp_path: Path) -> None:
    cases: dict[str, Any] = {
        "objects": {"X": np.array([object()])}, "two": {"a": np.eye(3), "b": np.eye(3)},
        "cube": {"X": np.zeros((2, 2, 2))}, "none": {},
        "twice": {"X": np.eye(3), "vocabulary": np.array(["a", "a", "b"])},
        "scalar": {"X": np.eye(3), "vocabulary": np.array("a")},
        "half": {"X": np.eye(3, dtype=np.float16)}, "long": {"X": np.eye(3, dtype=np.longdouble)},
        "swapped": {"X": np.eye(3, dtype=">f8")},
        "above": {"X": np.full((2, 2), 2**63, np.uint64)},
        "table": {"X": np.eye(4), "vocabulary": np.array([["a", "b"], ["c", "d"]] * 2)},
        "numbers": {"X": np.eye(3), "vocabulary": np.arange(3)},
    }  # fmt: skip
    for name, arrays in cases.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
        with pytest.raises(DataError, match=name):
            read_corpus(tmp_path / f"{name}.npz")
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 3), }"
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as archive:
        archive.writestr("X.npy", (header % 10**12).ljust(127) + b"\n" + bytes(100))
    with pytest.raises(DataError, match=r"bomb\.npz"):
        read_corpus(tmp_path / "bomb.npz")


def test_sparse_archives_of_empty_rows(tmp_path: Path) -> None:
    """A few bytes that claim 500 million rows."""
    np.savez(tmp_path / "rows.npz", format=np.array("coo"), shape=np.array([5 * 10**8, 5]),
             row=np.array([0]), col=np.array([0]), data=np.array([1]))  # fmt: skip
    with pytest.raises(DataError, match=r"rows\.npz: 500000000 rows, but only 1 entries"):
        read_corpus(tmp_path / "rows.npz")


def test_an_archive_that_inflates_beyond_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "zeros.npz", X=np.zeros((100, 1000)))
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 10**6)
    with pytest.raises(DataError, match=r"zeros\.npz: its arrays would need"):
        read_corpus(tmp_path / "zeros.npz")


def test_an_archive_that_says_it_is_encrypted_is_refused_in_words(tmp_path: Path) -> None:
    """One bit of the flags of each entry, in its own header and in the list at the end."""
    path = tmp_path / "x.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(np.eye(3, dtype=int)), compressed=False)
    data = bytearray(path.read_bytes())
    for head, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(head)
        while at >= 0:
            data[at + flags] |= 1
            at = data.find(head, at + 1)
    path.write_bytes(data)
    with pytest.raises(PgbnError, match=r"x\.npz"):
        read_corpus(path)


def test_svmlight_counts_from_one_or_says_that_it_does_not(tmp_path: Path) -> None:
    """New documents without a term 0 would be read with all terms one place off."""
    path = tmp_path / "x.svmlight"
    path.write_text("0 1:2 3:1\n1 2:4\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_corpus(path).counts.toarray().tolist() == [[2, 0, 1], [0, 4, 0]]
    path.write_text("0 0:2 2:1\n1 1:4\n")
    with pytest.warns(PgbnWarning, match=r"x\.svmlight: it has a column 0, so its columns count"):
        assert read_corpus(path).counts.toarray().tolist() == [[2, 0, 1], [0, 4, 0]]
