"""A folder of every kind that pgbn writes, also of those that are not finished.

Golden files have chains, trainings and estimators; what they lack is made here.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.storage import archive, build
from pgbn.storage.arrays import ROWS
from pgbn.training.checkpoints import train_with_checkpoints
from tests.golden.objects import BESIDE, documents
from tests.helpers.own_family import own_family
from tests.helpers.saved import write_group

__all__ = [
    "DATA",
    "MINIBATCH",
    "OWN",
    "read_body",
    "sign",
    "write_group",
    "write_kinds",
    "write_minibatch",
]

GOLDEN = Path(__file__).parents[1] / "golden" / "files"
DATA = documents()
FEW: dict[str, Any] = {"burn_in": 3, "sweeps": 2, "min_width": 1, "seed": 2, "progress": False}
NEW: dict[str, Any] = {"burn_in": 3, "transform_burn_in": 1, "transform_draws": 1,
                       "random_state": 0}  # fmt: skip
OWN = {"words": DATA, "labels": (DATA[:, :3] > 0).astype(int)}
MINIBATCH: dict[str, Any] = {"batch_size": 6, "steps": 6, "average": 4, "keep_draws": 2,
                             "local_burn_in": 1, "local_draws": 1, "held_out": DATA[:4],
                             "show_every": 1, "progress": False}  # fmt: skip


def read_body(folder: Path) -> Any:
    """What a manifest says."""
    return json.loads((folder / "model.json").read_text())["body"]


def sign(folder: Path, body: Any) -> None:
    """A manifest with this body, whose checksum is right."""
    document = {"format": "pgbn-model", "version": 2, "sha256": archive.body_digest(body)}
    (folder / "model.json").write_text(json.dumps({**document, "body": body}))


class _StoppedError(Exception):
    """In the middle of what is written."""


def _after(number: int) -> Callable[[Any], None]:
    """A callback that stops a verb at its event ``number``."""
    left = number

    def listen(event: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise _StoppedError

    return listen


def write_kinds(place: Path) -> list[Path]:
    """The folders, by their names."""
    for folder in sorted(GOLDEN.iterdir()):
        shutil.copytree(folder, place / folder.name)
    makers = (_write_runs, _write_parts, _write_families, _write_estimators, write_minibatch,
              _write_corpora)  # fmt: skip
    for write in makers:
        write(place)
    return sorted(path for path in place.iterdir() if (path / "model.json").exists())


def _write_runs(place: Path) -> None:
    """Chains with given values, draws, runs that ended and runs that did not."""
    network = pgbn.zoo.pgbn([3, 2])
    phi = np.full((2, 3, 9), 1 / 9)
    held = network.with_given("phi1")
    pgbn.save(held.chain({"x": DATA}, given={"phi1": phi}).sweep(2), place / "chain-given")
    few: dict[str, Any] = {"burn_in": 2, "draws": 3, "progress": False}
    names = {"term": [f"w{v}" for v in range(9)], "doc": list(map(str, range(12)))}
    pgbn.zoo.pfa(2).sample({"x": DATA}, **few, chains=2, coords=names, save=place / "run-ended")
    network.sample({"x": DATA}, **few, chains=1, keep=["theta1", "phi1"]).save(place / "draws")
    for name, model, more in (
        ("run-stopped", network, {"chains": 3}),
        ("run-stopped-beside", pgbn.zoo.lda(2), {"chains": 2, "parallel": 2}),
        ("run-stopped-given", held, {"chains": 2, "given": {"phi1": phi}}),
        ("run-stopped-in-time", pgbn.zoo.pgds(2), {"chains": 1}),
    ):
        with suppress(_StoppedError, KeyboardInterrupt):
            model.sample({"x": DATA}, **few, **more, save=place / name, minutes=1e-9,
                         callback=_after(5))  # fmt: skip


def _write_families(place: Path) -> None:
    """Grown networks of a family of one's own, and a training of one that was stopped."""
    grown = pgbn.train_layerwise(OWN, (3, 2), 2, family=own_family, keep_draws=2, **FEW)
    pgbn.save(grown, place / "training-own")
    pgbn.save(grown.deepest, place / "grown")
    zoo = partial(pgbn.zoo.multimodal, modalities={"words": "poisson", "labels": "bernoulli"})
    for name, family, after in (("own", own_family, 8), ("zoo", zoo, 4)):
        with suppress(_StoppedError):
            train_with_checkpoints(OWN, place / f"checkpoint-{name}", (3, 2), 2, family=family,
                                  every=1, share=2.0, callback=_after(after), **FEW)  # fmt: skip
    with suppress(_StoppedError):
        train_with_checkpoints(DATA, place / "checkpoint-draws", (3, 2), 2, keep_draws=2, every=1,
                              share=2.0, callback=_after(10), **FEW)  # fmt: skip


