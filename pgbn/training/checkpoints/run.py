"""Training that survives a stop: checkpoints now and then, and going on from the last one.

    result = pgbn.checkpoint.train(X, "model", max_width=100, depth=3)
    result = pgbn.resume("model")         # after Ctrl-C, a crash or a power cut

The resumed chain is the one that was interrupted, bit for bit. The folder holds the last
complete checkpoint and, when training is done, the model (`pgbn.load`).
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pgbn.checks import check_names, check_path
from pgbn.engine.data.coords import term_labels
from pgbn.engine.data.nonzero import Cells
from pgbn.engine.run.run_store import KIND as RUN
from pgbn.engine.run.sampling import resume_sampling
from pgbn.engine.run.stopping import Timing, stop_gently
from pgbn.errors import DataError, StorageError, notify
from pgbn.samplers.executor import Executor, executor_of
from pgbn.storage import folders, writing
from pgbn.storage.archive import MANIFEST, Files, check_loadable, read_manifest
from pgbn.storage.folders import check_kept, read_folder, read_kept
from pgbn.training.checkpoints.format import (
    COLUMNS,
    KIND,
    Checkpoint,
    another_machine,
    decode_checkpoint,
)
from pgbn.training.checkpoints.write import Checkpoints, Listener, Running, takes
from pgbn.training.family import Build
from pgbn.training.growing import Progress, family_of
from pgbn.training.layerwise import train_settings
from pgbn.training.settings import Settings, check_known
from pgbn.training.start_from import find_start, read_training
from pgbn.training.training_result import LayerwiseTraining

# ---- read ---------------------------------------------------------------------------------------
#
# A training that was stopped, as its last checkpoint tells.


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


# ---- run ----------------------------------------------------------------------------------------


_FINISHED = ("training", "trained", "estimator", "draws")
_BESIDES = ("start_from", "vocabulary", "labels", "record", "columns")  # keywords of `train` itself


@takes(Running, others=True)
def train(
    X: Any,
    path: str | Path,
    max_width: int | Sequence[int],
    depth: int,
    *,
    start_from: Any = None,
    vocabulary: Sequence[str] | Mapping[str, int] | None = None,
    labels: Sequence[Any] | None = None,
    record: Mapping[str, Any] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    **arguments: Any,
) -> LayerwiseTraining:
    """`train_layerwise` with checkpoints in ``path``, where the result is saved at the end.

    ``vocabulary``, ``labels``, ``record`` and ``columns`` are those of `pgbn.save`; the result
    knows the names.
    ``minutes``, ``sweeps`` and ``share`` say when a checkpoint is written, see `Checkpoints`.
    """
    running, given = Running.among(arguments)
    check_known(given, [*(field.name for field in fields(running)), *_BESIDES])
    networks = find_start(start_from)
    start = networks[-1] if networks else None
    settings = Settings.of(max_width, depth, **given, start=start)
    data = read_training(X, family_of(settings), executor_of(running.threads, running.executor))
    if settings.family is not None and vocabulary is not None:
        raise DataError("vocabulary: names of terms are for belief networks; leave it out")
    cells = next(iter(data.values()))
    if not isinstance(record, Mapping | None):
        raise DataError(f"record={record!r:.60}: give a dict that can be written as JSON")
    context = {
        "vocabulary": _vocabulary(settings, cells, vocabulary),
        "labels": None if labels is None else check_names("labels", labels, cells.rows),
        "record": dict(record or {}),
        "seconds": 0.0,
    }
    # All that is saved with the result, so that it does not fail when training is done.
    kept = settings.content()
    for name, value in {**kept, "record": context["record"]}.items():
        _check_json(name, value)
    beside = check_kept(columns, cells.rows)
    writer = Checkpoints(path, kept, context=context, columns=beside, **running.timing)
    with writing.writing(path):
        return _run(writer, settings, data, running, networks=networks)


def _vocabulary(settings: Settings, cells: Cells, names: Any) -> list[str] | None:
    """The names of the terms: as given, else those that the data bring with them."""
    if names is not None:
        return check_names("vocabulary", names, cells.columns)
    return None if settings.family is not None else term_labels(cells)


def _check_json(name: str, value: Any) -> None:
    try:
        writing.as_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{name}={value!r:.60}: cannot be saved as JSON ({error})") from None


@takes(Running)
def resume(
    path: str | Path,
    *,
    family: Build | None = None,
    **options: Any,
) -> Any:
    """Go on with the training or the run of `net.sample` in a folder, from its last checkpoint,
    and save the result there.

    ``family`` is that of `train_layerwise`, needed where it is no model of the zoo, since files
    hold no functions. The options are those of `pgbn.checkpoint.train`. If it is finished already,
    the result is loaded.
    """
    running, unknown = Running.among(options)
    for name in unknown:
        raise TypeError(f"resume() got an unexpected keyword argument {name!r}")
    folder = check_path("path", path)
    path = folder.parent if folder.name == MANIFEST else folder
    kind = read_manifest(path)["kind"]
    if kind == RUN:
        return resume_sampling(
            path, Timing(**running.timing), running.threads, running.progress, running.callback,
            running.executor,
        )  # fmt: skip
    if kind in _FINISHED:
        notify(f"{path}: finished already, there is nothing left to do")
        return folders.load(path)
    if kind != KIND:
        read_checkpoint(path)  # says what it is
    with writing.writing(path):
        at = read_checkpoint(path, threads=running.threads, executor=running.executor)
        other = another_machine(at.machine)
        if other:
            notify(f"{path}: the chain goes on, perhaps with other last bits than there: {other}")
        settings = Settings.from_content(at.arguments, family)
        writer = Checkpoints(path, settings.content(), context=at.context, columns=at.columns,
                             **running.timing)  # fmt: skip
        writer.saved = True
        networks = at.progress.networks
        return _run(writer, settings, at.data, running, networks=networks, resume=at.progress)


def _run(
    writer: Checkpoints, settings: Settings, data: Any, running: Running, **beginning: Any
) -> LayerwiseTraining:
    context, start = writer.context, time.monotonic()
    before = float(context.get("seconds", 0.0))
    with _stopping(writer) as listen:

        def each(event: Progress) -> None:
            context["seconds"] = before + time.monotonic() - start
            if running.callback is not None:
                running.callback(event)
            listen(event)

        result = train_settings(
            settings, data, callback=each, threads=running.threads, executor=running.executor,
            progress=running.progress, **beginning,
        ).with_vocabulary(context.get("vocabulary"))  # fmt: skip
        _save_result(writer, result, data)
    return result


def _save_result(writer: Checkpoints, result: LayerwiseTraining, data: Any) -> None:
    context = writer.context
    record = {
        **context.get("record", {}),
        "arguments": writer.arguments,
        "seconds": round(context["seconds"], 3),
    }
    try:
        folders.save(
            result, writer.path, labels=context.get("labels"), record=record,
            data=_documents(data), columns=writer.columns,
        )  # fmt: skip
    except StorageError as error:
        if writer.saved and isinstance(error.__cause__, OSError):
            full = error.__cause__.errno in (errno.ENOSPC, errno.EDQUOT)
            raise StorageError(
                f"{error}; {'make room, then ' if full else ''}go on from the last checkpoint with "
                f"the command pgbn resume {writer.path}"
            ) from error
        raise


def _documents(data: Any) -> Any:
    """What is saved beside the result, for the report: the data, if they are one matrix."""
    if not isinstance(data, Mapping):
        return data if len(data.shape) == 2 else None
    first, *others = data.values()
    return _documents(first) if not others else None


@contextmanager
def _stopping(writer: Checkpoints) -> Iterator[Listener]:
    """Checkpoints, and one more when Ctrl-C, SIGTERM or SIGHUP comes; the result, which is saved
    within, is not cut off by them."""
    with stop_gently() as stop:

        def listen(progress: Progress) -> None:
            if stop.requested:
                writer.save(progress)
                raise stop.interrupted(
                    f"stopped after sweep {progress.done} of {progress.total} and saved; go on "
                    f"with the command: pgbn resume {writer.path}, or in Python: "
                    f"pgbn.resume({str(writer.path)!r})"
                )
            writer(progress)

        yield listen
        if stop.requested:  # after the last sweep: a script that trains on must hear of it too
            raise stop.interrupted(
                f"stopped when the training was done; it is saved: {writer.path}, and the command "
                f"pgbn resume {writer.path} says whether anything is left to do"
            )
