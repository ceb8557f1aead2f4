"""Checkpoints: a callback that saves a training now and then."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pgbn.errors import StorageError, notify
from pgbn.storage import archive
from pgbn.training.checkpoints.format import DATA, KIND, MODEL, encode_checkpoint
from pgbn.training.checkpoints.running import Timing, takes
from pgbn.training.growing import Progress

__all__ = ["Checkpoints"]


class Checkpoints:
    """A callback of `train_layerwise` that saves it every ``minutes``, or every ``sweeps``.

    Writing takes at most ``share`` > 0 of the time: where a checkpoint took long, the next one
    waits; a share of more than 1 sets no limit.
    ``arguments`` are those of `train_layerwise`, also the eta and priors that ``start_from``
    brings; ``context`` is saved with them.
    """

    @takes(Timing)
    def __init__(
        self,
        path: str | Path,
        arguments: Mapping[str, Any],
        *,
        context: Mapping[str, Any] | None = None,
        **timing: Any,
    ) -> None:
        self.path, self.arguments, self.context = Path(path), dict(arguments), dict(context or {})
        self.timing = Timing(**timing)
        self.written, self.cost, self.count = time.monotonic(), 0.0, 0
        self.saved = False
        self._files: dict[str, str] = {}
        self._networks: Sequence[Any] = ()

    def __call__(self, progress: Progress, /) -> None:
        self.count += 1
        if not self._due():
            return
        try:
            self.save(progress)
        except StorageError as error:  # a full disk should not end a long training
            self.written = time.monotonic()
            notify(f"no checkpoint was written, training goes on: {error}")

    def _due(self) -> bool:
        waited = time.monotonic() - self.written
        if waited * self.timing.share < self.cost:
            return False
        minutes, sweeps = self.timing.minutes, self.timing.sweeps
        late = minutes is not None and waited >= 60 * minutes
        return late or (sweeps is not None and self.count >= sweeps)

    def save(self, progress: Progress) -> None:
        """Write a checkpoint now. Data, and networks that are trained already, are kept."""
        start = time.monotonic()
        keep = {name: file for name, file in self._files.items() if self._is_kept(name, progress)}
        content, arrays = encode_checkpoint(progress, self.arguments, self.context, keep)
        self._files = archive.write(self.path, KIND, content, arrays, keep)
        self._networks, self.count, self.written = progress.networks, 0, time.monotonic()
        self.cost, self.saved = self.written - start, True

    def _is_kept(self, group: str, progress: Progress) -> bool:
        """Whether the file of a group is still right."""
        old, new = self._networks, progress.networks
        same = len(old) == len(new) and all(map(lambda a, b: a is b, old, new))
        return group == DATA or (group == MODEL and same)
