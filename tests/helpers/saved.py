"""Models to save, and ways to damage or forge what was saved."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import pgbn
from pgbn.storage import archive
from pgbn.storage.arrays import write_file

QUICK = {"burn_in": 12, "sweeps": 8, "seed": 2, "min_width": 1, "trace_every": 3}


def counts(documents: int = 50, terms: int = 70) -> sp.csr_array:
    rng = np.random.default_rng(0)
    topics = rng.dirichlet([0.1] * terms, 5)
    return sp.csr_array(rng.poisson(rng.gamma(0.3, 1, (documents, 5)) @ topics * 12))


def same(one: Any, two: Any) -> None:
    """Arrays in dicts, equal to the last bit."""
    assert one.keys() == two.keys()
    for name in one:
        assert np.array_equal(one[name], two[name]), name


def same_networks(one: pgbn.LayerwiseTraining, two: pgbn.LayerwiseTraining) -> None:
    assert len(one.models) == len(two.models)
    for a, b in zip(one.models, two.models, strict=True):
        for left, right in zip((*a.phi, a.r, a.c), (*b.phi, b.r, b.c), strict=True):
            assert np.array_equal(left, right)
        same(a.state, b.state)
        same(a.traces, b.traces)
        assert (a.sweeps, a.eta, a.link, a.priors) == (b.sweeps, b.eta, b.link, b.priors)


def all_files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def forge(folder: Path, change: Any = None, **files: bytes) -> None:
    """A model whose checksums are right but whose content was made by somebody else."""
    document = json.loads((folder / "model.json").read_text())
    body = document["body"]
    for group, data in files.items():
        digest = hashlib.sha256(data).hexdigest()
        name = f"{group}-{digest[:16]}.npz"
        (folder / name).write_bytes(data)
        body["groups"][group] = name
        body["files"][name] = {"sha256": digest, "bytes": len(data)}
    if change is not None:
        change(body)
    document["sha256"] = archive.body_digest(body)
    (folder / "model.json").write_text(json.dumps(document))


def write_group(folder: Path, body: Any, group: str, arrays: Any) -> str:
    """The arrays of a group anew, with checksums that are right; the name of their file. The
    manifest is not written."""
    digest, size = write_file(folder / ".part", arrays)
    name = f"{group.partition('/')[0]}-{digest[:16]}.npz"
    (folder / ".part").rename(folder / name)
    body["groups"][group], body["files"][name] = name, {"sha256": digest, "bytes": size}
    return name


def npz(tmp_path: Path, entries: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    path = tmp_path / "forged.npz"
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return path.read_bytes()


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


class Trap:
    """What it would run if it were unpickled."""

    def __reduce__(self) -> Any:
        return (os.mkdir, ("pwned",))


def failing(function: Any, first: int, code: int) -> Any:
    """The function, whose calls fail from the ``first`` on."""
    calls = 0

    def call(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls >= first:
            raise OSError(code, os.strerror(code))
        return function(*arguments, **options)

    return call
