"""Checkpoints of minibatches that were forged, with checksums that are right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.storage import archive
from tests.helpers.saved_kinds import DATA, MINIBATCH, read_body, sign, write_group, write_minibatch


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("stopped")
    write_minibatch(place)
    return place / "minibatch"


def forged(stopped: Path, change: Callable[[Any, dict[str, Any]], Any], place: Path) -> Path:
    import shutil

    target = place / "minibatch"
    shutil.copytree(stopped, target)
    body = read_body(target)
    arrays = {name: np.array(a) for name, a in archive.read_arrays(target, body, "state").items()}
    change(body["content"]["object"], arrays)
    write_group(target, body, "state", arrays)
    sign(target, body)
    return target


def go_on(folder: Path) -> Any:
    return pgbn.train_minibatch(DATA, [3, 2], **MINIBATCH, save=folder)


def test_it_goes_on_where_it_was(stopped: Path, tmp_path: Path) -> None:
    again = go_on(forged(stopped, lambda content, arrays: None, tmp_path))
    whole = pgbn.train_minibatch(DATA, [3, 2], **MINIBATCH)
    assert np.array_equal(again.phi[0], whole.phi[0])
    assert np.array_equal(again.draws["r"], whole.draws["r"])


CHANGES: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "steps, all done": lambda content, arrays: content.update(steps=6),
    "steps, negative": lambda content, arrays: content.update(steps=-1),
    "steps, endless": lambda content, arrays: content.update(steps=float("inf")),
    "draws, more than there are": lambda content, arrays: content.update(kept=10**12),
    "values, of a shape": lambda content, arrays: arrays.update({"values/phi1": np.ones((3, 8))}),
    "values, none": lambda content, arrays: arrays.pop("values/r"),
    "values, NaN": lambda content, arrays: arrays["values/r"].fill(np.nan),
    "values, whole": lambda content, arrays: arrays.update({"values/r": np.ones(2, np.int64)}),
    "counts, of a shape": lambda content, arrays: arrays.update({"counts/phi2": np.ones(3)}),
    "counts, negative": lambda content, arrays: arrays["counts/phi1"].fill(-1.0),
    "counts, huge": lambda content, arrays: arrays["counts/phi1"].fill(1e300),
    "exposures, infinite": lambda content, arrays: arrays["exposures/r"].fill(np.inf),
    "exposures, none": lambda content, arrays: arrays.pop("exposures/phi1"),
    "sums, of a shape": lambda content, arrays: arrays.update({"sum/phi1": np.ones((2, 9))}),
    "sums, of ten steps": lambda content, arrays: arrays["sum/phi1"].__imul__(10.0),
    "draws, of a shape": lambda content, arrays: arrays.update({"kept/0/phi1": np.ones((2, 9))}),
    "rows, none": lambda content, arrays: arrays.pop("rows"),
    "rows, of one": lambda content, arrays: arrays.update({"rows": np.ones(3)}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_no_learner_has_is_refused_before_any_step(
    stopped: Path, name: str, tmp_path: Path
) -> None:
    """Some of it ended in errors of numpy, some in NaN, and some was believed."""
    with pytest.raises(
        pgbn.StorageError, match=r"minibatch: .*damaged|not what this pgbn can read"
    ):
        go_on(forged(stopped, CHANGES[name], tmp_path))


@pytest.mark.parametrize("settings", [3, "a", [], {}, None])
def test_settings_of_another_kind(stopped: Path, settings: Any, tmp_path: Path) -> None:
    folder = forged(stopped, lambda place, arrays: None, tmp_path)
    body = read_body(folder)
    body["content"].update(settings=settings, record=settings)
    sign(folder, body)
    with pytest.raises(pgbn.DataError, match="there is another minibatch"):
        go_on(folder)
