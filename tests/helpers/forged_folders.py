"""Folders of every kind with valid checksums and no sense, read and used by all verbs.

    python -m tests.helpers.forgery folders 10000

The folders are of all kinds in `tests.helpers.saved_kinds`. A case replaces, moves, swaps, doubles or
renames what is there, changes one number of an array, or what the files of a folder are. The folder
is then used by all methods: a result without NaN, or an error of pgbn.
"""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pgbn
from pgbn.storage import archive
from tests.helpers.forgery import check_finite, command, refusable
from tests.helpers.own_family import own_family
from tests.helpers.saved_kinds import (
    DATA,
    MINIBATCH,
    OWN,
    read_body,
    sign,
    write_group,
    write_kinds,
)

__all__ = ["Folders"]

VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 3, 2.5, 1e300, -1e300, float("nan"), float("inf"), 10**30, 10**400, "",
    "a", "\x1b[31m", "../x", "poisson", "\ud800", [], [1], [[1, 2], [3]], [None], ["a", "b"], {},
    {"a": 1}, {"node": "x"}, [0.0] * 50, "a" * 10_000, [[[[[[[]]]]]]],
    -0.0, 5e-324, 1e-300, 2**31, 2**53 + 1, 2**63, -(2**63), 2**64, "NaN", "1",
    "CON", "..", "a/../b", "\x00", "é" * 3, "w" * 100_000, [[0] * 40] * 40, [1e300] * 9, {"": 0},
    {"0": [0]}, [{}], [-1], [10**9], ["doc"], {"zoo": "lda", "arguments": {}},
    {"zoo": "__all__", "arguments": {}}, False,
)  # fmt: skip
ODD_NUMBERS = (np.nan, np.inf, -np.inf, -1.0, -0.0, 0.0, 5e-324, 1e-310, 1e-300, 1e300, 1e150, 0.5,
               2.0**31, 2.0**53, 2.0**63, -1e300)  # fmt: skip
MISSING = object()
Forge = Callable[[random.Random, Path, Any], None]


class Folders:
    """Case after case: a folder, forged, then used."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "kinds").mkdir()
        self.good = {folder: read_body(folder) for folder in write_kinds(place / "kinds")}

    def run(self, number: int) -> None:
        """Case ``number``."""
        choice = random.Random(f"folder {number}")
        # strings of random are the same everywhere: https://docs.python.org/3/library/random.html
        target = self.forge(choice)
        use_folder(target, self.place, choice)

    def forge(self, choice: random.Random) -> Path:
        """A copy of one of the folders, forged."""
        folder = choice.choice(list(self.good))
        body, target = copy.deepcopy(self.good[folder]), self.place / folder.name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
        kind: Forge = choice.choice(
            (forge_value, forge_value, forge_place, forge_arrays, forge_arrays, forge_one_number)
        )
        for _ in range(choice.choice((1, 1, 1, 2))):
            kind(choice, target, body)
        sign(target, body)
        if choice.random() < 0.05:
            forge_files(choice, target)
        return target


# ---- the manifest -----------------------------------------------------------------------


def places_in(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a JSON document."""
    if path:
        yield path
    inner: Any = ()
    if isinstance(document, dict):
        inner = document.items()
    elif isinstance(document, list):
        inner = enumerate(document[:3])
    for key, value in inner:
        yield from places_in(value, (*path, key))


