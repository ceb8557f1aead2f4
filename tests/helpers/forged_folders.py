"""Folders of every kind with valid checksums and no sense, read and used by all verbs.

    python -m tests.helpers.forgery folders 10000

The cases of `tests.helpers.forgery.Models` are of nine kinds and replace values; these are of all
kinds in `tests.helpers.saved_kinds`, and also move, swap, double and rename what is there, change
one number of an array, and what the files of a folder are.
"""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pgbn.storage import archive
from tests.helpers.forgery import MISSING, VALUES, places_in
from tests.helpers.saved_kinds import read_body, sign, write_group, write_kinds
from tests.helpers.used_folders import use_folder

__all__ = ["Folders"]

MORE: tuple[Any, ...] = (
    *VALUES, -0.0, 5e-324, 1e-300, 2**31, 2**53 + 1, 2**63, -(2**63), 2**64, "NaN", "1",
    "CON", "..", "a/../b", "\x00", "é" * 3, "w" * 100_000, [[0] * 40] * 40, [1e300] * 9, {"": 0},
    {"0": [0]}, [{}], [-1], [10**9], ["doc"], {"zoo": "lda", "arguments": {}},
    {"zoo": "__all__", "arguments": {}}, False,
)  # fmt: skip
ODD_NUMBERS = (np.nan, np.inf, -np.inf, -1.0, -0.0, 0.0, 5e-324, 1e-310, 1e-300, 1e300, 1e150, 0.5,
               2.0**31, 2.0**53, 2.0**63, -1e300)  # fmt: skip
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


def _parent(body: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        body = body[key]
    return body


def forge_value(choice: random.Random, target: Path, body: Any) -> None:
    """Another value: any, or one near to what it was."""
    path = choice.choice(list(places_in(body)))
    inner = _parent(body, path)
    old, value = inner[path[-1]], choice.choice((*MORE, MISSING))
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
