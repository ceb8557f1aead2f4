"""Texts in files: which of a folder are read, what they are called, and their encoding."""

import gzip
import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import pgbn
from pgbn import Corpus
from pgbn.errors import DataError, StorageError
from pgbn.storage.texts import check_columns, read_columns, read_texts


def test_which_files_of_a_folder_are_texts(tmp_path: Path) -> None:
    """Packed ones too; neither tables nor what is in hidden folders."""
    (tmp_path / ".ipynb_checkpoints").mkdir()
    for name in ("a.txt", "table.csv", ".ipynb_checkpoints/a-checkpoint.txt"):
        (tmp_path / name).write_text("one")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"two"))
    assert pgbn.Corpus.read(tmp_path).names == ["a.txt", "b.txt.gz"]


def test_a_byte_order_mark_is_no_part_of_the_name(tmp_path: Path) -> None:
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbftext,id\nhello world,1\nhello there,2\n")
    assert pgbn.Corpus.read(tmp_path / "bom.csv").texts == ["hello world", "hello there"]


def test_a_document_without_a_label_has_its_number(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": "a", "id": null}\n{"text": "b", "id": "x"}\n')
    (tmp_path / "rows.csv").write_text("text,id\none\ntwo,x\n")
    for name in ("rows.jsonl", "rows.csv"):
        assert pgbn.Corpus.read(tmp_path / name, name_column="id", token_pattern=r"\w").names == [
            "1",
            "x",
        ]


MANY = b"one word\n" * 20_000
BAD = [
    ("a.txt", b"\n \n", r"a\.txt: no documents in it"),
    ("a.txt", MANY + b"caf\xe9\n", "not utf-8 at byte 180003; .*latin-1"),
    ("a.txt", MANY + b"caf\xc3", "not utf-8 at byte 180003; .*latin-1"),
    ("a.txt", "one\n".encode("utf-16"), "it begins like utf-16; give the encoding"),
    ("a.txt", "one\n".encode("utf-32"), "it begins like utf-32; give the encoding"),
    ("a.txt", gzip.compress(b"one\n", mtime=0), r"packed by gzip; let its name end in \.gz"),
    ("a.jsonl.gz", b"not gzip", r"a\.jsonl\.gz: cannot be read"),
    ("a.jsonl", b'{"txt": "a b", "id": 1}', r"no text 'text'.*mean 'txt'.*--text-column"),
    ("a.jsonl", b'{"text": "a b"}\n{oops', "line 2 is not JSON"),
    ("a.jsonl", b'{"text": "a b"}\n{"text": 3}', "line 2 has no text 'text', but a int"),
    ("a.jsonl", b'{"text": "a"}\n[1]\n', "line 2 is a list, not an object"),
    ("a.jsonl", b"[" * 100_000, "line 1 is not JSON"),
    ("a.jsonl", b'{"text": "a", "ids": "b"}\n' * 2, "no line has a field 'id'.*mean 'ids'"),
    ("a.csv", b"", "no column 'text': its first line names none"),
    ("a.csv", b"text\n\xff\xfe", "not utf-8 at byte.*latin-1"),
    ("a.csv", b"id,txt\n1,a", r"no column 'text'.*mean 'txt'.* --text-column, in Python text_column=\."),
    ("a.csv", b"name,text\n1,hello", r"no column 'id'.*Known: name, text.*--name-column"),
    ("a.csv", b"id,text,text\n1,one,two\n", "two columns are called 'text'"),
    ("a.csv", b"id,id,text\n1,2,two\n", "two columns are called 'id'"),
    ("a.csv", b"id,text\n1,good\n2,first part, and the rest\n",
     "line 3 has 3 cells, but the first line names 2; put texts that have a comma in quotes"),
    ("a.csv", b'id,text\n1,"so it began\n2,two\n3,three\n',
     "lines 2 to 4: a quote is opened, and not closed"),
    ("a.csv", b'id,text\n1,"Great she said\n2,"Bad he said\n3,three\n',  # another row closes it
     "lines 2 to 3: a quote is opened, and not closed"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "told"), BAD)
def test_files_that_are_rejected(name: str, content: bytes, told: str, tmp_path: Path) -> None:
    """Whatever would be lost, or read as something else."""
    path, options = tmp_path / name, {} if "txt" in name else {"name_column": "id"}
    path.write_bytes(content)
    for read in (
        pgbn.Corpus.read,
        lambda path, **how: Corpus.build(path, tmp_path / "corpus", **how),
    ):
        with pytest.raises(DataError, match=told) as caught:
            read(path, **options)
        assert str(path) in str(caught.value)


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
        pgbn.Corpus.read(tmp_path)


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


@pytest.mark.parametrize("separator", [",", "\t"])
def test_whole_tables_are_read_as_they_are(separator: str, tmp_path: Path) -> None:
    rows = ["id,text,,", '1,"one, and ""two"""', '2,"several\r\n\r\nlines",,', "", "3", '4,"a"b, ,']
    path = tmp_path / ("rows.csv" if separator == "," else "rows.tsv")
    path.write_text("\r\n".join(rows).replace(",", separator), newline="")
    corpus = pgbn.Corpus.read(path, name_column="id")
    assert corpus.names == ["1", "2", "3", "4"]
    assert corpus.texts == [f'one{separator} and "two"', "several\r\n\r\nlines", "", "ab"]


ROWS = [
    {"text": "one", "day": "2019-03-01", "kind": "a"},
    {"text": "two", "kind": None, "extra": 1},
    {"text": "three", "day": 2020, "kind": "b"},
]


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_other_columns(tmp_path: Path, kind: str) -> None:
    """Their rows are those of the texts; a wrong name is rejected with those that exist."""
    path = tmp_path / f"rows.{kind}"
    lines = "\n".join(json.dumps(row) for row in ROWS).replace("\n", "\n\n", 1)  # one is empty
    table = "text,day,kind\none,2019-03-01,a\ntwo,,\nthree,2020,b\n"
    path.write_text(lines if kind == "jsonl" else table)
    check_columns(path, kind, {"--date-column": "day", "--class-column": "kind"}, "utf-8")
    found = read_columns(path, kind, ["day", "kind"], "utf-8")
    assert found == {"day": ["2019-03-01", "", "2020"], "kind": ["a", "", "b"]}
    assert len(found["day"]) == len(list(read_texts(path, kind, "text", None, "utf-8")))
    with pytest.raises(
        DataError, match=r"--date-column days: .* has no column .*: text, day, kind"
    ):
        check_columns(path, kind, {"--date-column": "days"}, "utf-8")
    with pytest.raises(DataError, match=r"--date-column day: .* \(lines\) has no columns"):
        check_columns(path, "lines", {"--date-column": "day"}, "utf-8")


def test_other_columns_that_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.csv"
    for text, told in (
        ("text,day,day\none,2001,2002\n", "two columns are called 'day'"),
        ("text,day\none,2001,2002\n", "line 2 has 3 cells"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=told):
            read_columns(path, "csv", ["day"], "utf-8")
    path.write_text("text,day\n" + "one,2001\n" * 1000)
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 10**5)
    with pytest.raises(DataError, match=r"rows\.csv: its columns would need"):
        read_columns(path, "csv", ["day"], "utf-8")


def test_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read by pyarrow (here a stand-in), some rows at a time, or an error that names it."""
    rows: list[dict[str, Any]] = [{"text": "one two", "day": 1}, {"text": None, "day": None},
                                  {"text": "three", "day": None}]  # fmt: skip
    batches = [SimpleNamespace(to_pylist=lambda: rows[:2]),
               SimpleNamespace(to_pylist=lambda: rows[2:])]  # fmt: skip
    table = SimpleNamespace(schema_arrow=SimpleNamespace(names=["text", "day"]),
                            iter_batches=lambda batch_size, columns: iter(batches))  # fmt: skip
    module, path = ModuleType("pyarrow.parquet"), tmp_path / "rows.parquet"
    module.ParquetFile = lambda path: nullcontext(table)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyarrow", ModuleType("pyarrow"))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", module)
    path.write_bytes(b"PAR1")
    found = pgbn.Corpus.read(path, name_column="day")
    assert (found.names, found.texts) == (["1", "2", "3"], ["one two", "", "three"])
    assert read_columns(path, "parquet", ["day"], "utf-8") == {"day": ["1", "", ""]}
    with pytest.raises(DataError, match=r"no column 'body'.*Known: day, text"):
        pgbn.Corpus.read(path, text_column="body")
    rows[2]["text"] = 5
    with pytest.raises(DataError, match="row 3 has no text 'text', but a int"):
        pgbn.Corpus.read(path)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match="Parquet needs pyarrow"):
        Corpus.build(path, tmp_path / "corpus")
