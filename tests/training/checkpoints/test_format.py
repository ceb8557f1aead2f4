"""The fields of a checkpoint: what is written is read again, and is found by its old names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.training.checkpoints import (
    checkpoint_facts,
    decode_checkpoint,
    encode_checkpoint,
)
from tests.helpers.short_training import QUICK, X

NAMES = {"context", "chain", "networks", "names", "depth", "phase", "sweep", "sweeps",
         "done", "total", "trace", "machine"}  # fmt: skip


def written(
    event: pgbn.Progress, arguments: dict[str, Any], context: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The content and the arrays of a checkpoint."""
    place, state, lasting = encode_checkpoint(event, context)
    arrays = {"state": state, **{group: make() for group, make in lasting.items()}}
    return {"settings": arguments, "object": place}, arrays


@pytest.fixture(scope="module")
def seen() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The checkpoints of all sweeps of a training of two layers."""
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def note(event: pgbn.Progress) -> None:
        found.append(written(event, {"depth": 2}, {"record": {}}))

    pgbn.train_layerwise(X, 6, 2, average=3, callback=note, **QUICK)
    return found


def test_the_names_of_the_fields_stay(seen: list[Any]) -> None:
    for content, arrays in seen:
        assert content["object"].keys() == NAMES
        assert arrays.keys() == {"state", "data", "model"}
    means = [sum(name.startswith("mean/") for name in arrays["state"]) for _, arrays in seen]
    assert means == [0] * 8 + [2] * 3 + [0] * 8 + [3] * 3  # Φ of each layer, and r


@pytest.mark.parametrize("number", [0, 9, 13, 21])
def test_what_is_written_is_read_again(seen: list[Any], number: int) -> None:
    content, arrays = seen[number]
    copies = {name: dict(group) for name, group in arrays.items()}
    found = decode_checkpoint(content, copies.__getitem__, threads=1)
    again, same = written(found.progress, found.arguments, found.context)
    assert again == content
    for name, group in arrays.items():
        assert same[name].keys() == group.keys()
        assert all(np.array_equal(same[name][each], group[each]) for each in group)
    assert (found.data.toarray() == X).all()


@pytest.mark.parametrize(("name", "change", "words"), [
    ("kept/999999999999/r", lambda a: a, "is no draw of"), ("kept/-1/r", lambda a: a, "is no draw of"),
    ("mean/phi1", lambda a: a[:1], "phi1 has shape"), ("mean/phi1", lambda a: a * np.nan, "no finite"),
    ("mean/x1", lambda a: a, "no node"), ("kept/0/phi1", lambda a: a[0], "phi1 has shape"),
])  # fmt: skip
def test_means_and_draws_without_sense_are_refused_before_any_sweep(
    seen: list[Any], name: str, change: Any, words: str
) -> None:
    """The first made as many draws as it says, whatever the memory."""
    content, arrays = seen[10]
    state = {**arrays["state"], name: change(arrays["state"]["mean/phi1"])}
    with pytest.raises(pgbn.PgbnError, match=words):
        decode_checkpoint(content, {**arrays, "state": state}.__getitem__, threads=1)


@pytest.mark.parametrize("name", ["every", "sweep"])
@pytest.mark.parametrize("value", ["a", -1, None, 2.5, float("nan"), [1]])
def test_a_trace_without_numbers_is_refused_before_any_sweep(
    seen: list[Any], name: str, value: Any
) -> None:
    content, arrays = seen[9]
    place = content["object"]
    forged = {**content, "object": {**place, "trace": {**place["trace"], name: value}}}
    with pytest.raises(pgbn.StorageError, match=f"damaged: {name} is"):
        decode_checkpoint(forged, {key: dict(each) for key, each in arrays.items()}.__getitem__)


@pytest.mark.parametrize("name", ["phi1", "phi2"])
def test_means_without_a_layer_are_refused_before_any_sweep(seen: list[Any], name: str) -> None:
    content, arrays = seen[21]
    copies = {key: dict(each) for key, each in arrays.items()}
    del copies["state"][f"mean/{name}"]
    with pytest.raises(pgbn.StorageError, match=f"the means of the training lack {name}"):
        decode_checkpoint(content, copies.__getitem__)


def test_facts_need_no_arrays(seen: list[Any]) -> None:
    facts = checkpoint_facts(seen[13][0])
    assert (facts["depth"], facts["phase"], facts["sweep"], facts["done"]) == (2, "burn_in", 3, 14)
    assert facts["arguments"] == {"depth": 2}