def _write_estimators(place: Path) -> None:
    """Those that keep draws, and transformers of networks and of families."""
    kept = pgbn.PGBN((3, 2), 2, sweeps=2, min_width=1, keep_draws=2, **NEW).fit(DATA)
    pgbn.save(kept, place / "estimator-draws", **BESIDE)
    for name, network in (
        ("network", pgbn.zoo.pfa(2)),
        ("family", pgbn.zoo.pgbn),
        ("own", lambda widths: pgbn.zoo.pgbn(widths)),
    ):
        few = {"max_width": 3, "depth": 2, "min_width": 1} if name != "network" else {}
        model = pgbn.NetworkTransformer(network, draws=2, **few, **NEW).fit(DATA)
        pgbn.save(model, place / f"transformer-{name}")
    pgbn.save(pgbn.NetworkTransformer(pgbn.zoo.lda(2)), place / "transformer-not-fitted")
    training = pgbn.train_layerwise(DATA, 3, 2, **FEW)
    columns = {"text": ["sea ship"] * 12, "date": ["2020-01-02"] * 12, "class": list("ab") * 6}
    pgbn.save(training, place / "training-columns", columns=columns, **BESIDE)


def _write_parts(place: Path) -> None:
    """A chain whose state is in two files, of six rows each."""
    folder = place / "chain-parts"
    shutil.copytree(GOLDEN / "chain-collapsed", folder)
    body = read_body(folder)
    state = archive.read_arrays(folder, body, "state")
    rows = {name: a for name, a in state.items() if a.ndim and len(a) == len(DATA)}
    files = []
    for first, last in ((0, 6), (6, 12)):
        part = {name: a[first:last] for name, a in rows.items()}
        files.append(write_group(folder, body, "state", {**part, ROWS: np.array([first, last])}))
    write_group(folder, body, "state", {n: a for n, a in state.items() if n not in rows})
    body["parts"] = {"state": {"files": files, "axes": {}}}
    sign(folder, body)


def write_minibatch(place: Path) -> None:
    def stop(event: pgbn.MinibatchEvent) -> None:
        if event.step == 4:  # with a draw kept
            os.kill(os.getpid(), signal.SIGINT)

    with suppress(KeyboardInterrupt):
        pgbn.train_minibatch(DATA, [3, 2], **MINIBATCH, save=place / "minibatch", callback=stop)


def _write_corpora(place: Path) -> None:
    """A corpus of texts, and builds that were stopped after some commits."""
    texts = place / "texts.txt"
    texts.write_text("sea ship wave\nship storm\noven flour sugar\noven ship\n")
    pgbn.Corpus.build(texts, place / "corpus-texts", block_rows=2)
    with pytest.MonkeyPatch.context() as patch, suppress(_StoppedError):
        patch.setattr(build, "COMMIT_ROWS", 1)
        stop = _after(2)
        pgbn.Corpus.build([texts] * 3, place / "corpus-stopped", block_rows=2,
                          progress=lambda what, done: what == "counting terms" and stop(done))  # fmt: skip
