"""Folders of every kind with valid checksums and no sense, read and used by all verbs.

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
from tests.campaign.harness import check_finite, command, refusable
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

FEW: dict[str, Any] = {"burn_in": 1, "draws": 2}
TEXTS = "word0 word1 word1\nword3 word4 " + "w" * 5000 + "\n"


def use_folder(folder: Path, place: Path, choice: random.Random) -> None:
    """Commands, the verbs of Python for what it holds, and going on with what was stopped."""
    texts, page = place / "new.txt", place / "page.html"
    texts.write_text(TEXTS)
    few = ["--burn-in", "1", "--draws", "1"]
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
    for kind, uses in USES:
        for use in uses if isinstance(found, kind) else ():
            refusable(lambda: _finite(use(found)))  # noqa: B023
    if choice.random() < 0.15 and hasattr(found, "report"):
        refusable(lambda: _report(found, page))
    if found is not None:
        refusable(lambda: pgbn.save(found, place / "again"))
        refusable(lambda: repr(found))
    refusable(lambda: pgbn.resume(folder, family=own_family, progress=False, callback=enough()))
    refusable(lambda: pgbn.resume(folder, progress=False, callback=enough()))
    if folder.name == "minibatch":
        again = lambda: pgbn.train_minibatch(DATA, [3, 2], **MINIBATCH, save=folder)  # noqa: E731
        refusable(lambda: _finite(_inferred(again())))
    if folder.name == "corpus-stopped":
        texts = place / "kinds" / "texts.txt"
        refusable(lambda: _finite(_counts(pgbn.Corpus.build([texts] * 3, folder, block_rows=2))))


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


def _report(found: Any, page: Path) -> None:
    found.report(page)
    assert "\x1b" not in page.read_text()


def _finite(result: Any) -> None:
    """What is returned as arrays, or dicts and lists of them, has finite numbers only."""
    parts = result.values() if isinstance(result, dict) else result
    if isinstance(result, (dict, list, tuple)):
        for part in parts:
            _finite(part)
    elif isinstance(result, (float, np.ndarray)):
        check_finite("result", {"array": result})


def _numbers(array: Any) -> None:
    """No NaN. What a model holds for impossible has the density 0, and a draw may be infinite."""
    assert not np.isnan(array).any(), "not a number"


def _run(ignored: Any) -> None:
    """What is returned may be anything."""


def _swept(chain: Any) -> Any:
    before = chain.sweeps
    assert chain.sweep(1).sweeps == before + 1
    return [chain.values, chain.log_likelihood()]


def _data(model: Any) -> Any:
    """Rows as its link has them."""
    return np.minimum(DATA, 1) if getattr(model, "link", "") == "bernoulli" else DATA


def _deepest(model: Any) -> Any:
    return getattr(model, "deepest", model)


def _inferred(model: Any) -> Any:
    """What new rows have; of a family of one's own, which has no link, by its network."""
    deepest = _deepest(model)
    if not deepest.link:
        found = deepest.network.infer(OWN, given=deepest.means, burn_in=1, draws=1)
        return [found[name] for name in found]
    return [deepest.infer(_data(deepest), **FEW).proportions, list(deepest.phi)]


def _deeper(model: Any) -> Any:
    few = {"link": _deepest(model).link, "burn_in": 1, "sweeps": 1, "progress": False}
    rows = _data(_deepest(model))
    return list(pgbn.train_layerwise(rows, 5, 3, start_from=model, **few).deepest.phi)


def _counts(corpus: Any) -> Any:
    assert len(corpus.names) == corpus.shape[0]
    assert corpus.vocabulary is None or len(corpus.vocabulary) == corpus.shape[1]
    return corpus.counts.data


def _soon(model: Any) -> Any:
    """An estimator that is not to be fitted for ever: that it would take as long as it says is no
    finding."""
    for name in ("burn_in", "sweeps", "draws", "depth"):
        asked = getattr(model, name, 0)
        if isinstance(asked, int) and asked > 10_000:
            raise EnoughError
    return model


def _sampled(network: Any) -> Any:
    found = network.sample({network.observed[0]: DATA}, 1, 1, chains=1, progress=False)
    return [found[name] for name in found]


def _data_nodes(draws: Any) -> Any:
    return draws.network.observed if draws.network else ()


Use = Callable[[Any], Any]
_ESTIMATOR: list[Use] = [
    lambda model: model.transform(DATA), lambda model: _numbers(model.score(DATA)),
    lambda model: _run(model.get_feature_names_out()),
    lambda model: model.inverse_transform(model.transform(DATA)),
]  # fmt: skip
USES: list[tuple[Any, list[Use]]] = [
    (pgbn.Chain, [
        lambda chain: chain.explain(brief=True), _swept,
        lambda chain: chain.append({chain.network.observed[0]: DATA[:2]}, sweeps=1).values,
        lambda chain: _run(chain.log_joint()), lambda chain: _run(chain.state()),
    ]),
    (pgbn.Draws, [
        lambda draws: [_numbers(draws[name]) for name in draws],
        lambda draws: [draws.predict(name) for name in _data_nodes(draws)],
        lambda draws: [draws.predict(name, sizes={"doc": 2}) for name in _data_nodes(draws)],
        lambda draws: [_numbers(draws.log_likelihood(name)) for name in _data_nodes(draws)],
        lambda draws: _run(draws.to_xarray()), lambda draws: _run(draws.to_arviz()),
        lambda draws: draws.sizes, lambda draws: _run([draws.mean(name) for name in draws]),
    ]),
    (pgbn.NetworkTransformer, _ESTIMATOR),
    (pgbn.PGBN, [
        lambda model: _run(model.topics()), lambda model: _run(model.topics_frame()),
        lambda model: _run(model.similarity()), lambda model: _run(model.to_networkx()),
        lambda model: _run(_soon(model.set_params(warm_start=True)).fit(DATA)),
    ]),
    (pgbn.NetworkTransformer, [lambda model: _run(_soon(model).fit(DATA))]),
    (pgbn.Corpus, [_counts]),
    (pgbn.Network, [
        lambda network: network.explain(), lambda network: _run(network.plot()), _sampled,
        lambda network: _run(network.schedule),
        lambda network: _run(network.prior_predictive(1, {"doc": 2, "term": 3})),
    ]),
    ((pgbn.TrainedNetwork, pgbn.LayerwiseTraining), [
        _inferred, _deeper, lambda model: _run(_deepest(model).widths),
        lambda model: _run(_deepest(model).to_arviz()),
        lambda model: _deepest(model).network.explain(),
        lambda model: pgbn.HeldOut.of_model(model, _data(_deepest(model)), **FEW),
        lambda model: _run(_deepest(model).merge([(0, 1)])),
    ]),
]  # fmt: skip