def _parent(body: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        body = body[key]
    return body


def forge_value(choice: random.Random, target: Path, body: Any) -> None:
    """Another value: any, or one near to what it was."""
    path = choice.choice(list(places_in(body)))
    inner = _parent(body, path)
    old, value = inner[path[-1]], choice.choice((*VALUES, MISSING))
    if isinstance(old, (int, float)) and abs(old) < 2**65 and choice.random() < 0.5:
        near = (old + 1, old - 1, -old, 10 * old, 1000 * old, float(old), str(old), [old], 0)
        value = choice.choice(near)
    elif isinstance(old, str) and choice.random() < 0.3:
        value = choice.choice((old + "x", old[:-1], old.upper(), [old], old + "\n", old * 2))
    elif isinstance(old, list) and choice.random() < 0.5:
        value = choice.choice((old[:-1], old[::-1], old * 2, [old], old[:1] * len(old), [*old, 0]))
    if value is MISSING:
        del inner[path[-1]]
    else:
        inner[path[-1]] = copy.deepcopy(value)


def forge_place(choice: random.Random, target: Path, body: Any) -> None:
    """What is there in another place: swapped, doubled, under another key."""
    places = list(places_in(body))
    one, two = choice.choice(places), choice.choice(places)
    left, right = _parent(body, one), _parent(body, two)
    if choice.random() < 0.5:
        value = copy.deepcopy(left[one[-1]])  # a value in itself would be a cycle
        right[two[-1]] = value
    elif isinstance(left, dict):
        keys = [key for path in places for key in path if isinstance(key, str)]
        left[choice.choice([*keys, "x", "", "0", "-1", "\ud800", "../x"])] = left.pop(one[-1])
    else:
        left.insert(0, copy.deepcopy(left[one[-1]]))


# ---- the arrays -------------------------------------------------------------------------


def _groups(body: Any) -> list[str]:
    return sorted(group for group, name in body["groups"].items() if name in body["files"])


def _some_arrays(choice: random.Random, target: Path, body: Any) -> tuple[str, dict[str, Any]]:
    groups = _groups(body)
    group = choice.choice(groups) if groups else ""
    found: dict[str, Any] = {}
    if group:
        file = archive._read_file(target, body, body["groups"][group])
        found = {name: np.array(array) for name, array in file.items()}
    return group, found


def forge_one_number(choice: random.Random, target: Path, body: Any) -> None:
    """One number of an array, or a row of it."""
    group, arrays = _some_arrays(choice, target, body)
    sized = sorted(name for name, array in arrays.items() if array.size)
    if not sized:
        return
    name = choice.choice(sized)
    array, value = arrays[name], choice.choice(ODD_NUMBERS)
    if choice.random() < 0.3:
        value = choice.choice((array.size, array.size + 1, len(array) if array.ndim else 1, 7, 255))
    flat, at = array.reshape(-1), choice.randrange(array.size)
    if array.dtype.kind in "iu":
        bounds = np.iinfo(array.dtype)
        inside = min(max(value, bounds.min), bounds.max) if np.isfinite(value) else bounds.max
        value = int(inside)
    if array.dtype.kind == "b":
        flat[at] = not flat[at]
    elif choice.random() < 0.2:
        flat[at : at + choice.choice((2, 5, array.size))] = value
    else:
        flat[at] = value
    write_group(target, body, group, arrays)


def forge_arrays(choice: random.Random, target: Path, body: Any) -> None:
    """Whole arrays: another type, shape or scale, gone, twice, or under another name."""
    group, arrays = _some_arrays(choice, target, body)
    if not arrays:
        return
    names = sorted(arrays)
    name, other = choice.choice(names), choice.choice(names)
    array, way = arrays[name], choice.randrange(10)
    if way == 0:
        del arrays[name]
    elif way == 1:
        arrays[name], arrays[other] = arrays[other], arrays[name]
    elif way == 2:
        new = choice.choice((name + "x", "x", "", "0/phi/9", "kept/7/phi1", "kept/999999999999/r",
                             "mean/0", "draws/x", "state/x", "../x", f"{other}/y"))  # fmt: skip
        arrays[new] = arrays.pop(name) if choice.random() < 0.5 else array
    elif way == 3 and len(groups := _groups(body)) > 1:  # a file that two groups name
        body["groups"][group] = body["groups"][choice.choice(groups)]
        return
    else:
        arrays[name] = _other_array(choice, array)
    write_group(target, body, group, arrays)


def _other_array(choice: random.Random, array: Any) -> Any:
    with np.errstate(all="ignore"):
        real = array.astype(np.float64)
        scale = choice.choice((1e300, 1e-300, 1e140, 1e-320, -1.0, 0.0, np.inf, 1e15, 1 + 1e-5))
        return choice.choice((
            lambda: real * scale, lambda: real * scale, lambda: np.asfortranarray(array),
            lambda: array.T.copy(), lambda: array.astype(np.int8), lambda: array.astype(np.uint64),
            lambda: array.astype(np.float32), lambda: real, lambda: array.astype(bool),
            lambda: np.repeat(array, 2, axis=-1) if array.ndim else array,
            lambda: np.repeat(array, 2, axis=0) if array.ndim else array,
            lambda: array[1:] if array.ndim else array, lambda: array[..., :-1] if array.ndim else array,
            lambda: array[None], lambda: array[..., None], lambda: array.reshape(-1),
            lambda: np.zeros((0, *array.shape)), lambda: np.zeros((*array.shape[:-1], 0)),
            lambda: np.array(3.0), lambda: np.array([], np.int64), lambda: np.full(array.shape, np.nan),
            lambda: np.full(array.shape, choice.choice(ODD_NUMBERS)),
        ))()  # fmt: skip


# ---- the files --------------------------------------------------------------------------


def forge_files(choice: random.Random, target: Path) -> None:
    """Something else in the place of a file; text of a manifest that no writer writes."""
    path, way = choice.choice(sorted(target.iterdir())), choice.randrange(7)
    manifest = target / "model.json"
    if way == 0:
        path.unlink()
        os.mkfifo(path)
    elif way == 1:
        path.rename(target / "elsewhere")
        path.symlink_to(target / "elsewhere")
    elif way == 2:
        path.unlink()
        path.symlink_to(choice.choice(("/dev/zero", "/proc/self/mem", path.name, "/nowhere")))
    elif way == 3:
        path.unlink()
        path.mkdir()
    elif way == 4:  # a key that comes twice: the last one counts, and the checksum is of it
        text = manifest.read_text()
        manifest.write_text(text.replace('"body": {', '"body": {"kind": "x", "files": 3, ', 1))
    elif way == 5:
        document = json.loads(manifest.read_text())
        document["version"] = choice.choice((True, 1.0, "1", None, [1], 10**400, -1, 0, 3))
        manifest.write_text(json.dumps(document))
    else:
        manifest.write_text("[" * choice.choice((5, 100_000)) + manifest.read_text())


# ---- the use of a folder ------------------------------------------------------------------------

FEW: dict[str, Any] = {"burn_in": 1, "samples": 2}
TEXTS = "word0 word1 word1\nword3 word4 " + "w" * 5000 + "\n"


def use_folder(folder: Path, place: Path, choice: random.Random) -> None:
    """Commands, the verbs of Python for what it holds, and going on with what was stopped."""
    texts, page = place / "new.txt", place / "page.html"
    texts.write_text(TEXTS)
    few = ["--burn-in", "1", "--samples", "1"]
    for words in (
        ["info", str(folder)], ["topics", str(folder)], ["explain", str(folder)],
        ["generate", str(folder), "-n", "1"], ["label", str(folder), "1/0=sea"],
        ["transform", str(folder), str(texts), *few], ["perplexity", str(folder), str(texts), *few],
        ["--json", "info", str(folder)],
    ):  # fmt: skip
        command(words)
    if choice.random() < 0.15:
        command(["report", str(folder), "-o", str(page)])
    found = refusable(lambda: pgbn.load(folder))
    for kind, use in USES:
        if isinstance(found, kind):
            for verb in use(found):
                refusable(verb)
            if choice.random() < 0.15 and hasattr(found, "report"):
                refusable(lambda: _report(found, page))
    if found is not None:
        refusable(lambda: pgbn.save(found, place / "again"))
        refusable(lambda: repr(found))
    refusable(lambda: pgbn.resume(folder, family=own_family, progress=False, callback=enough()))
    refusable(lambda: pgbn.resume(folder, progress=False, callback=enough()))
    if folder.name == "minibatch":
        refusable(lambda: _use_trained(_go_on(folder)))
    if folder.name == "corpus-stopped":
        texts = place / "kinds" / "texts.txt"
        refusable(lambda: _use_corpus(pgbn.Corpus.build([texts] * 3, folder, block_rows=2)))


class EnoughError(pgbn.PgbnError):
    """A forged run may ask for any number of sweeps; some of them will do."""


def enough() -> Callable[[Any], None]:
    left = 20

    def listen(event: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise EnoughError

    return listen


def _go_on(folder: Path) -> Any:
    return pgbn.train_minibatch(DATA, [3, 2], **MINIBATCH, save=folder)


def _report(found: Any, page: Path) -> None:
    found.report(page)
    assert "\x1b" not in page.read_text()


def _finite(what: str, *arrays: Any) -> None:
    check_finite(what, {str(n): array for n, array in enumerate(arrays)})


def _is_number(score: float) -> None:
    assert not np.isnan(score), "score"  # what a model holds for impossible has the density 0


NetworkMethods = list[Callable[[], Any]]


def _chain(chain: Any) -> NetworkMethods:
    def sweep() -> None:
        before = chain.sweeps
        chain.sweep(1)
        assert chain.sweeps == before + 1
        check_finite("chain", chain.values)
        _finite("log likelihood", chain.log_likelihood())

    def append() -> None:
        name = chain.network.observed[0]
        check_finite("appended", chain.append({name: DATA[:2]}, sweeps=1).values)

    return [lambda: chain.explain(brief=True), sweep, append, chain.log_joint, chain.state]


def _draws(draws: Any) -> NetworkMethods:
    def every() -> None:
        for name in draws:
            assert not np.isnan(draws[name]).any(), f"draws of {name}"

    def predict() -> None:
        for name in draws.network.observed if draws.network else ():
            _finite("predicted", draws.predict(name))

    def new_rows() -> None:
        for name in draws.network.observed if draws.network else ():
            _finite("predicted", draws.predict(name, sizes={"doc": 2}))

    def likelihood() -> None:
        for name in draws.network.observed if draws.network else ():
            found = draws.log_likelihood(name)
            assert not np.isnan(found).any(), "log likelihood"

    return [every, predict, new_rows, likelihood, draws.to_xarray, draws.to_arviz, lambda: draws.sizes,
            lambda: [draws.mean(name) for name in draws]]  # fmt: skip


def _data(model: Any) -> Any:
    """Rows as its link has them."""
    return np.minimum(DATA, 1) if getattr(model, "link", "") == "bernoulli" else DATA


def _use_trained(model: Any) -> None:
    hidden = pgbn.infer(model, _data(getattr(model, "deepest", model)), **FEW)
    check_finite("proportions", {str(t): part for t, part in hidden.proportions.items()})
    _finite("phi", *getattr(model, "deepest", model).phi)


def _trained(model: Any) -> NetworkMethods:
    deepest = getattr(model, "deepest", model)

    def grown() -> None:
        network = getattr(model, "deepest", model)
        found = network.network().infer(OWN, given=network.means, burn_in=1, samples=1)
        check_finite("inferred", {name: found[name] for name in found})

    def go_on() -> None:
        more = pgbn.train_layerwise(
            _data(deepest),
            5,
            3,
            link=deepest.link,
            start_from=model,
            burn_in=1,
            collect=1,
            progress=False,
        )
        _finite("phi", *more.deepest.phi)

    if not deepest.link:
        return [
            grown,
            lambda: deepest.widths,
            model.to_arviz if hasattr(model, "to_arviz") else repr,
        ]
    return [lambda: _use_trained(model), go_on, deepest.to_arviz, lambda: deepest.network().explain(),
            lambda: pgbn.completion_perplexity(model, DATA, **FEW),
            lambda: pgbn.merge_topics(model, [(0, 1)])]  # fmt: skip


def _soon(model: Any) -> Any:
    """An estimator that is not to be fitted for ever: that it would take as long as it says is no
    finding."""
    for name in ("burn_in", "collect", "draws", "depth"):
        asked = getattr(model, name, 0)
        if isinstance(asked, int) and asked > 10_000:
            raise EnoughError
    return model


def _estimator(model: Any) -> NetworkMethods:
    return [lambda: _finite("features", model.transform(DATA)), lambda: model.topics(),
            lambda: _is_number(model.score(DATA)), lambda: model.get_feature_names_out(),
            lambda: model.topics_frame(), lambda: model.similarity(), lambda: model.to_networkx(),
            lambda: _finite("rates", model.inverse_transform(model.transform(DATA))),
            lambda: _soon(model.set_params(warm_start=True)).fit(DATA)]  # fmt: skip


def _transformer(model: Any) -> NetworkMethods:
    return [lambda: _finite("features", model.transform(DATA)),
            lambda: _is_number(model.score(DATA)), lambda: model.get_feature_names_out(),
            lambda: _finite("rates", model.inverse_transform(model.transform(DATA))),
            lambda: _soon(model).fit(DATA)]  # fmt: skip


def _use_corpus(corpus: Any) -> None:
    _finite("counts", corpus.counts.data)
    assert len(corpus.labels) == corpus.shape[0]
    assert corpus.vocabulary is None or len(corpus.vocabulary) == corpus.shape[1]


def _network(network: Any) -> NetworkMethods:
    def sample() -> None:
        found = network.sample({network.observed[0]: DATA}, 1, 1, chains=1, progress=False)
        check_finite("draws", {name: found[name] for name in found})

    return [lambda: network.explain(), lambda: network.plot(), sample, lambda: network.schedule,
            lambda: network.prior_predictive(1, {"doc": 2, "term": 3})]  # fmt: skip


USES: list[tuple[Any, Callable[[Any], NetworkMethods]]] = [
    (pgbn.Chain, _chain),
    (pgbn.Draws, _draws),
    (pgbn.PGBN, _estimator),
    (pgbn.NetworkTransformer, _transformer),
    (pgbn.Corpus, lambda corpus: [lambda: _use_corpus(corpus)]),
    (pgbn.Network, _network),
    ((pgbn.TrainedNetwork, pgbn.LayerwiseTraining), _trained),
]
