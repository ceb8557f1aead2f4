"""What a corpus is built from: files and numbers that cannot be read are named, none of them wrap,
and named dims go by name."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.errors import DataError
from tests.helpers.commands import run

COUNTS, REALS = (
    f"%%MatrixMarket matrix coordinate {field} general\n" for field in ("integer", "real")
)


@pytest.fixture
def mtx(tmp_path: Path) -> Path:
    path = tmp_path / "x.mtx"
    path.write_text(f"{COUNTS}2 2 2\n1 1 4\n2 2 5\n")
    return path


# ---- files that cannot be read --------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.mtx.gz", "x.svmlight.gz"])
def test_a_packed_file_that_is_damaged_is_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a .mtx.gz it was an EOFError, which the command line took for Ctrl-C."""
    packed, corpus = tmp_path / name, tmp_path / "corpus"
    lines = "".join(f"{row} 1 {row % 7}\n" for row in range(1, 9000))
    svmlight = "".join(f"0 1:{row % 7}\n" for row in range(1, 9000))
    text = svmlight if "svmlight" in name else f"{COUNTS}9000 2 8999\n{lines}"
    whole = gzip.compress(text.encode())
    for data in (whole[: len(whole) // 2], whole[:15], whole[:-6]):
        packed.write_bytes(data)
        with pytest.raises(DataError, match=rf"{name}: .*ended before"):
            pgbn.Corpus.build(packed, corpus)
    assert run(["corpus", "build", str(packed), "-o", str(corpus)]) == 1
    assert f"{name}: " in capsys.readouterr().err
    packed.write_text("no gzip")
    for read in (lambda path: pgbn.Corpus.build(path, corpus), pgbn.Corpus.read):
        with pytest.raises(DataError, match=rf"{name}: cannot be read \(Not a gzipped file"):
            read(packed)


@pytest.mark.parametrize("kind", ["mtx", "npz"])
def test_a_bad_file_of_terms_is_named(kind: str, mtx: Path, tmp_path: Path) -> None:
    """And not the matrix, whose bytes are no text."""
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(np.eye(2)))
    path, terms = tmp_path / f"x.{kind}", tmp_path / "terms"
    reads = (
        lambda: pgbn.Corpus.build(path, tmp_path / "corpus", terms=terms),
        lambda: pgbn.Corpus.read(path, terms=terms),
    )
    for read in reads:
        terms.unlink(missing_ok=True)
        with pytest.raises(DataError, match=r"terms: cannot be read \(.*No such file"):
            read()
        terms.write_bytes("größe\nb".encode("latin-1"))
        with pytest.raises(DataError, match="terms: not utf-8 at byte 2; give the encoding"):
            read()


# ---- numbers that would wrap ----------------------------------------------------------------


@pytest.mark.parametrize("read", [pgbn.Corpus.build, lambda path, _: pgbn.Corpus.read(path)])
def test_more_columns_than_can_be_numbered(read: Any, tmp_path: Path) -> None:
    """Their numbers became negative."""
    path = tmp_path / "x.mtx"
    path.write_text(f"{COUNTS}2 3000000000 1\n1 2999999999 2\n")
    with pytest.raises(DataError, match=r"x\.mtx: 3000000000 columns; give fewer than 2\^31"):
        read(path, tmp_path / "corpus")
    path.write_text(f"{COUNTS}2 2147483647 1\n1 2147483647 2\n")
    assert read(path, tmp_path / "corpus").block(0).indices.tolist() == [2**31 - 2]


def parts(form: str, dtype: Any, *values: int) -> Any:
    """One cell, given in parts."""
    zeros = np.zeros(len(values), np.int64)
    data = np.array(values, dtype)
    if form == "coo":
        return sp.coo_array((data, (zeros, zeros)), shape=(1, 2))
    build = sp.csr_array if form == "csr" else sp.csc_array
    ends = [0, len(values)] if form == "csr" else [0, len(values), len(values)]
    return build((data, zeros, np.array(ends)), shape=(1, 2))


@pytest.mark.parametrize("source", [
    *(parts(form, np.int64, *[2**62] * 3) for form in ("coo", "csr", "csc")),
    np.full((1, 1025), 2.0**53 - 1), np.array([[2**62, 2**62, 3]]),
    np.array([[2**62, 2**62, 3]], np.uint64),
])  # fmt: skip
def test_integers_that_add_up_to_too_much_are_rejected(source: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"document 0 on: the values add up to 2\^63 or more"):
        pgbn.Corpus.build(source, tmp_path / "corpus")


@pytest.mark.parametrize("block_rows", [1, 2])
def test_batches_are_added_up(block_rows: int, tmp_path: Path) -> None:
    """Each of them would do."""
    large, real = np.array([[2**62]]), np.array([[1e30]])
    with pytest.raises(DataError, match=r"source: up to document 2: the values add up to 2\^63"):
        pgbn.Corpus.build([large] * 2, tmp_path / "corpus", block_rows=block_rows)
    for first, second in ((large, large // 2), (real, np.array([[7]]))):
        built = pgbn.Corpus.build([first, second], tmp_path / "corpus", block_rows=block_rows,
                                  overwrite=True)  # fmt: skip
        assert built.counts.toarray().tolist() == [first[0].tolist(), second[0].tolist()]
        assert built.total == (first + second).item()


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_small_integers_are_added_as_large_ones(form: str, dtype: Any, tmp_path: Path) -> None:
    built = pgbn.Corpus.build(parts(form, dtype, 100, 100, 100), tmp_path / "corpus")
    assert built.counts.toarray().tolist() == [[300, 0]]
    assert built.total == 300


@pytest.mark.parametrize("form", ["dok", "lil", "dia", "bsr"])
def test_every_format_of_sparse_matrices(form: str, tmp_path: Path) -> None:
    X = np.array([[1, 0], [2, 3]])
    built = pgbn.Corpus.build(sp.csr_array(X).asformat(form), tmp_path / "corpus")
    assert built.counts.toarray().tolist() == X.tolist()


@pytest.mark.parametrize("cells", ["1 1 1e308\n1 2 1e308\n", "1 1 1e308\n1 1 1e308\n"])
def test_reals_that_add_up_to_too_much_are_rejected(cells: str, tmp_path: Path) -> None:
    """The build called what it had just written damaged."""
    path = tmp_path / "x.mtx"
    path.write_text(f"{REALS}1 2 2\n{cells}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for read in (
            lambda: pgbn.Corpus.build(path, tmp_path / "c"),
            lambda: pgbn.Corpus.read(path),
        ):
            with pytest.raises(DataError, match=r"x\.mtx: the values add up to 1\.7e308 or more"):
                read()


# ---- named dims -----------------------------------------------------------------------------


def test_named_dims_go_by_name(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    X = np.arange(12).reshape(4, 3)
    turned = xarray.DataArray(X.T, dims=("term", "doc"), name="counts")
    for source in (turned, [turned], lambda: [turned], turned.T):
        built = pgbn.Corpus.build(source, tmp_path / "corpus", overwrite=True)
        assert built.counts.toarray().tolist() == X.tolist()
    for source in (turned.rename(doc="row"), [turned.rename(doc="row")]):
        with pytest.raises(DataError, match=r"dims \('term', 'row'\), but \('doc', 'term'\)"):
            pgbn.Corpus.build(source, tmp_path / "corpus", overwrite=True)
    for source in (turned.to_dataset(), [turned.to_dataset()]):
        with pytest.raises(DataError, match=r"an xarray\.Dataset of 'counts'; give one of"):
            pgbn.Corpus.build(source, tmp_path / "corpus", overwrite=True)


def test_what_is_a_matrix_and_what_is_texts(tmp_path: Path) -> None:
    """A frame was read as the names of its columns, a memoryview not at all."""
    pandas = pytest.importorskip("pandas")
    X = np.array([[1, 3], [2, 4]])
    for source in (pandas.DataFrame(X, columns=["one", "two"]), memoryview(X)):
        built = pgbn.Corpus.build(source, tmp_path / "corpus", overwrite=True)
        assert built.counts.toarray().tolist() == X.tolist()
    series = pandas.Series(["one two", "two"])
    assert pgbn.Corpus.build(series, tmp_path / "texts").vocabulary == ["one", "two"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (np.ma.masked_less(np.arange(6).reshape(2, 3), 2), "masked entries"),
        ([[[1, 2], [3]]], "is not a matrix"),
    ],
)
def test_what_is_no_whole_matrix_is_rejected(given: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=told):
        pgbn.Corpus.build(given, tmp_path / "c")


def test_columns_of_batches_must_be_in_one_order(tmp_path: Path) -> None:
    """They went by position: the counts of one term were added to those of another."""
    pandas = pytest.importorskip("pandas")
    xarray = pytest.importorskip("xarray")
    frame = pandas.DataFrame([[1, 2], [3, 4]], columns=["one", "two"])
    array = xarray.DataArray(
        frame.to_numpy(), dims=("doc", "term"), coords={"term": ["one", "two"]}
    )
    for right in ([frame, array], [frame, frame.to_numpy()]):
        built = pgbn.Corpus.build(right, tmp_path / "corpus", overwrite=True)
        assert built.counts.toarray().tolist() == [[1, 2], [3, 4]] * 2
    for wrong in (frame[["two", "one"]], array[:, ::-1]):
        told = "its columns are not those .* 'two' where the others have 'one'"
        with pytest.raises(DataError, match=f"document 2 on: {told}"):
            pgbn.Corpus.build([frame, wrong], tmp_path / "corpus", overwrite=True)
        with pytest.raises(DataError, match=f"document 0 on: {told}"):
            pgbn.Corpus.build(wrong, tmp_path / "corpus", overwrite=True, vocabulary=["one", "two"])


def test_a_folder_that_pgbn_wrote_is_no_folder_of_texts(tmp_path: Path) -> None:
    """Its arrays were read as texts, and the remedy was another encoding."""
    pgbn.Corpus.build([np.eye(2)], tmp_path / "corpus")
    with pytest.raises(DataError, match="corpus: a folder that pgbn wrote, not documents"):
        pgbn.Corpus.build(tmp_path / "corpus", tmp_path / "other")
