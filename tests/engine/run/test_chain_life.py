"""The life of a chain: sweeps, saves, kills, resumes, topics added and taken away, in any order.

Whatever happened to the folder, the chain that is loaded is the one that was saved, and goes on as
a chain that was never interrupted: bit for bit.
"""

from __future__ import annotations

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
from pgbn import zoo
from pgbn.errors import StorageError

X = np.random.default_rng(0).poisson(0.7, (9, 7))
MOST = 4  # topics


def new_chain(topics: int, start: Any = None) -> Any:
    return zoo.pfa(topics).chain({"x": X}, seed=3, layer1="collapsed", threads=1, init=start)


def same_state(one: Any, two: Any) -> None:
    # Values that were asked for, and not only drawn on the way, are part of a state from then on.
    assert one.values.keys() == two.values.keys()
    left, right = one.state(), two.state()
    for name in left.keys() & right.keys():
        assert np.array_equal(left[name], right[name]), name
    assert one.sweeps == two.sweeps


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
        network = zoo.pfa(self.topics + 1)
        values = dict.fromkeys(self.chain.values, 1.0)
        sizes = {"doc": X.shape[0], "term": X.shape[1]}
        state, _ = pgbn.grow(network, self.chain.values, values, sizes)
        self.begin(self.topics + 1, state)

    @rule(keep=st.integers(0, MOST - 1))
    @precondition(lambda self: self.topics > 1)
    def prune(self, keep: int) -> None:
        kept = [k for k in range(self.topics) if k != keep % self.topics]
        dim = next(dim for dim in self.chain.network.dims if "topic" in dim)
        state, _ = pgbn.prune(self.chain.network, self.chain.values, dim, kept)
        self.begin(self.topics - 1, state)

    @invariant()
    def is_the_chain_that_was_never_stopped(self) -> None:
        same_state(self.chain, self.twin)
        for name, value in self.chain.values.items():
            assert np.isfinite(value).all(), name


class LongChainLife(ChainLife):
    """The same, at length."""


TestChainLife = ChainLife.TestCase
TestChainLife.settings = settings(max_examples=15, stateful_step_count=10)
TestLongChainLife = pytest.mark.long(LongChainLife.TestCase)
TestLongChainLife.settings = settings(max_examples=400, stateful_step_count=40)
