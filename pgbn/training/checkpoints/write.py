"""Training that survives a stop: checkpoints now and then, and going on from the last one.

    result = pgbn.training.checkpoints.write.train(X, "model", max_width=100, depth=3)
    result = pgbn.resume("model")         # after Ctrl-C, a crash or a power cut

The resumed chain is the one that was interrupted, bit for bit. The folder holds the last
complete checkpoint and, when training is done, the model (`pgbn.load`).
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from pgbn.checks import check_integer, check_names, is_number
from pgbn.engine.run.codec import chain_content, chain_data, chain_state
from pgbn.engine.run.progress import Interrupted, stop_gently
from pgbn.errors import DataError, StorageError, did_you_mean, notify
from pgbn.storage import archive, folders
from pgbn.training.checkpoints.read import Checkpoint, read_checkpoint
from pgbn.training.codec import encode_networks, read_priors
from pgbn.training.layerwise import (
    LayerwiseTraining,
    Progress,
    check_callback,
    check_depth,
    check_priors,
    read_beginning,
    read_training,
    train_layerwise,
)
from pgbn.training.start_settings import choose_eta, choose_priors
from pgbn.training.trained import TrainedNetwork

__all__ = ["Checkpoint", "Checkpoints", "read_checkpoint", "resume", "train"]

Listener = Callable[[Progress], None]


class Checkpoints:
    """A callback of `train_layerwise` that saves it every ``minutes``, or every ``sweeps``.

    Writing takes at most ``share`` > 0 of the time: where a checkpoint took long, the next one
    waits; a share of more than 1 sets no limit.
    ``arguments`` are those of `train_layerwise`, also the eta and priors that ``start_from``
    brings; ``context`` is saved with them.
    """

    def __init__(
        self,
        path: str | Path,
        arguments: Mapping[str, Any],
        *,
        minutes: float | None = 5.0,
        sweeps: int | None = None,
        share: float = 0.05,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        self.path, self.arguments, self.context = Path(path), dict(arguments), dict(context or {})
        self.minutes, self.share = _interval(minutes), share
        self.sweeps = None if sweeps is None else check_integer("sweeps", sweeps, 1)
        if not is_number(share) or not share > 0:
            raise DataError(
                f"share={share!r}: give the part of the time that writing may take, above 0"
            )
        self.written, self.cost, self.count = time.monotonic(), 0.0, 0
        self.saved = False
        self._files: dict[str, str] = {}
        self._networks: tuple[TrainedNetwork, ...] | None = None

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
        if waited * self.share < self.cost:
            return False
        late = self.minutes is not None and waited >= 60 * self.minutes
        return late or (self.sweeps is not None and self.count >= self.sweeps)

    def save(self, progress: Progress) -> None:
        """Write a checkpoint now. Data, and networks that are trained already, are kept."""
        start = time.monotonic()
        chain = progress.chain
        networks, trained = encode_networks(progress.networks)
        content = {
            "arguments": self.arguments,
            "context": self.context,
            "chain": chain_content(chain),
            "networks": networks,
            "names": progress.networks[-1].vocabulary if progress.networks else None,
            "depth": progress.depth,
            "phase": progress.phase,
            "sweep": progress.sweep,
            "sweeps": progress.sweeps,
            "done": progress.done,
            "total": progress.total,
            "trace": asdict(progress.trace),
        }
        state = chain_state(chain)
        state |= {f"mean/{t}": phi for t, phi in enumerate(progress.means.phi)}
        if progress.means.phi:
            state["mean/r"] = np.asarray(progress.means.r)
        arrays = {"state": state}
        keep = {"data": self._files["data"]} if self._files else {}
        if not self._files:
            arrays["data"] = chain_data(chain)
        if self._files and _same(self._networks, progress.networks):
            keep["model"] = self._files["model"]
        else:
            arrays["model"] = trained
        self._files = archive.write(self.path, "checkpoint", content, arrays, keep)
        self._networks, self.count, self.written = progress.networks, 0, time.monotonic()
        self.cost, self.saved = self.written - start, True


def _interval(minutes: float | None) -> float | None:
    number = isinstance(minutes, Real) and not isinstance(minutes, bool)
    if minutes is not None and not (number and float(minutes) >= 0.0):
        raise DataError(
            f"minutes={minutes!r}: give a number of at least 0, or None for no checkpoints by time"
        )
    return minutes


def _same(old: Sequence[TrainedNetwork] | None, new: Sequence[TrainedNetwork]) -> bool:
    return old is not None and len(old) == len(new) and all(map(lambda a, b: a is b, old, new))


def train(
    X: Any,
    path: str | Path,
    max_width: int,
    depth: int,
    *,
    minutes: float | None = 5.0,
    sweeps: int | None = None,
    share: float = 0.05,
    callback: Listener | None = None,
    threads: int | None = None,
    progress: bool = True,
    start_from: Any = None,
    vocabulary: Sequence[str] | Mapping[str, int] | None = None,
    labels: Sequence[Any] | None = None,
    record: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> LayerwiseTraining:
    """`train_layerwise` with checkpoints in ``path``, where the result is saved at the end.

    ``vocabulary``, ``labels`` and ``record`` are those of `pgbn.save`; the result knows the names.
    """
    priors, link = arguments.pop("priors", None), arguments.get("link", "poisson")
    check_priors(priors)
    cells = read_training(X, link)
    depth = check_depth(depth)
    networks = read_beginning(start_from, cells, depth, link)
    # What is left out is written down too: where training is resumed, start_from is not known.
    if arguments.get("eta") is None:
        arguments["eta"] = list(choose_eta(None, depth, networks))
    kept = {"max_width": max_width, "depth": depth, **arguments}
    kept["priors"] = asdict(choose_priors(priors, networks))
    start = LayerwiseTraining(tuple(networks), "") if networks else None
    documents, terms = cells.shape
    if not isinstance(record, Mapping | None):
        raise DataError(f"record={record!r:.60}: give a dict that can be written as JSON")
    context = {
        "vocabulary": None if vocabulary is None else check_names("vocabulary", vocabulary, terms),
        "labels": None if labels is None else check_names("labels", labels, documents),
        "record": dict(record or {}),
        "seconds": 0.0,
    }
    # All that is saved with the result, so that it does not fail when training is done.
    for name, value in {**kept, "record": context["record"]}.items():
        _check_json(name, value)
    writer = Checkpoints(path, kept, minutes=minutes, sweeps=sweeps, share=share, context=context)
    return _run(writer, cells, callback, threads, progress, start_from=start)


def _check_json(name: str, value: Any) -> None:
    try:
        archive.to_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{name}={value!r:.60}: cannot be saved as JSON ({error})") from None


def resume(
    path: str | Path,
    *,
    minutes: float | None = 5.0,
    sweeps: int | None = None,
    share: float = 0.05,
    callback: Listener | None = None,
    threads: int | None = None,
    progress: bool = True,
) -> LayerwiseTraining:
    """Go on with the training in a folder from its last checkpoint, and save the result there."""
    at = read_checkpoint(path, threads=threads)
    kept = dict(at.arguments)
    # Versions that left these out of a checkpoint trained with the defaults, whatever the start.
    if kept.get("eta") is None:
        kept["eta"] = list(choose_eta(None, kept["depth"], ()))
    if kept.get("priors") is None:
        kept["priors"] = asdict(choose_priors(None, ()))
    writer = Checkpoints(
        path, kept, minutes=minutes, sweeps=sweeps, share=share, context=at.context
    )
    writer.saved = True
    return _run(writer, at.data, callback, threads, progress, resume=at.progress)


def _run(
    writer: Checkpoints,
    X: Any,
    callback: Listener | None,
    threads: int | None,
    progress: bool,
    **beginning: Any,
) -> LayerwiseTraining:
    check_callback(callback)
    archive.check_writable(writer.path)
    arguments, known = dict(writer.arguments), signature(train_layerwise).parameters
    for name in arguments.keys() - known:
        raise DataError(f"train: no argument is called {name!r}.{did_you_mean(name, known)}")
    arguments["priors"] = read_priors(arguments["priors"])
    start, before = time.monotonic(), float(writer.context.get("seconds", 0.0))
    with _stopping(writer) as listen:

        def each(event: Progress) -> None:
            writer.context["seconds"] = before + time.monotonic() - start
            if callback is not None:
                callback(event)
            listen(event)

        result = train_layerwise(
            X, callback=each, threads=threads, progress=progress, **arguments, **beginning
        ).with_vocabulary(writer.context.get("vocabulary"))
    record = {
        **writer.context.get("record", {}),
        "arguments": writer.arguments,
        "seconds": writer.context["seconds"],
    }
    context = writer.context
    try:
        folders.save(result, writer.path, labels=context.get("labels"), record=record, data=X)
    except StorageError as error:
        if writer.saved and isinstance(error.__cause__, OSError):
            full = error.__cause__.errno in (errno.ENOSPC, errno.EDQUOT)
            raise StorageError(
                f"{error}; {'make room, then ' if full else ''}go on from the last checkpoint with "
                f"the command pgbn resume {writer.path}"
            ) from error
        raise
    return result


@contextmanager
def _stopping(writer: Checkpoints) -> Iterator[Listener]:
    """Checkpoints, and one more when Ctrl-C is pressed."""
    with stop_gently() as stop:

        def listen(progress: Progress) -> None:
            if stop.requested:
                writer.save(progress)
                raise Interrupted(
                    f"stopped after sweep {progress.done} of {progress.total} and saved; go on "
                    f"with the command: pgbn resume {writer.path}, or in Python: "
                    f"pgbn.resume({str(writer.path)!r})"
                )
            writer(progress)

        yield listen
