"""Training that survives a stop: regular checkpoints, and resuming from the last one.

    result = pgbn.train_layerwise(X, 100, 3, save="model")
    result = pgbn.resume("model")         # after Ctrl-C, a crash or a power cut

A resumed chain is bit-identical to one that was not interrupted. The folder holds the last complete
checkpoint and, when training is done, the model (`pgbn.load`).
"""

from __future__ import annotations

import errno
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from pydantic import NonNegativeInt

from pgbn.checks import check_names, check_path, is_finite_number, validated
from pgbn.engine.data.cells import Cells
from pgbn.engine.run.chain import Chain, stop_gently
from pgbn.engine.run.chain_files import (
    RUN,
    chain_content,
    chain_data,
    chain_state,
    decode_chain,
)
from pgbn.engine.run.progress import check_callback
from pgbn.engine.run.sampling import resume_sampling
from pgbn.errors import DataError, StorageError, notify
from pgbn.network.layers import layers_above
from pgbn.samplers.executor import Executor, executor_of
from pgbn.samplers.from_numba import binding, numba
from pgbn.storage import folders
from pgbn.storage.archive import (
    MANIFEST,
    Files,
    Group,
    check_form,
    check_loadable,
    read_manifest,
    register_unloadable,
)
from pgbn.storage.arrays import InParts
from pgbn.storage.folders import (
    Kept,
    check_content,
    check_kept,
    kept_arrays,
    read_folder,
    read_kept,
)
from pgbn.storage.runner import Runner, Timing
from pgbn.storage.writing import as_json
from pgbn.training.growing import Progress
from pgbn.training.kept_draws import Means, Trace
from pgbn.training.layerwise import names_of_terms, train_settings
from pgbn.training.settings import Build, Settings, check_known
from pgbn.training.start_from import find_start, read_training
from pgbn.training.trained import check_shapes
from pgbn.training.training_files import decode_networks, encode_networks
from pgbn.training.training_result import LayerwiseTraining
from pgbn.versions import __version__

# The kernels draw bit-identical values on every processor and with every library (see
# `pgbn.samplers.elementary`). A chain also depends on the version of pgbn, which may compute
# distributions differently. Networks without a kernel of their own sum by numpy's einsum, which
# another kind of machine may round differently.
_DECISIVE = ("pgbn", "machine")


