"""Saved chains go on bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.errors import DataError, PgbnError
from pgbn.storage import archive, writing
from tests.helpers.models import algorithm1
from tests.helpers.saved import counts, same


def resumed_is_uninterrupted(network: pgbn.Network, data: Any, layer1: str, cut: int, path: Path,
                             threads: tuple[int, int] = (1, 2)) -> None:  # fmt: skip
    whole = network.chain(data, 7, 3, layer1=layer1, threads=threads[0]).sweep(cut + 4)
    first = network.chain(data, 7, 3, layer1=layer1, threads=threads[0]).sweep(cut)
    pgbn.save(first, path)
    second = pgbn.load(path, threads=threads[1])
    assert (second.sweeps, second.number, second.seed) == (cut, 3, 7)
    same(second.values, first.values)
    assert second.log_joint() == first.log_joint()
    if cut:
        same(second.counts, first.counts)
    second.sweep(4)
    same(second.values, whole.values)
    same(second.counts, whole.counts)
    same(first.sweep(4).values, whole.values)  # saving does not change a chain


@pytest.mark.parametrize("cut", [0, 1, 7])
@pytest.mark.parametrize("layer1", ["auto", "collapsed", "partial", "blocked", "composed"])
def test_chain_resumes_bit_for_bit(tmp_path: Path, layer1: str, cut: int) -> None:
    for threads in ((1, 2), (2, 1)):
        resumed_is_uninterrupted(zoo.pgbn([12, 8]), {"x": counts()}, layer1, cut, tmp_path, threads)


def test_missing_cells_and_orders(tmp_path: Path) -> None:
    dense = counts().toarray()
    masked = np.ma.masked_array(dense, mask=np.random.default_rng(0).random(dense.shape) < 0.1)
    resumed_is_uninterrupted(zoo.pgbn([5, 4]), {"x": masked}, "auto", 3, tmp_path)
    ordered = zoo.pgbn([5, 4]).with_order(algorithm1(2))
    resumed_is_uninterrupted(ordered, {"x": counts()}, "blocked", 3, tmp_path)


def test_looking_does_not_matter(tmp_path: Path) -> None:
    """Values that are drawn on demand, half of them looked at before saving."""
    chain = zoo.pgbn([6, 5]).chain({"x": counts()}, 1, layer1="collapsed").sweep(3)
    other = zoo.pgbn([6, 5]).chain({"x": counts()}, 1, layer1="collapsed").sweep(3)
    chain.select(["phi1"])
    pgbn.save(chain, tmp_path)
    same(pgbn.load(tmp_path).values, other.values)


@pytest.mark.parametrize("layer1", ["collapsed", "partial", "blocked"])
def test_states_are_checked(layer1: str) -> None:
    """Kernels index with labels: no state may lead them astray."""
    chain = zoo.pgbn([6]).chain({"x": counts()}, 1, layer1=layer1).sweep(2)
    good = chain.state()
    for name, array in good.items():
        if name.startswith("sampler/") and name != "sampler/key":
            beyond = array + 2**15 if layer1 != "blocked" else array[None]
            for bad in (beyond, array[:-1], array.astype(float)):
                with pytest.raises(DataError):
                    chain.restore({**good, name: bad}, 2)
    with pytest.raises(DataError, match="no value of"):
        chain.restore({}, 2)
    with pytest.raises(DataError, match="same network"):
        chain.restore({**good, "values/gamma0": np.ones((1, 2))}, 2)
    if layer1 == "collapsed":
        shuffled = np.roll(good["sampler/topics_of_words"], 1)
        with pytest.raises(DataError, match="contradicts"):
            chain.restore({**good, "sampler/topics_of_words": shuffled}, 2)


def test_hostile_data_of_a_chain(tmp_path: Path) -> None:
    """Column numbers out of range would lead kernels astray; they are refused."""
    chain = zoo.pgbn([4]).chain({"x": counts()}, layer1="partial").sweep(1)
    pgbn.save(chain, tmp_path)
    body = archive.read_manifest(tmp_path)
    good = archive.read_arrays(tmp_path, body, "data")
    for name, value in (("x/indices", 200), ("x/indptr", 9), ("x/values", 0)):
        bad = {key: array.copy() for key, array in good.items()}
        bad[name] = bad[name].astype(np.int64)
        bad[name].flat[3] = value if value else -4
        writing.write(
            tmp_path, "chain", body["content"], {"data": bad}, {"state": body["groups"]["state"]}
        )
        with pytest.raises(PgbnError):
            pgbn.load(tmp_path)
