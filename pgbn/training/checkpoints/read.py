"""A training that was stopped, as its last checkpoint tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pgbn.errors import StorageError
from pgbn.samplers.executor import Executor
from pgbn.storage.codecs import Files, check_loadable
from pgbn.storage.folders import read_folder
from pgbn.storage.kept_columns import read_kept
from pgbn.training.checkpoints.format import COLUMNS, KIND, Checkpoint, decode_checkpoint

__all__ = ["read_checkpoint"]


def read_checkpoint(
    path: str | Path, *, threads: int | None = None, executor: Executor | None = None
) -> Checkpoint:
    """The last complete checkpoint in a folder."""

    def read(body: Mapping[str, Any], files: Files) -> Checkpoint:
        if body["kind"] != KIND:
            check_loadable(body["kind"], Path(path))  # what goes on in another way says how
            raise StorageError(
                f"{path}: nothing to resume: it holds a finished {body['kind']}; "
                f"pgbn.load({str(path)!r}) reads it"
            )
        kept = read_kept(files(COLUMNS)) if COLUMNS in body["groups"] else {}
        return replace(decode_checkpoint(body["content"], files, threads, executor), columns=kept)

    return read_folder(path, read)