@cache
def this_machine() -> Mapping[str, str]:
    """Versions, kind of machine, processor and C library, as a checkpoint records them.

    They describe the running process: the files that contain them may change or vanish before
    training ends.
    """
    return {
        "pgbn": __version__,
        "machine": platform.machine(),
        "processor": binding.get_host_cpu_name(),
        "libc": " ".join(platform.libc_ver()),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def another_machine(recorded: Any) -> str:
    """How this machine differs from the recorded one in what may change bits, in words. The text is
    empty if nothing differs or nothing was recorded."""
    if not isinstance(recorded, Mapping):
        return ""
    here = this_machine()
    return ", ".join(
        f"{name} was {recorded[name]!r:.40} and is {here[name]!r}"
        for name in _DECISIVE
        if recorded.get(name, here[name]) != here[name]
    )


# ---- the writer of each field, and its reader ---------------------------------------------
#
# settings  the arguments of the training
# object    context, machine, chain, networks, names, PLACE, trace
# state     the arrays of the chain, mean/ with the name of a node while means are summed up, and
#           kept/0/ with the name of a node, … the draws that are kept
# data      the documents; model: the networks that are trained already; columns: what is kept of
#           the documents for the report, if anything is


KIND = "checkpoint"
STATE, DATA, MODEL, COLUMNS = "state", "data", "model", "columns"  # groups of arrays, a file each
MEAN, KEPT = "mean/", "kept/"  # before the names of sums, and of draws
PLACE = ("depth", "phase", "sweep", "sweeps", "done", "total")  # where the training stands
_FORM: dict[str, Any] = {
    "context": dict[str, Any], "networks": list[dict[str, Any]], "trace": dict[str, Any],
    "names": list[str] | None, **dict.fromkeys(PLACE, NonNegativeInt), "phase": str,
}  # fmt: skip
_OF_TRACE: dict[str, Any] = {"every": NonNegativeInt, "sweep": NonNegativeInt,
                             "rows": Sequence[Sequence[float]],
                             "before_merging": NonNegativeInt}  # fmt: skip

Lasting = dict[str, Callable[[], Group | InParts]]


@dataclass(frozen=True)
class Checkpoint:
    """A training that was stopped: its data, its arguments, and where it stands."""

    data: Any
    arguments: dict[str, Any]
    progress: Progress
    context: dict[str, Any]
    machine: Any = None  # see `this_machine`; None in older checkpoints
    columns: Kept = field(default_factory=dict)


def encode_checkpoint(
    progress: Progress, context: Mapping[str, Any]
) -> tuple[dict[str, Any], Group | InParts, Lasting]:
    """The position of a training, the arrays of its state, and the arrays that seldom change."""
    networks, model = encode_networks(progress.networks)
    place = {
        "context": dict(context),
        "machine": dict(this_machine()),
        "chain": chain_content(progress.chain),
        "networks": networks,
        "names": progress.networks[-1].vocabulary if progress.networks else None,
        **{name: getattr(progress, name) for name in PLACE},
        "trace": asdict(progress.trace),
    }
    state, means = chain_state(progress.chain), progress.means
    more: Group = {f"{MEAN}{name}": np.asarray(total) for name, total in means.sums.items()}
    for s, draw in enumerate(means.draws):
        more |= {f"{KEPT}{s}/{name}": value for name, value in draw.items()}
    if isinstance(state, InParts):
        complete = state.whole
        state = replace(state, here={**state.here, **more}, whole=lambda: {**complete(), **more})
    else:
        state = {**state, **more}
    return place, state, {DATA: lambda: chain_data(progress.chain), MODEL: lambda: model}


def decode_checkpoint(
    content: Mapping[str, Any],
    files: Files,
    threads: int | None = None,
    executor: Executor | None = None,
) -> Checkpoint:
    """Read a checkpoint; its chain runs on ``threads``, or by an ``executor``."""
    check_form(content, {"settings": dict[str, Any]})
    place = content["object"]
    check_form(place, _FORM)
    trace, context = place["trace"], place["context"]
    check_form(trace, _OF_TRACE)
    state = files(STATE)
    means = {name: state.pop(name) for name in list(state) if name.startswith((MEAN, KEPT))}
    chain = decode_chain(
        place["chain"],
        lambda group: state if group == STATE else files(group),
        threads=threads,
        executor=executor,
    )
    _check_place(place["phase"], trace, context)
    progress = Progress(
        chain=chain,
        **{name: place[name] for name in PLACE},
        seconds=0.0,
        sweep_seconds=0.0,
        networks=decode_networks(place["networks"], files(MODEL), place["names"]),
        trace=Trace(**{**trace, "rows": [tuple(row) for row in trace["rows"]]}),
        means=_decode_means(means, chain),
    )
    data = {name: _as_given(cells) for name, cells in chain._program.cells.items()}
    return Checkpoint(
        data[chain.network.observed[0]] if len(data) == 1 else data,
        dict(content["settings"]),
        progress,
        dict(context),
        place["machine"],
    )


def _check_place(phase: Any, trace: Any, context: Any) -> None:
    """Reject damage that a resumed training would notice only after its sweeps."""
    rows = np.asarray(trace["rows"], float).reshape(-1, 3)
    if phase not in ("burn_in", "collect") or rows.ndim != 2:
        raise StorageError(f"damaged: the phase {phase!r:.40} is not 'burn_in' or 'collect'")
    names = {name: context.get(name) for name in ("vocabulary", "labels")}
    check_content({**names, "record": context.get("record", {}), "object": {}})
    if not is_finite_number(context.get("seconds", 0.0)):
        raise StorageError("damaged: the seconds of the training are not a number")


def checkpoint_facts(content: Mapping[str, Any]) -> dict[str, Any]:
    """The position of a training, from the content alone: no array is read."""
    place = {name: content["object"][name] for name in PLACE}
    return {**place, "arguments": content["settings"]}


def _decode_means(arrays: Group, chain: Chain) -> Means:
    """The sums by the names of nodes. Older versions wrote the number of the layer for loadings."""
    network = chain.network
    layers = layers_above(network, network.observed[0])
    numbered = {str(t): layer.loadings for t, layer in enumerate(layers)}
    means = Means()
    for path, array in arrays.items():
        kind, *number, name = path.split("/")
        if f"{kind}/" == MEAN:
            means.sums[numbered.get(name, name)] = array
            continue
        place = int(number[0])
        if not 0 <= place < len(arrays):  # each of the draws before it has arrays, too
            raise StorageError(f"damaged: {path!r:.60} is not one of the draws, of {len(arrays)}")
        means.draws += [{} for _ in range(place + 1 - len(means.draws))]
        means.draws[place][name] = array
    absent = [layer.loadings for layer in layers if layer.loadings not in means.sums]
    if means.sums and absent:
        raise StorageError(f"damaged: the means of the training lack {absent[0]}")
    for each in (means.sums, *means.draws):
        check_shapes("damaged: means or draws", network, each, chain._program.sizes)
    if any(each.keys() != means.draws[0].keys() for each in means.draws):
        raise StorageError("damaged: the draws of the training are not of the same nodes")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise StorageError("damaged: means or draws of the training are not finite numbers")
    return means


def _as_given(cells: Cells) -> Any:
    """The data as they were given: sparse, or masked where cells are missing."""
    if cells.missing is not None:
        unknown = cells.dense(cells.missing)[0]
        return np.ma.masked_array(cells.dense()[0], mask=unknown)
    if len(cells.shape) != 2:
        return cells.dense()[0]
    return sp.csr_array((cells.values, cells.indices, cells.indptr), shape=cells.shape)


register_unloadable(
    KIND,
    lambda path: (
        "a training that has not ended; continue with "
        f"pgbn.resume({str(path)!r}) or the command pgbn resume {path}"
    ),
)


def read_checkpoint(
    path: str | Path, *, threads: int | None = None, executor: Executor | None = None
) -> Checkpoint:
    """The last complete checkpoint in a folder."""

    def read(body: Mapping[str, Any], files: Files) -> Checkpoint:
        if body["kind"] != KIND:
            check_loadable(body["kind"], Path(path))  # raises advice for other kinds
            raise StorageError(
                f"{path}: nothing to resume: it holds a finished {body['kind']}; "
                f"pgbn.load({str(path)!r}) reads it"
            )
        kept = read_kept(files(COLUMNS)) if COLUMNS in body["groups"] else {}
        return replace(decode_checkpoint(body["content"], files, threads, executor), columns=kept)

    return read_folder(path, read)


_FINISHED = ("training", "trained", "estimator", "draws")
_KEYWORDS = ("start_from", "vocabulary", "names", "record", "columns", "minutes", "every",
             "share", "callback", "threads", "progress", "executor")  # fmt: skip
Listener = Callable[[Progress], None]


def train_with_checkpoints(
    X: Any,
    path: str | Path,
    max_width: int | Sequence[int],
    depth: int,
    *,
    start_from: Any = None,
    vocabulary: Sequence[str] | Mapping[str, int] | None = None,
    names: Sequence[Any] | None = None,
    record: Mapping[str, Any] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    minutes: float | None = 5.0,
    every: int | None = None,
    share: float = 0.05,
    callback: Listener | None = None,
    threads: int | None = None,
    progress: bool = True,
    executor: Executor | None = None,
    **arguments: Any,
) -> LayerwiseTraining:
    """`train_layerwise` with checkpoints in ``path``, where the result is saved at the end.

    ``vocabulary``, ``names``, ``record`` and ``columns`` are those of `pgbn.save`. A checkpoint is
    written every ``minutes``, or once in ``every`` sweeps. Writing takes at most ``share`` >
    0 of the time: the next checkpoint waits if the last one took long. A share of more than 1 sets
    no limit.
    """
    timing = Timing(minutes, every, share)
    check_callback(callback)
    check_known(arguments, _KEYWORDS)
    networks = find_start(start_from)
    start = networks[-1] if networks else None
    settings = Settings(max_width, depth, **arguments, start=start)
    data = read_training(X, settings.grown, executor_of(threads, executor))
    cells = next(iter(data.values()))
    if not isinstance(record, Mapping | None):
        raise DataError(f"record={record!r:.60}: give a dict that can be written as JSON")
    context = {
        "vocabulary": names_of_terms(vocabulary, settings, cells),
        "labels": None if names is None else check_names("names", names, cells.rows),
        "record": dict(record or {}),
        "seconds": 0.0,
    }
    # Check everything that is saved with the result, so that saving does not fail after training.
    kept = settings.content()
    for name, value in {**kept, "record": context["record"]}.items():
        try:
            as_json(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise DataError(f"{name}={value!r:.60}: cannot be saved as JSON ({error})") from None
    kept_columns = check_kept(columns, cells.rows)
    with Runner(path, KIND, kept, timing) as runner:
        return _Training(runner, context, kept_columns, callback).run(
            settings, data, networks=networks, threads=threads, progress=progress,
            executor=executor,
        )  # fmt: skip


@validated
def resume(
    path: str | Path,
    *,
    family: Build | None = None,
    minutes: float | None = 5.0,
    every: int | None = None,
    share: float = 0.05,
    callback: Listener | None = None,
    threads: int | None = None,
    progress: bool = True,
    executor: Executor | None = None,
) -> Any:
    """Continue a training or a run of `net.sample` that was stopped, from its last checkpoint.

    The result is bit-identical to that of a run without the stop, and is saved in the folder.

    Parameters
    ----------
    path : str or Path
        The folder, which was ``save=`` of `train_layerwise` or `Network.sample`. If it is finished,
        the result is loaded.
    family : function, optional
        The ``family`` of `train_layerwise`. It is needed if it is not a model of the zoo, since
        files contain no functions.
    minutes : float, optional
        The time between two checkpoints; None writes them at a stop only.
    every : int, optional
        The number of sweeps between two checkpoints, in place of ``minutes``.
    share : float
        The part of the time that writing checkpoints may take; more than 1 sets no limit.
    callback : function, optional
        Called with an `Event` after each sweep.
    threads : int, optional
        Threads of this process; all cores by default.
    progress : bool
        Show a live line.
    executor : Executor, optional
        Where rows are worked on, in place of ``threads``.

    Returns
    -------
    LayerwiseTraining or Draws
        What the call that was stopped would have returned.

    Examples
    --------
    >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
    >>> def stop(event):
    ...     if event.sweep == 3:
    ...         raise KeyboardInterrupt
    >>> try:
    ...     pgbn.train_layerwise(X, 4, 1, burn_in=5, sweeps=5, save="model", minutes=0,
    ...                          callback=stop, progress=False)
    ... except KeyboardInterrupt:
    ...     print("stopped")
    stopped
    >>> pgbn.resume("model", progress=False).stopped
    'depth 1 reached'
    """
    timing = Timing(minutes, every, share)
    check_callback(callback)
    folder = check_path("path", path)
    folder = folder.parent if folder.name == MANIFEST else folder
    kind = read_manifest(folder)["kind"]
    if kind == RUN:
        return resume_sampling(folder, timing, threads, progress, callback, executor)
    if kind in _FINISHED:
        notify(f"{folder}: finished already, there is nothing left to do")
        return folders.load(folder)
    if kind != KIND:
        read_checkpoint(folder)  # says what it is
    with Runner(folder, KIND, timing=timing) as runner:
        at = read_checkpoint(folder, threads=threads, executor=executor)
        other = another_machine(at.machine)
        if other:
            notify(f"{folder}: the chain continues, but its last bits may differ: {other}")
        settings = Settings.from_content(at.arguments, family)
        runner.settings = settings.content()  # older versions wrote fewer of them
        return _Training(runner, at.context, at.columns, callback, saved=True).run(
            settings, at.data, networks=at.progress.networks, resume=at.progress, threads=threads,
            progress=progress, executor=executor,
        )  # fmt: skip


@dataclass
class _Training:
    """A training in the folder of a runner; ``context`` and ``columns`` are saved with it."""

    runner: Runner
    context: dict[str, Any]
    columns: Kept
    callback: Listener | None = None
    saved: bool = False  # whether the folder has a checkpoint of it
    networks: Sequence[Any] = ()  # of the last checkpoint

    def run(self, settings: Settings, data: Any, **options: Any) -> LayerwiseTraining:
        """Train to the end. Ctrl-C, SIGTERM and SIGHUP stop after a sweep, with a checkpoint; they
        do not interrupt the writing of the result."""
        context, start, path = self.context, time.monotonic(), self.runner.path
        this_machine()  # read the files with versions before training
        before = float(context.get("seconds", 0.0))
        with stop_gently() as stop:

            def listen(event: Progress) -> None:
                context["seconds"] = before + time.monotonic() - start
                if self.callback is not None:
                    self.callback(event)
                self.runner.rhythms[0].tick(partial(self.save, event), stop.requested)
                if stop.requested:
                    raise stop.interrupted(
                        f"stopped after sweep {event.done} of {event.total} and saved; continue "
                        f"with the command: pgbn resume {path}, or in Python: "
                        f"pgbn.resume({str(path)!r})"
                    )

            result = train_settings(settings, data, callback=listen, **options)
            result = result.with_vocabulary(context.get("vocabulary"))
            self._save_result(result, data)
            if stop.requested:  # after the last sweep: stop the calling script too
                raise stop.interrupted(
                    f"stopped when the training was done; it is saved: {path}, and the command "
                    f"pgbn resume {path} says whether anything is left to do"
                )
        return result

    def save(self, progress: Progress) -> None:
        """Write a checkpoint. Data, and networks that are trained already, keep their files."""
        place, state, lasting = encode_checkpoint(progress, self.context)
        arrays, old, new = {STATE: state}, self.networks, progress.networks
        if len(old) != len(new) or any(map(lambda a, b: a is not b, old, new)):
            arrays[MODEL] = lasting[MODEL]()
        if self.columns:
            lasting[COLUMNS] = partial(kept_arrays, self.columns)
        self.runner.commit(place, arrays, lasting)
        self.networks, self.saved = new, True

    def _save_result(self, result: LayerwiseTraining, data: Any) -> None:
        context, path = self.context, self.runner.path
        record = {
            **context.get("record", {}),
            "arguments": self.runner.settings,
            "seconds": round(context["seconds"], 3),
        }
        try:
            folders.save(
                result, path, names=context.get("labels"), record=record, data=_documents(data),
                columns=self.columns,
            )  # fmt: skip
        except StorageError as error:
            if self.saved and isinstance(error.__cause__, OSError):
                full = error.__cause__.errno in (errno.ENOSPC, errno.EDQUOT)
                raise StorageError(
                    f"{error}; {'free disk space, then ' if full else ''}continue from the last "
                    f"checkpoint with the command pgbn resume {path}"
                ) from error
            raise


def _documents(data: Any) -> Any:
    """The documents that are saved with the result, for the report: the data, if they are one
    matrix."""
    if not isinstance(data, Mapping):
        return data if len(data.shape) == 2 else None
    first, *others = data.values()
    return _documents(first) if not others else None
