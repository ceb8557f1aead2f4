"""Arrays that were made to do harm."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import pytest

import pgbn
from pgbn.errors import StorageError
from tests.helpers.saved import Trap, forge, npy, npz


def test_hostile_arrays(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trap = pickle.dumps(Trap())
    shape = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }"
    hostile = {
        "a pickle": {"0/r.npy": npy(shape % ("|O", "(1,)"), trap)},
        "only a pickle": {"0/r.npy": trap},
        "a huge shape": {"0/r.npy": npy(shape % ("<f8", "(99999999999, 99999999999)"))},
        "a negative shape": {"0/r.npy": npy(shape % ("<f8", "(-1,)"))},
        "strings": {"0/r.npy": npy(shape % ("<U4", "(1,)"), b"\0" * 16)},
        "a record": {"0/r.npy": npy(shape % ("V8", "(1,)"), b"\0" * 8)},
        "code for a header": {"0/r.npy": npy("__import__('os').mkdir('pwned')")},
        "a long header": {"0/r.npy": npy("(" * 60_000)},
        "nothing": {},
        "paths": {"../../../etc/passwd.npy": npy(shape % ("<f8", "()"), b"\0" * 8)},
    }
    for entries in hostile.values():
        forge(folder, model=npz(tmp_path, entries))
        with pytest.raises(StorageError):
            pgbn.load(folder)
    bomb = npy(shape % ("<f8", "(10000000,)"), b"\0" * 80_000_000)
    forge(folder, model=npz(tmp_path, {"0/r.npy": bomb}, zipfile.ZIP_DEFLATED))
    with pytest.raises(StorageError, match="compressed"):
        pgbn.load(folder)
    forge(folder, model=b"not a zip file")
    with pytest.raises(StorageError):
        pgbn.load(folder)
    assert not (tmp_path / "pwned").exists()


SHAPE = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }"
ONE = npy(SHAPE % ("<f8", "(1,)"), b"\0" * 8)


def test_entries_that_come_twice_or_overlap(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "forged.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("0/r.npy", ONE)
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("0/r.npy", ONE)
    twice = path.read_bytes()
    plain = npz(tmp_path, {"0/r.npy": ONE, "0/r": ONE})  # one key for two entries
    inner = npz(tmp_path, {"b.npy": ONE})
    local = inner[: inner.index(b"PK\1\2")]  # the whole of b.npy, as a part of a.npy
    outer = npz(tmp_path, {"a.npy": npy(SHAPE % ("<u1", f"({len(local)},)"), local)})
    record = bytearray(inner[inner.index(b"PK\1\2") : inner.index(b"PK\5\6")])
    record[42:46] = outer.index(local).to_bytes(4, "little")
    start, end = outer.rindex(b"PK\1\2"), outer.rindex(b"PK\5\6")
    tail = bytearray(outer[end:])
    tail[8:12] = (2).to_bytes(2, "little") * 2
    tail[12:16] = (end - start + len(record)).to_bytes(4, "little")
    both = outer[:end] + bytes(record) + bytes(tail)
    for data, words in ((twice, "twice"), (plain, "no array"), (both, "overlap")):
        forge(folder, model=data)
        with pytest.raises(StorageError, match=words):
            pgbn.load(folder)


@pytest.mark.parametrize("kind", ["<f2", ">f8", "<f16", ">i4", "<c16", "<M8[s]"])
def test_numbers_that_kernels_do_not_read(tmp_path: Path, folder: Path, kind: str) -> None:
    size = int(kind[2]) * (10 if kind == "<f16" else 1) + 6 * (kind in ("<f16", "<c16"))
    forge(folder, model=npz(tmp_path, {"0/r.npy": npy(SHAPE % (kind, "(1,)"), b"\0" * size)}))
    with pytest.raises(StorageError, match="not arrays of pgbn"):
        pgbn.load(folder)
