"""The counts from which the terms of a corpus are chosen."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import pgbn
from pgbn.errors import StorageError
from pgbn.storage import build
from pgbn.storage.arrays import write_npz
from tests.helpers.saved import forge

TEXTS = ["one two three", "two three"]


@pytest.mark.parametrize("change", [
    lambda arrays: {"text": arrays["text"]},
    lambda arrays: arrays | {"total": arrays["total"].reshape(-1, 1)},
    lambda arrays: arrays | {"documents": arrays["documents"][1:]},
    lambda arrays: arrays | {"ends": arrays["ends"].reshape(-1, 1)},
    None,
])  # fmt: skip
def test_forged_counts_of_terms_are_refused(
    tmp_path: Path, change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also more parts of them than there are: nothing is made of their number."""
    folder, commit = tmp_path / "corpus", build._Build._commit

    def stopping(self: build._Build) -> None:
        commit(self)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(build._Build, "_commit", stopping)
        with pytest.raises(KeyboardInterrupt):
            pgbn.Corpus.build(TEXTS, folder)
    body, data = pgbn.storage.archive.read_manifest(folder), BytesIO()
    arrays = pgbn.storage.archive.read_arrays(folder, body, "runs/0/0")
    write_npz(data, change(arrays) if change else arrays)

    def forged(body: Any) -> None:
        body["groups"]["runs/0/0"] = body["groups"]["runs"]
        body["content"]["object"]["runs"] = [1 if change else 2**61]

    forge(folder, forged, runs=data.getvalue())
    with pytest.raises(StorageError, match=r"corpus: (not what|damaged|the names are damaged)"):
        pgbn.Corpus.build(TEXTS, folder)
