"""Saved chains continue bit-identically, and damaged ones are rejected."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import pgbn
from pgbn import Chain, StorageError, zoo
from pgbn.engine.run.chain_files import (
    block_group,
    chain_content,
    chain_data,
    chain_state,
    decode_chain,
)
from pgbn.storage.archive import decode, encode, read_manifest
from tests.helpers.saved import counts, forge, same
from tests.helpers.saved_kinds import read_body, sign, write_group
from tests.helpers.small_data import NET, X
from tests.helpers.small_data import counts as few


def test_looking_does_not_matter(tmp_path: Path) -> None:
    """Values that are drawn on demand, half of them looked at before saving."""
    chain, other = (
        zoo.pgbn([6, 5]).chain({"x": counts()}, 1, sampler="collapsed").sweep(3) for _ in range(2)
    )
    chain._select(["phi1"])
    pgbn.save(chain, tmp_path)
    same(pgbn.load(tmp_path).values, other.values)


def test_what_is_written() -> None:
    chain = zoo.pfa(2).chain({"x": X}, seed=3).sweep(2)
    content, data = chain_content(chain), chain_data(chain)
    assert content.pop("network")["nodes"]
    assert content == {
        "seed": 3, "number": 0, "sweeps": 2, "sampler": "collapsed", "shapes": {"x": [3, 4]},
    }  # fmt: skip
    assert {name: array.tolist() for name, array in data.items()} == {
        "x/indptr": [0, 2, 2, 4], "x/indices": [0, 2, 0, 1], "x/values": [1, 2, 3, 1],
    }  # fmt: skip
    assert chain_state(chain).keys() == chain.state().keys()
    assert chain_state(chain)["sampler/labels"].dtype == np.uint8


def test_general_rules_are_told_from_those_of_the_reference() -> None:
    """What "auto" falls back on has fused tables, and sampler="composed" has none. In an older
    file, "blocked" without a sampler means the general rules."""
    network = zoo.pgbn([3], link="bernoulli")
    for sampler in ("composed", "general"):
        chain = network.chain({"x": X > 0}, sampler=sampler)
        assert chain.sampler == "composed"
        assert chain_content(chain)["sampler"] == sampler
    chain.sweep(2)
    groups = {"data": chain_data(chain), "state": chain_state(chain)}
    other = decode_chain({**chain_content(chain), "sampler": "blocked"}, groups.__getitem__)
    assert (other.sampler, other._samplers) == ("composed", ())
    assert np.array_equal(other.sweep().values["r"], chain.sweep().values["r"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x/indices": np.array([0, 2, 0, 9])}, "not the rows of a sparse matrix"),
        ({"x/indptr": np.array([0, 2, 2, 5])}, "not the rows of a sparse matrix"),
        ({"x/values": np.array([1, 2, 3, 0.5])}, "the data of x are damaged: non-integer values"),
        ({"x/values": np.array([1, 2, 3, -4])}, "the data of x are damaged: negative values"),
        ({"x/missing": np.array([1, 0])}, "the data of x are damaged: missing"),
    ],
)
def test_damaged_data_are_refused(changes: dict[str, Any], words: str) -> None:
    """Column numbers out of range would lead kernels astray."""
    _, parts = encode(zoo.pfa(2).chain({"x": X}).sweep())
    groups = {"data": {**parts.arrays["data"], **changes}, "state": parts.arrays["state"]}
    with pytest.raises(StorageError, match=words):
        decode("chain", parts.content, lambda group: groups[group])


def test_replicated_chains_cannot_be_saved() -> None:
    chain = Chain._replicated(NET, {"doc": 2, "term": 3}, 4)
    with pytest.raises(StorageError, match="replicated chains cannot be saved"):
        encode(chain)


# ---- draws in a folder ----


@pytest.fixture(scope="module")
def draws() -> pgbn.Draws:
    return zoo.pfa(3).sample({"x": few()}, 1, 4, chains=2, seed=1)


def test_saved_and_loaded(draws: pgbn.Draws, tmp_path: Path) -> None:
    draws.save(tmp_path / "d")
    again = pgbn.load(tmp_path / "d")
    assert isinstance(again, pgbn.Draws)
    assert list(again) == list(draws)
    assert repr(again) == repr(draws)
    assert (again.dims, again.attributes) == (draws.dims, draws.attributes)
    for name in draws:
        np.testing.assert_array_equal(again[name], draws[name])
        np.testing.assert_array_equal(again.mean(name), draws.mean(name))
    with pytest.raises(pgbn.PgbnError, match="Did you mean 'phi1'"):
        again["phi"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again))["r"], draws["r"])


def test_a_node_is_read_when_it_is_asked_for(
    draws: pgbn.Draws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also from another folder; a file that is damaged harms its own node only, and is named."""
    monkeypatch.chdir(tmp_path)
    draws.save("d")
    again = pgbn.load("d")
    group = read_manifest("d")["groups"][block_group("theta1", 1, 0)]
    with Path("d", group).open("r+b") as file:
        file.seek(200)
        file.write(b"xxxx")
    os.chdir("/")
    np.testing.assert_array_equal(again["r"], draws["r"])
    with pytest.raises(pgbn.StorageError, match=rf"{group}: damaged"):
        again["theta1"]
    (tmp_path / "d" / group).unlink()
    with pytest.raises(pgbn.StorageError, match=rf"{group}: this file of the model is missing"):
        again["theta1"]
    assert again["r"] is again["r"]


