"""Chains: sweeps, values, counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn as pg
from pgbn import DataError, Gamma, Network, NetworkError, Poisson
from pgbn.checks import thread_count
from tests.helpers.refusals import check_refused
from tests.helpers.small_data import X, equal_arrays, run

Cases = dict[str, tuple[Callable[[], Any], list[str]]]

REFUSED: Cases = {
    "seed -1": (lambda: run(X, seed=-1), ["seed=-1", "integer from 0"]),
    "seed 1.5": (lambda: run(X, seed=1.5), ["seed=1.5"]),
    "seed None": (lambda: run(X, seed=None), ["seed=None"]),
    "seed str": (lambda: run(X, seed="a"), ["seed='a'"]),
    "seed bool": (lambda: run(X, seed=True), ["seed=True"]),
    "seed 2^64": (lambda: run(X, seed=2**64), ["seed=18446744073709551616", "2^64 - 1"]),
    "chain": (lambda: run(X, chain=-1), ["chain=-1"]),
    "threads 0": (lambda: run(X, threads=0), ["threads=0", "integer"]),
    "threads 1.5": (lambda: run(X, threads=1.5), ["threads=1.5"]),
    "threads str": (lambda: run(X, threads="2"), ["threads='2'"]),
    "threads nan": (lambda: run(X, threads=float("nan")), ["threads=nan"]),
    "sweep -1": (lambda: run(X).sweep(-1), ["n=-1", "integer"]),
    "sweep 1.5": (lambda: run(X).sweep(1.5), ["n=1.5"]),
    "sweep 10**400": (lambda: run(X).sweep(10**400), ["n=1000", "below 2^63"]),
    "sweep str": (lambda: run(X).sweep("a"), ["n='a'"]),
    "sweep None": (lambda: run(X).sweep(None), ["n=None"]),
    "sweep inf": (lambda: run(X).sweep(float("inf")), ["n=inf"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    check_refused(build, (DataError, NetworkError), words)


LAYER1 = ["composed", "blocked", "partial", "collapsed"]


@pytest.mark.parametrize("layer1", LAYER1)
def test_equal_seeds_give_equal_chains_and_others_do_not(documents, layer1) -> None:
    net = pg.zoo.pgbn([6, 4])
    first = net.chain({"x": documents}, seed=5, layer1=layer1, threads=1).sweep(4)
    again = net.chain({"x": sp.coo_array(documents)}, seed=5, layer1=layer1, threads=2).sweep(4)
    assert first.layer1 == layer1
    assert equal_arrays(first.values, again.values)
    assert equal_arrays(first.counts, again.counts)
    other = net.chain({"x": documents}, seed=6, layer1=layer1).sweep(4)
    number = net.chain({"x": documents}, seed=5, chain=1, layer1=layer1).sweep(4)
    for chain in (other, number):
        assert not np.array_equal(first.values["theta2"], chain.values["theta2"])


@pytest.mark.parametrize("layer1", LAYER1)
def test_the_log_joint_of_one_token_and_a_tiny_eta(layer1) -> None:
    """Shapes of the first layer underflow to 0: what is drawn there is not impossible."""
    one = np.zeros((3, 4), int)
    one[0, 1] = 1
    chain = pg.zoo.pgbn([3, 2], eta=1e-12).chain({"x": one}, layer1=layer1, threads=1)
    for _ in range(3):
        assert np.isfinite(chain.sweep().log_joint())


def test_auto_does_not_depend_on_threads(documents) -> None:
    net = pg.zoo.pgbn([6, 4])
    one, two = (net.chain({"x": documents}, threads=threads).sweep(3) for threads in (1, 2))
    assert one.layer1 == two.layer1
    assert equal_arrays(one.values, two.values)


@pytest.mark.parametrize("layer1", LAYER1)
def test_looking_does_not_change_the_chain(documents, layer1) -> None:
    net = pg.zoo.pgbn([6, 4])
    quiet = net.chain({"x": documents}, seed=1, layer1=layer1)
    watched = net.chain({"x": documents}, seed=1, layer1=layer1)
    for _ in range(4):
        quiet.sweep()
        watched.sweep()
        _ = watched.values, watched.counts, watched.log_joint()
    assert equal_arrays(quiet.values, watched.values)


@pytest.mark.parametrize("layer1", LAYER1)
def test_counts_add_up(documents, layer1) -> None:
    chain = pg.zoo.pgbn([6, 4]).chain({"x": documents}, seed=2, layer1=layer1).sweep(3)
    counts = chain.counts
    assert np.array_equal(counts["phi1"].sum(axis=0), documents.sum(axis=0))
    assert np.array_equal(counts["theta1"].sum(axis=1), documents.sum(axis=1))
    assert np.array_equal(counts["phi1"].sum(axis=1), counts["theta1"].sum(axis=0))
    assert np.array_equal(counts["phi2"].sum(axis=1), counts["theta2"].sum(axis=0))
    assert (counts["phi2"].sum(axis=0) <= counts["theta1"].sum(axis=0)).all()
    assert (counts["r"] <= counts["theta2"].sum(axis=0)).all()
    assert ((counts["phi2"].sum(axis=0) > 0) == (counts["theta1"].sum(axis=0) > 0)).all()


def test_values_are_positive_finite_and_sum_to_one(documents) -> None:
    values = pg.zoo.pgbn([6, 4]).chain({"x": documents}, seed=3).sweep(20).values
    for name, value in values.items():
        assert np.isfinite(value).all(), name
        assert (value >= 0).all(), name
    np.testing.assert_allclose(values["phi1"].sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(values["phi2"].sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["thet1"], "Did you mean 'theta1'"),
        (["zz"], "'zz' is not a latent node. Known: c0"),
        (["x"], "'x' is not a latent node"),
        (3, "names=3: give a list"),
    ],
)
def test_select_names_what_is_unknown(documents, names, words) -> None:
    chain = pg.zoo.pfa(3).chain({"x": documents}).sweep()
    with pytest.raises(pg.DataError, match=words):
        chain.select(names)
    assert list(chain.select("r")) == ["r"]


def test_threads_from_the_environment(monkeypatch) -> None:
    monkeypatch.setenv("PGBN_THREADS", "3")
    assert thread_count(None) == 3
    assert thread_count(1) == 1
    monkeypatch.setenv("PGBN_THREADS", "many")
    with pytest.raises(pg.DataError, match="PGBN_THREADS"):
        thread_count(None)


@pytest.mark.parametrize(("threads", "word"), [("0", "at least 1"), ("99999", "at most")])
def test_threads_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, threads: str, word: str
) -> None:
    monkeypatch.setenv("PGBN_THREADS", threads)
    with pytest.raises(pg.DataError, match=f"^PGBN_THREADS={threads} .*{word}"):
        Network(Poisson("x", Gamma("g", 1, 1))).chain({"x": 1})


def test_a_word_is_no_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGBN_THREADS", "many")
    with pytest.raises(DataError, match="PGBN_THREADS='many'"):
        run(X)


def test_what_is_drawn_on_demand_is_drawn_anew_after_every_sweep() -> None:
    data = {"x": np.zeros((5, 6), int)}
    chain = pg.zoo.pfa(3).chain(data, layer1="collapsed", threads=1)
    first = chain.sweep().values["phi1"].copy()
    assert (chain.sweep().values["phi1"] != first).all()


def test_values_cannot_be_written_to() -> None:
    net = pg.zoo.pgbn([2, 2], p_prior=(2, 4), gamma0_prior=(4, 4))
    values = net.chain({"x": np.ones((2, 3))}).sweep().values
    with pytest.raises(ValueError, match="read-only"):
        values["r"][0] = 1.0
