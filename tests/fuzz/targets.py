"""What is fuzzed: a function of bytes for each reader.

    python -m tests.fuzz.targets corpus FILE …

feeds files to a target, in a process of its own, as a reader may end the process. The good end
is a result that such a file may have, or a `PgbnError` that names the file.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pgbn
from pgbn.storage.archive import body_digest, read_arrays, read_manifest

__all__ = ["FOUND", "TARGETS", "archive", "corpus", "feed", "network"]

FOUND = Path(__file__).with_name("found")
KINDS = ("lines", "csv", "jsonl", "mtx", "npz", "svmlight")
SECONDS = 10  # that a small file may take, scikit-learn's import among them
PLAIN = {"bool", "float32", "float64", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))}
SUFFIX = {"lines": ".txt", "svmlight": ".svm"}


def corpus(data: bytes, place: Path) -> None:
    """A corpus: the first byte chooses the format, the others are the file."""
    kind = KINDS[data[0] % len(KINDS)] if data else "lines"
    path = place / f"corpus{SUFFIX.get(kind, f'.{kind}')}"
    path.write_bytes(data[1:])
    words = (path.name, "no terms could be counted")
    found: Any = _named(words, lambda: pgbn.Corpus.read(path, format=kind, min_df=1))
    if found is not None:
        assert np.isfinite(found.counts.data).all()
        assert not found.counts.nnz or found.counts.data.min() >= 0
        assert len(found.names) == found.counts.shape[0]
        assert found.vocabulary is None or len(found.vocabulary) == found.counts.shape[1]


def archive(data: bytes, place: Path) -> None:
    """A saved model whose checksums fit: with an even first byte the others are its arrays, with
    an odd one the body of its manifest."""
    folder = place / "model"
    folder.mkdir(exist_ok=True)
    manifest = folder / "model.json"
    if data and data[0] % 2:
        try:
            body = json.loads(data[1:])
            document = {
                "format": "pgbn-model",
                "version": 1,
                "body": body,
                "sha256": body_digest(body),
            }
            text = json.dumps(document).encode("utf-8", "surrogatepass")
        except (ValueError, RecursionError):
            text = data[1:]
    else:
        arrays = data[1:]
        sha = hashlib.sha256(arrays).hexdigest()
        name = f"model-{sha[:16]}.npz"
        (folder / name).write_bytes(arrays)
        body = {"kind": "network", "content": {}, "groups": {"model": name},
                "files": {name: {"sha256": sha, "bytes": len(arrays)}}}  # fmt: skip
        read: Any = _named((folder.name,), lambda: read_arrays(folder, body, "model"))
        for array in (read or {}).values():
            assert array.dtype.name in PLAIN, array.dtype
            assert array.nbytes <= len(arrays)
        return
    manifest.write_bytes(text)
    known: Any = _named((folder.name,), lambda: read_manifest(folder))
    for name in () if known is None else (*known["files"], *known["groups"].values()):
        assert Path(name).name == name, name
    _named((folder.name,), lambda: pgbn.load(folder))


def network(data: bytes, place: Path) -> None:
    """A network as JSON."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    found: Any = _named(("",), lambda: pgbn.Network.from_json(text))
    if found is not None:
        again = found.to_json()
        assert pgbn.Network.from_json(again).to_json() == again


TARGETS: dict[str, Callable[[bytes, Path], None]] = {
    "corpus": corpus,
    "archive": archive,
    "network": network,
}


def _named(words: tuple[str, ...], run: Callable[[], object]) -> object:
    """The result, or None. Any error but one of pgbn's that names the file is a finding."""
    try:
        return run()
    except pgbn.PgbnError as error:
        if not any(word in str(error) for word in words):
            raise AssertionError(f"the error does not say {words[0]}: {error}") from error
        return None


def feed(target: str, files: Sequence[str]) -> None:
    """One file after another; the name of each before it is read, so that the last one is known.
    Seconds are the processor's: the machine may be busy."""
    for file in files:
        print(file, flush=True)
        before = time.process_time()
        with tempfile.TemporaryDirectory() as place:
            TARGETS[target](Path(file).read_bytes(), Path(place))
        if (seconds := time.process_time() - before) > SECONDS:
            raise AssertionError(f"{file}: read in {seconds:.0f} s of the processor")


if __name__ == "__main__":
    feed(sys.argv[1], sys.argv[2:])