@pytest.mark.parametrize(("change", "words"), [
    (lambda c: c["shapes"].update(r=[2, 9, 3]), "unequal numbers of draws"),
    (lambda c: c["shapes"].update(r=[2, 0, 3]), "unequal numbers of draws"),
    (lambda c: c["shapes"].update(r=[2, 2**62, 3]), r"r have the shape \(2, 4611686018427387904"),
    (lambda c: c["shapes"].update(r=[2, 4, 7]), r"damaged: \d and \d topic1"),
    (lambda c: c["shapes"].update(r=[1, 4, 3]), "r have dims"),
    (lambda c: c["shapes"].update(r=[2, 4, -3]), "damaged"),
    (lambda c: c["layout"].update(r=[[0], [2]]), "draws"),
    (lambda c: c["layout"].update(r=[[0], []]), "r in chain 1 end at 0: damaged"),
    (lambda c: c["layout"].update(r=[[0], [-5]]), "draws"),
    (lambda c: c["dims"].update(r=["chain"]), "r have dims"),
    (lambda c: c["dims"].update(r=["doc", "draw", "topic1"]), "r have dims"),
    (lambda c: c["shapes"].pop("r"), "r"),
    (lambda c: c["attributes"].update(thin="a"), "damaged: thin is 'a'"),
    (lambda c: c.update(coords={"topic1": ["a", [1, 2], "c"]}), "'topic1' are damaged"),
    (lambda c: c["shapes"]["phi1"].__setitem__(-1, 10), "data of x are damaged: 50 and 10"),
    (lambda c: c["data shapes"].update(x=[[12], 8]), r"damaged: data shapes/x/0 is \[12\]"),
])  # fmt: skip
def test_senseless_manifests(draws: pgbn.Draws, tmp_path: Path, change: object, words: str) -> None:
    """They would fail later, or need more memory than there is."""
    draws.save(tmp_path)
    forge(tmp_path, lambda body: change(body["content"]["object"]))  # type: ignore[operator]
    with pytest.raises(pgbn.StorageError, match=words):
        pgbn.load(tmp_path)["r"]


@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN: damaged"), (-1.0, "has the value -1"),
                                              (np.inf, "has the value inf")])  # fmt: skip
def test_draws_that_no_chain_has(
    draws: pgbn.Draws, tmp_path: Path, value: float, words: str
) -> None:
    """They gave predictions and likelihoods that are NaN."""
    draws.save(tmp_path)
    body = read_body(tmp_path)
    group = block_group("theta1", 1, 0)
    rows = np.array(draws["theta1"][1])
    rows[2].flat[0] = value
    write_group(tmp_path, body, group, {"rows": rows})
    sign(tmp_path, body)
    found = pgbn.load(tmp_path)
    for verb in (found.predict, found.log_likelihood):
        with pytest.raises(pgbn.PgbnError, match=words):
            verb("x")


