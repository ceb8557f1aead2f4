"""Checkpoints of a training on minibatches: the writer of each field beside its reader.

content   settings, steps, kept (how many draws)
state     values/…, counts/… and exposures/… of the learner, sum/… and kept/0/… of what was
          collected, and the perplexities that were noted
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_place
from pgbn.engine.run.saving import Rhythm, Timing
from pgbn.errors import DataError, StorageError
from pgbn.storage import folders
from pgbn.storage.archive import is_archive, read_arrays, read_manifest
from pgbn.storage.codecs import register_unloadable
from pgbn.storage.writing import as_json, write, writing
from pgbn.training.averages import Means
from pgbn.training.minibatch.learner import Learner
from pgbn.training.trained import TrainedNetwork

__all__ = ["KIND", "Store"]

KIND = "minibatch"
TABLES = ("values", "counts", "exposures")  # of a learner
Array = NDArray[np.float64]
Rows = list[tuple[float, float]]


class Store:
    """The folder of a training; nobody else writes there while it is open.

    Invariant: it holds the last complete checkpoint, or the result.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any], minutes: float) -> None:
        import json

        self.path, self.rhythm = check_place("save", path), Rhythm(Timing(minutes, share=2.0))
        self.settings: dict[str, Any] = json.loads(as_json(dict(settings)))
        self._open = ExitStack()

    def __enter__(self) -> Store:
        self._open.enter_context(writing(self.path))
        if is_archive(self.path):
            body = read_manifest(self.path)
            kept = body["content"].get("settings") or body["content"].get("record", {}).get(KIND)
            if kept != self.settings:
                self._open.close()
                other = next((k for k in self.settings if (kept or {}).get(k) != self.settings[k]),
                             "")  # fmt: skip
                raise DataError(
                    f"save={str(self.path)!r}: there is another {body['kind']}"
                    + (f", with another {other}" if kept else "")
                    + "; name another folder, or give the same arguments and data"
                )
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.close()

    def finished(self) -> TrainedNetwork | None:
        """The result, if the training has ended."""
        if is_archive(self.path) and read_manifest(self.path)["kind"] != KIND:
            found: TrainedNetwork = folders.load(self.path)
            return found
        return None

    def restore(self, learner: Learner) -> tuple[dict[str, Any], list[dict[str, Array]], Rows]:
        """Put a learner where the last checkpoint was taken; sums, draws and perplexities."""
        if not is_archive(self.path):
            return {}, [], []
        body = read_manifest(self.path)
        arrays = read_arrays(self.path, body, "state")
        content = body["content"]
        try:
            learner.steps = int(content["steps"])
            for table in TABLES:
                getattr(learner, table).update(_under(arrays, f"{table}/"))
            draws = [_under(arrays, f"kept/{number}/") for number in range(int(content["kept"]))]
            rows = [(float(a), float(b)) for a, b in arrays["rows"]]
        except (KeyError, ValueError, TypeError) as error:
            raise StorageError(f"{self.path}: damaged: not a checkpoint ({error})") from None
        return _under(arrays, "sum/"), draws, rows

    def note(self, learner: Learner, means: Means, rows: Rows, now: bool) -> None:
        """Write a checkpoint if it is time to, or ``now``."""
        (self.rhythm.now if now else self.rhythm.tick)(partial(self._write, learner, means, rows))

    def _write(self, learner: Learner, means: Means, rows: Rows) -> None:
        arrays: dict[str, Any] = {"rows": np.array(rows, np.float64).reshape(-1, 2)}
        for table in TABLES:
            arrays |= {f"{table}/{name}": a for name, a in getattr(learner, table).items()}
        arrays |= {f"sum/{name}": total for name, total in means.sums.items()}
        for number, draw in enumerate(means.draws):
            arrays |= {f"kept/{number}/{name}": value for name, value in draw.items()}
        content = {"settings": self.settings, "steps": learner.steps, "kept": len(means.draws)}
        write(self.path, KIND, content, {"state": arrays})

    def finish(self, result: TrainedNetwork, vocabulary: list[str] | None) -> None:
        """The result, in place of the last checkpoint."""
        folders.save(result, self.path, vocabulary=vocabulary, record={KIND: self.settings})


def _under(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}


register_unloadable(
    KIND,
    lambda path: (
        "a training on minibatches that has not ended; call pgbn.train_minibatch again with the "
        f"same arguments and save={str(path)!r}: it goes on"
    ),
)
