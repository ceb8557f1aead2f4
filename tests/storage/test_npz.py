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
