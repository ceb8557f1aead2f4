"""Chains as JSON and arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pgbn import Chain, StorageError, zoo
from pgbn.engine.run.chain_files import chain_content, chain_data, chain_state, decode_chain
from pgbn.storage.archive import Parts, decode, encode
from tests.helpers.small_data import NET, X, equal_arrays

MASKED = np.ma.masked_array(X, X == 3)


def parts_of(chain: Chain) -> Parts:
    kind, parts = encode(chain)
    assert kind == "chain"
    return parts


def again(parts: Parts, **changes: Any) -> Chain:
    data = {**parts.arrays["data"], **changes}
    groups = {"data": data, "state": parts.arrays["state"]}
    return decode("chain", parts.content, lambda group: groups[group])


@pytest.mark.parametrize("layer1", ["collapsed", "partial", "blocked", "composed"])
def test_a_chain_goes_on_where_it_was(layer1: str) -> None:
    chain = zoo.pgbn([3, 2]).chain({"x": X}, seed=3, chain=2, layer1=layer1).sweep(2)
    other = again(parts_of(chain))
    assert (other.seed, other.number, other.sweeps, other.layer1) == (3, 2, 2, layer1)
    assert equal_arrays(other.sweep(2).values, chain.sweep(2).values)


def test_missing_cells_stay_missing() -> None:
    chain = zoo.pfa(2).chain({"x": MASKED}).sweep(2)
    other = again(parts_of(chain))
    assert np.array_equal(other.program.cells["x"].missing, chain.program.cells["x"].missing)
    assert np.array_equal(other.sweep().imputed("x"), chain.sweep().imputed("x"))


def test_what_is_written() -> None:
    chain = zoo.pfa(2).chain({"x": X}, seed=3).sweep(2)
    content = chain_content(chain)
    assert {name: content[name] for name in ("seed", "number", "sweeps", "layer1", "shapes")} == {
        "seed": 3, "number": 0, "sweeps": 2, "layer1": "collapsed", "shapes": {"x": [3, 4]},
    }  # fmt: skip
    data = chain_data(chain)
    assert data["x/indptr"].tolist() == [0, 2, 2, 4]
    assert data["x/indices"].tolist() == [0, 2, 0, 1]
    assert data["x/values"].tolist() == [1, 2, 3, 1]
    assert "x/missing" not in data
    assert chain_state(chain).keys() == chain.state().keys()
    assert chain_state(chain)["sampler/labels"].dtype == np.uint8


def test_general_rules_are_told_from_those_of_the_reference() -> None:
    """What "auto" falls back on has fused tables, and layer1="composed" has none."""
    network = zoo.pgbn([3], link="bernoulli")
    for layer1 in ("general", "composed"):
        chain = network.chain({"x": X > 0}, layer1=layer1)
        assert chain.layer1 == "composed"
        assert chain_content(chain)["layer1"] == layer1


def test_blocked_without_a_sampler_in_an_older_file_means_the_general_rules() -> None:
    chain = zoo.pgbn([3], link="bernoulli").chain({"x": X > 0}, layer1="general").sweep(2)
    content = {**chain_content(chain), "layer1": "blocked"}
    groups = {"data": chain_data(chain), "state": chain_state(chain)}
    other = decode_chain(content, groups.__getitem__)
    assert (other.layer1, other.samplers) == ("composed", ())
    assert np.array_equal(other.sweep().values["r"], chain.sweep().values["r"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x/indices": np.array([0, 2, 0, 9])}, "not the rows of a sparse matrix"),
        ({"x/indptr": np.array([0, 2, 2, 5])}, "not the rows of a sparse matrix"),
        ({"x/values": np.array([1, 2, 3, 0.5])}, "the data of x are damaged: non-integer values"),
        ({"x/missing": np.array([1, 0])}, "the data of x are damaged: missing"),
    ],
)
def test_damaged_data_are_refused(changes: dict[str, Any], words: str) -> None:
    parts = parts_of(zoo.pfa(2).chain({"x": X}).sweep())
    with pytest.raises(StorageError, match=words):
        again(parts, **changes)


def test_replicated_chains_cannot_be_saved() -> None:
    chain = Chain.replicated(NET, {"doc": 2, "term": 3}, 4)
    with pytest.raises(StorageError, match="replicated chains cannot be saved"):
        encode(chain)
