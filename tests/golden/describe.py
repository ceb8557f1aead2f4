"""What is expected of a file: what it holds, and what goes on from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import pgbn as pg
from pgbn.storage import open_saved
from pgbn.training.checkpoints import read_checkpoint
from pgbn.training.numbering import numbered_as_in_chain
from tests.same_bits import digest as hashes

from .objects import documents

__all__ = ["LINES", "command", "commands", "continued", "described", "digest", "is_stopped",
           "resumed"]  # fmt: skip

LINES = ("--json info", "--json topics --top 4")  # texts are in tests/snapshots


def digest(value: object) -> str:
    """The beginning of a hash: it is to notice changes, not forgers."""
    return hashes.digest(value)[:16]


def trained(training: Any) -> dict[str, Any]:
    """A training, or one network, in numbers and hashes; topics have the numbers of the chain, as
    in earlier versions."""
    out: dict[str, Any] = {"stopped": getattr(training, "stopped", None), "networks": []}
    for network in map(numbered_as_in_chain, getattr(training, "models", (training,))):
        names = ("phi", "r", "c", "weights", "traces", "state")
        hashes = {name: digest(getattr(network, name)) for name in names}
        facts = {name: getattr(network, name) for name in ("eta", "link", "noise", "sweeps")}
        labels = {f"{layer}/{topic}": text for (layer, topic), text in network.labels.items()}
        state = {name: np.shape(value) for name, value in network.state.items()}
        out["networks"].append({
            **facts, **hashes, "widths": network.widths, "terms": network.vocabulary_size,
            "vocabulary": network.vocabulary, "labels": labels, "priors": asdict(network.priors),
            "state shapes": state,
        })  # fmt: skip
    return _plain(out)


def _chain(chain: pg.Chain) -> dict[str, Any]:
    state = chain.state()
    return {
        "network": digest(chain.network.to_json()),
        "schedule": digest(chain.schedule.names),
        "layer1": chain.sampler,
        "seed": chain.seed,
        "number": chain.number,
        "sweeps": chain.sweeps,
        "state": {name: [str(v.dtype), v.shape, digest(v)] for name, v in state.items()},
    }


# The names that parameters had when the files were written.
OLDER = {"sampler": "layer1", "sweeps": "collect", "transform_draws": "transform_samples",
         "merge_duplicates": "merge_twins"}  # fmt: skip


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, pg.Network):
        return {"json": digest(value.to_json()), "schedule": digest(value.schedule.latex())}
    if isinstance(value, pg.Chain):
        return _chain(value)
    if not hasattr(value, "get_params"):
        return trained(value)
    parameters = {OLDER.get(n, n): str(entry) for n, entry in value.get_params().items()}
    newer = {"keep_draws": "0", "merge_twins": "True", "learning": "gibbs", "batch_size": "512",
             "executor": "None"}  # fmt: skip
    for name, default in newer.items():  # parameters that the files are older than
        if parameters.get(name) == default:
            del parameters[name]
    if "layer" in parameters:  # of the features: another parameter asked for all layers
        parameters["output"] = "concat" if parameters["layer"] == "None" else "layer"
    if not hasattr(value, "training_"):
        return {"parameters": parameters}
    names = getattr(value, "feature_names_in_", None)
    return {
        "parameters": parameters,
        "training": trained(value.training_),
        "link": value.link_,
        "features": value.n_features_in_,
        "feature names": None if names is None else list(names),
        "components": digest(value.components_),
    }


def _checkpoint(folder: Path) -> dict[str, Any]:
    at = read_checkpoint(folder, threads=1)
    where = ("depth", "phase", "sweep", "sweeps", "done", "total")
    return {
        "data": _data(at.data),
        "arguments": {OLDER.get(n, n): value for n, value in at.arguments.items()},
        "context": {name: value for name, value in at.context.items() if name != "seconds"},
        "chain": _chain(at.progress.chain),
        "networks": [trained(network) for network in at.progress.networks],
        **{name: getattr(at.progress, name) for name in where},
    }


def _data(data: Any) -> str | None:
    if isinstance(data, np.ma.MaskedArray):
        return digest([data.filled(0), np.ma.getmaskarray(data)])
    return None if data is None else digest(data)


def is_stopped(folder: Path) -> bool:
    """Whether a folder has a training that was stopped."""
    return bool(
        json.loads((folder / "model.json").read_text("utf-8"))["body"]["kind"] == "checkpoint"
    )


def described(folder: Path) -> dict[str, Any]:
    """What a folder holds. It is read, not computed: the same on every machine."""
    if is_stopped(folder):
        return _plain(_checkpoint(folder))
    saved = open_saved(folder, threads=1)
    return _plain({
        "type": type(saved.object).__name__,
        "object": _object(saved.object),
        "kind": saved.kind,
        "package": saved.package,
        "written": saved.written,
        "vocabulary": saved.vocabulary,
        "labels": saved.names,
        "record": {name: value for name, value in saved.record.items() if name != "seconds"},
        "data": _data(saved.data),
    })  # fmt: skip


def _named(estimator: Any, x: Any) -> Any:
    """Documents as a data frame, if the estimator was fitted to one."""
    if not hasattr(estimator, "feature_names_in_"):
        return x
    import pandas

    return pandas.DataFrame(x, columns=estimator.feature_names_in_)


def continued(folder: Path, threads: int) -> str:
    """The hash of what follows from a loaded object: sweeps, hidden units, further layers."""
    saved = open_saved(folder, threads=threads)
    value = saved.object
    if isinstance(value, pg.Network):
        return digest(value.generate(seed=1, sizes={"doc": 3, "term": 4}))
    if isinstance(value, pg.Chain):
        value.sweep(2)
        return digest([value.values, value.counts, value.state(), value.log_joint()])
    if hasattr(value, "get_params"):
        if not hasattr(value, "training_"):
            fitted = value.set_params(n_jobs=threads).fit(documents())
            return digest(numbered_as_in_chain(fitted.training_.deepest).phi[0])
        x = _named(value, documents(value.link_))
        value.set_params(n_jobs=threads)
        return digest([value.transform(x), value.score(x)])
    model = getattr(value, "deepest", value)
    x = documents(model.link) if saved.data is None else saved.data
    found = model.infer(x, burn_in=2, draws=3, seed=1, threads=threads)
    units = {t: found[name] for t, name in found.layers.items()}
    further = None
    if model.state:
        further = trained(pg.train_layerwise(
            x, model.widths[0], model.depth + 1, burn_in=3, sweeps=2, link=model.link, min_width=1, seed=2,
            threads=threads, progress=False, start_from=value,
        ))  # fmt: skip
    return digest([found.features(), units, further])


def resumed(folder: Path, threads: int) -> dict[str, Any]:
    """The result of a stopped training that is resumed in a copy of its folder."""
    with TemporaryDirectory() as place:
        copy = copytree(folder, Path(place) / "model")
        result = trained(pg.resume(copy, threads=threads, progress=False))
        assert trained(pg.load(copy)) == result, "what was saved is not what was returned"
    return result


def commands(folder: Path) -> dict[str, str]:
    """The hashes of what commands print about a model."""
    return {line: command(line, folder) for line in LINES}


def command(line: str, folder: Path) -> str:
    """The hash of what one of ``LINES`` prints about a model."""
    root = str(Path(pg.__file__).parents[1])
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    found = subprocess.run(
        [sys.executable, "-m", "pgbn", *line.split(), folder.name], cwd=folder.parent,
        capture_output=True, check=True, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    return digest(found.stdout.decode())


def _plain(value: Any) -> Any:
    """As JSON gives it back."""
    return json.loads(json.dumps(value, default=str))
