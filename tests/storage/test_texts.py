"""Texts in files: which of a folder are read, what they are called, and their encoding."""

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from pgbn import Corpus
from pgbn.errors import DataError, StorageError
from pgbn.storage.corpus import read_corpus
from pgbn.storage.tables import read_numbers


def test_packed_texts_of_a_folder_are_read_beside_others(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"two"))
    (tmp_path / "table.csv").write_text("no text")
    assert read_corpus(tmp_path).labels == ["a.txt", "b.txt.gz"]


def test_hidden_folders_are_left_out(tmp_path: Path) -> None:
    (tmp_path / ".ipynb_checkpoints").mkdir()
    for name in ("a.txt", ".ipynb_checkpoints/a-checkpoint.txt"):
        (tmp_path / name).write_text("one")
    assert read_corpus(tmp_path).labels == ["a.txt"]


def test_a_document_without_a_label_has_its_number(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": "a", "id": null}\n{"text": "b", "id": "x"}\n')
    (tmp_path / "rows.csv").write_text("text,id\none\ntwo,x\n")
    for name in ("rows.jsonl", "rows.csv"):
        assert read_corpus(tmp_path / name, label="id", token_pattern=r"\w").labels == ["1", "x"]


def test_a_label_that_no_line_of_json_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "one", "name": "a"}\n{"text": "two", "name": "b"}\n')
    told = "no line has a field 'nam'. Did you mean 'name'"
    with pytest.raises(DataError, match=told):
        read_corpus(path, label="nam")
    with pytest.raises(DataError, match=told):
        Corpus.build(path, tmp_path / "corpus", label="nam")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"one word\n" * 20_000 + b"caf\xe9\n", "not utf-8 at byte 180003; .*latin-1"),
        (b"one word\n" * 20_000 + b"caf\xc3", "not utf-8 at byte 180003; .*latin-1"),
        ("one\n".encode("utf-16"), "it begins like utf-16; give the encoding"),
        ("one\n".encode("utf-32"), "it begins like utf-32; give the encoding"),
        (gzip.compress(b"one\n"), r"packed by gzip; let its name end in \.gz"),
    ],
)
def test_another_encoding_is_told_with_its_place(content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told):
        read_corpus(path)
    with pytest.raises(DataError, match=told):
        Corpus.build(path, tmp_path / "corpus")


def test_another_encoding_of_numbers_is_told(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(DataError, match="not utf-8 at byte 0; it begins like utf-16; save it as"):
        read_numbers(path)


def test_files_without_documents_are_named(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("\n \n")
    for read in (read_corpus, lambda path: Corpus.build(path, tmp_path / "corpus")):
        with pytest.raises(DataError, match=r"lines\.txt: no documents in it"):
            read(path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "inner").mkdir(mode=0)
    with pytest.raises(DataError, match="Permission denied"):
        read_corpus(tmp_path)


def test_what_the_system_says_of_a_folder_in_a_folder_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its texts were left out in silence."""
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "inner").mkdir()
    scan = os.scandir

    def refuse(path: Any) -> Any:
        if str(path).endswith("inner"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(DataError, match=r"Permission denied.*inner"):
        read_corpus(tmp_path)


def test_a_file_that_changes_while_it_is_read_is_told(tmp_path: Path) -> None:
    """The terms were those of the one, the counts those of the other."""
    path = tmp_path / "lines.txt"
    path.write_text("one two\n" * 10)

    def change(what: str, documents: int) -> None:
        if what == "choosing terms":
            path.write_text("three four\n" * 7)

    with pytest.raises(DataError, match=r"lines\.txt: changed while it was read; .*overwrite=True"):
        Corpus.build(path, tmp_path / "corpus", progress=change)
    with pytest.raises(StorageError, match="has not ended"):
        Corpus.open(tmp_path / "corpus")
    built = Corpus.build(path, tmp_path / "corpus", overwrite=True)
    assert (built.shape, built.vocabulary) == ((7, 2), ["four", "three"])


def test_a_file_that_vanishes_while_it_is_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("one two\n" * 10)
    with pytest.raises(DataError, match=r"lines\.txt: cannot be read"):
        Corpus.build(path, tmp_path / "corpus", progress=lambda *_: path.unlink(missing_ok=True))