def test_an_expression_may_be_nan(tmp_path: Path) -> None:
    """What was saved is given back."""
    values = {"half": np.array([[0.5, np.nan]])}
    pgbn.Draws(values, {"half": ("chain", "draw")}).save(tmp_path)
    assert np.isnan(pgbn.load(tmp_path)["half"][0, 1])


# ---- the life of a chain: sweeps, saves, kills, resumes, topics added and taken away ----

DATA = np.random.default_rng(0).poisson(0.7, (9, 7))
MOST = 4  # topics


def new_chain(topics: int, start: Any = None) -> Any:
    return zoo.pfa(topics).chain({"x": DATA}, seed=3, sampler="collapsed", threads=1, start=start)


class ChainLife(RuleBasedStateMachine):
    """``chain`` is saved, lost and loaded; ``twin`` has the same sweeps and is never touched."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp()) / "chain"
        self.begin(2)

    def begin(self, topics: int, start: Any = None) -> None:
        self.topics = topics
        self.chain, self.twin = new_chain(topics, start), new_chain(topics, start)
        self.saved: Any = None

    def teardown(self) -> None:
        shutil.rmtree(self.folder.parent)

    @rule(number=st.integers(1, 4))
    def sweep(self, number: int) -> None:
        self.chain.sweep(number)
        self.twin.sweep(number)

    @rule()
    def save(self) -> None:
        pgbn.save(self.chain, self.folder)
        self.saved = (self.chain.sweeps, self.topics)

    @rule(more=st.integers(0, 3))
    @precondition(lambda self: self.saved and self.saved[1] == self.topics)
    def kill_and_resume(self, more: int) -> None:
        """Sweeps since the last save are lost, and done again after it is loaded."""
        lost = self.chain.sweeps - self.saved[0]
        self.chain = pgbn.load(self.folder, threads=1)
        assert self.chain.sweeps == self.saved[0]
        self.chain.sweep(lost + more)
        self.twin.sweep(more)

    @rule(place=st.integers(0, 10**6))
    @precondition(lambda self: self.saved)
    def corrupt(self, place: int) -> None:
        """A flipped bit is noticed; the file is then put right again."""
        files = sorted(self.folder.iterdir())
        path = files[place % len(files)]
        good = path.read_bytes()
        bad = bytearray(good)
        bad[place % len(bad)] ^= 1
        path.write_bytes(bad)
        with pytest.raises(StorageError):
            pgbn.load(self.folder)
        path.write_bytes(good)

    @rule()
    @precondition(lambda self: self.topics < MOST)
    def grow(self) -> None:
        values = dict.fromkeys(self.chain.values, 1.0)
        sizes = {"doc": DATA.shape[0], "term": DATA.shape[1]}
        state, _ = zoo.pfa(self.topics + 1).grow(self.chain.values, values, sizes)
        self.begin(self.topics + 1, state)

    @rule(keep=st.integers(0, MOST - 1))
    @precondition(lambda self: self.topics > 1)
    def prune(self, keep: int) -> None:
        kept = [k for k in range(self.topics) if k != keep % self.topics]
        dim = next(dim for dim in self.chain.network.dims if "topic" in dim)
        state, _ = self.chain.network.prune(self.chain.values, dim, kept)
        self.begin(self.topics - 1, state)

    @invariant()
    def is_the_chain_that_was_never_stopped(self) -> None:
        assert self.chain.sweeps == self.twin.sweeps
        same(self.chain.values, self.twin.values)
        left, right = self.chain.state(), self.twin.state()
        for name in left.keys() & right.keys():  # what was looked at is part of a state
            assert np.array_equal(left[name], right[name]), name


class LongChainLife(ChainLife):
    """The same, at length."""


TestChainLife = ChainLife.TestCase
TestChainLife.settings = settings(max_examples=15, stateful_step_count=10)
TestLongChainLife = pytest.mark.long(LongChainLife.TestCase)
TestLongChainLife.settings = settings(max_examples=400, stateful_step_count=40)
