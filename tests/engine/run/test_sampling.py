"""Sampling: what is kept, saved as it goes, stopped and resumed, and chains side by side."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.engine.run import sampling
from pgbn.engine.run.chain import Chain, Interrupted
from pgbn.engine.run.progress import Event
from pgbn.engine.run.sampling import (
    RunningChain,
    RunPlan,
    SavedRun,
    read_keep,
    resume_sampling,
    run_facts,
)
from pgbn.storage.archive import read_manifest
from pgbn.storage.runner import Runner, Timing
from tests.helpers.own_executor import Backwards
from tests.helpers.saved_kinds import read_body, sign
from tests.helpers.small_data import X, counts
from tests.helpers.small_networks import rates_of_documents

NEVER, OFTEN = Timing(minutes=None), Timing(every=1, share=1e9)
SHAPE: dict[str, Any] = {"burn_in": 3, "draws": 5, "thin": 2, "chains": 3, "seed": 4}


def same(one: pgbn.Draws, two: pgbn.Draws) -> None:
    assert list(one) == list(two)
    assert (one.dims, one.attributes) == (two.dims, two.attributes)
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


def masked() -> Any:
    x = counts()
    return np.ma.masked_array(x, mask=np.random.default_rng(1).random(x.shape) < 0.1)


PFA = zoo.pfa(3)
RATE = {"r": PFA["r"], "rate": PFA["phi1"] @ PFA["theta1"], "twice": PFA["r"] * 2 + 1.0,
        "sum": pgbn.Constant([1.0, 2.0, 0.5], dims="topic1") @ PFA["theta1"]}  # fmt: skip

CASES: dict[str, tuple[Callable[[], pgbn.Network], Callable[[], Any], dict[str, Any]]] = {
    "collapsed": (lambda: zoo.pgbn([4, 3]), counts, {"sampler": "collapsed"}),
    "composed": (lambda: zoo.pfa(3), counts, {"sampler": "composed"}),
    "some nodes": (lambda: zoo.lda(3), counts, {"keep": ["phi"]}),
    "missing cells": (lambda: zoo.pfa(3), masked, {"keep": ["x", "r"]}),
    "expressions": (lambda: PFA, counts, {"keep": RATE}),
    "reals": (lambda: zoo.pgbn([3], link="gamma"), lambda: counts() * 0.5, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_bits_in_every_way(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after another, side by side, saved, and stopped again and again."""
    build, data, options = CASES[case]
    network, given = build(), {"x": data()}
    whole = network.sample(given, **SHAPE, **options, threads=1)
    same(network.sample(given, **SHAPE, **options, parallel=3, threads=2), whole)
    saved = network.sample(given, **SHAPE, **options, save=tmp_path / "s", parallel=2, minutes=0)
    same(saved, whole)
    same(pgbn.load(tmp_path / "s"), whole)
    swept: list[int] = []

    def stop(event: Event) -> None:
        swept.append(event.done)
        if len(swept) % 7 == 0:
            raise ZeroDivisionError

    monkeypatch.setattr(sampling, "Timing", lambda minutes: OFTEN)
    with pytest.raises(ZeroDivisionError):
        network.sample(given, **SHAPE, **options, threads=1, save=tmp_path / "r", callback=stop)
    while True:
        try:
            same(resume_sampling(tmp_path / "r", OFTEN, 1, callback=stop), whole)
            break
        except ZeroDivisionError:
            assert pgbn.load(tmp_path / "r").interrupted
    assert len(swept) >= 39  # sweeps after the last commit are run again


@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_saves_and_resume_goes_on(tmp_path: Path, parallel: int, name: str) -> None:
    network, data = zoo.pfa(3), {"x": counts()}
    whole = network.sample(data, **SHAPE, threads=1)

    def stop(event: Event) -> None:
        if event.done == 17:
            os.kill(os.getpid(), getattr(signal, name))
            time.sleep(0.4)  # the main thread, which alone hears signals, looks every 0.2 s

    with pytest.raises(Interrupted, match=r"of 39 and saved.*pgbn\.resume") as stopped:
        network.sample(data, **SHAPE, parallel=parallel, save=tmp_path, callback=stop)
    assert stopped.value.signal == getattr(signal, name)
    with pytest.raises(pgbn.StorageError, match=r"something saved already; pgbn\.resume"):
        network.sample(data, **SHAPE, save=tmp_path)
    seen: list[int] = []
    same(pgbn.resume(tmp_path, callback=lambda event: seen.append(event.done)), whole)
    assert 39 - 20 <= len(seen) <= 39 - 17
    with pytest.warns(pgbn.PgbnWarning, match="finished already"):
        same(pgbn.resume(tmp_path), whole)


def test_a_signal_to_chains_side_by_side_in_memory() -> None:
    network, data = zoo.pfa(3), {"x": counts()}
    many = {"burn_in": 3, "draws": 300, "chains": 2, "seed": 4, "keep": ["r"]}
    whole = network.sample(data, **many, threads=1)

    def stop_after(sweeps: int) -> Any:
        seen: dict[int, int] = {}

        def stop(event: Event) -> None:
            seen[event.chain.number] = event.chain.sweeps
            if len(seen) == 2 and min(seen.values()) == sweeps:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.4)
                seen.clear()

        return stop

    with pytest.raises(Interrupted, match="before every chain had a draw"):
        network.sample(data, **many, parallel=2, callback=stop_after(1))
    with pytest.warns(pgbn.PgbnWarning, match="draws that all chains have"):
        draws = network.sample(data, **many, parallel=2, callback=stop_after(9))
    number = draws["r"].shape[1]
    assert draws.interrupted
    assert 6 <= number <= 7
    np.testing.assert_array_equal(draws["r"], whole["r"][:, :number])


@pytest.mark.parametrize(("options", "says"), [
    ({"parallel": 0}, "parallel=0 must be an integer of at least 1"),
    ({"parallel": 2, "callback": 3}, "callback=3"),
    ({"parallel": 2, "executor": Backwards()}, "parallel=2, executor="),
    ({"save": "new", "minutes": -1}, "minutes=-1"),
    ({"save": "new", "keep": ["thetA1"]}, "keep: 'thetA1'.*Did you mean 'theta1'"),
    ({"save": "new", "keep": ["x"]}, "keep: the data of 'x' have no missing cells"),
    ({"keep": "x"}, "keep: the data of 'x' have no missing cells"),
    ({"keep": 3}, "keep=3.*list"),
    ({"save": "new", "draws": 0}, "draws=0.*at least 1"),
    ({"draws": None}, "draws=None"),
    ({"burn_in": -1}, "burn_in=-1.*at least 0"),
    ({"burn_in": "a"}, "burn_in='a'"),
    ({"thin": 0}, "thin=0.*at least 1"),
    ({"chains": 2.5}, "chains=2.5"),
    ({"save": "new", "chains": 10**12}, "chains=1000000000000 would need"),
    ({"save": "file"}, "file is a file"),
    ({"parallel": 2, "draws": 10**12}, "would need"),
    ({"parallel": 2, "seed": -1}, "seed=-1"),
])  # fmt: skip
def test_what_is_refused_before_any_work(
    options: dict[str, Any], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Chain, "sweep", lambda *_: pytest.fail("a sweep was run"))
    Path("file").write_text("")
    arguments = {"burn_in": 1, "draws": 1, "chains": 2, **options}
    with pytest.raises(pgbn.PgbnError, match=says):
        zoo.pfa(3).sample({"x": counts()}, **arguments)
    assert not Path("new").exists()


# ---- what Ctrl-C leaves: the draws that were kept ----


def press_at(sweep: int) -> Any:
    def press(event: Event) -> None:
        if event.done == sweep:
            os.kill(os.getpid(), signal.SIGINT)

    return press


@pytest.mark.parametrize(("sweep", "kept"), [(4, 1), (5, 1), (8, 3), (9, 3)])
def test_sampling_keeps_the_draws_before_the_stop(sweep: int, kept: int) -> None:
    network, data = zoo.pfa(3), {"x": counts()}
    whole = network.sample(data, 2, 5, thin=2, threads=1)
    with pytest.warns(
        pgbn.PgbnWarning, match=rf"sweep {sweep} of 12: {kept} of 5 draws"
    ) as received:
        draws = network.sample(data, 2, 5, thin=2, threads=1, callback=press_at(sweep))
    assert len(received) == 1
    assert draws.interrupted
    assert not whole.interrupted
    assert not draws.unfinished
    for name, value in whole.items():
        np.testing.assert_array_equal(draws[name], value[:, :kept])
    assert draws.chain is not None
    assert draws.chain.sweeps == sweep


def test_sampling_keeps_whole_chains_and_the_rest() -> None:
    network, data = zoo.pfa(3), {"x": counts()}
    whole = network.sample(data, 1, 4, chains=3, threads=1)
    with pytest.warns(pgbn.PgbnWarning, match="6 of 12 draws"):
        draws = network.sample(data, 1, 4, chains=3, threads=1, callback=press_at(8))
    np.testing.assert_array_equal(draws["r"], whole["r"][:1])
    np.testing.assert_array_equal(draws.unfinished["r"], whole["r"][1:2, :2])


def test_a_stop_in_the_middle_of_a_sweep_keeps_the_draws() -> None:
    """Ctrl-C twice: the chain is not to be used, the draws are."""

    def twice(event: Event) -> None:
        if event.done == 4:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.warns(pgbn.PgbnWarning, match="1 of 5 draws"):
        draws = zoo.pfa(3).sample({"x": counts()}, 2, 5, threads=1, callback=twice)
    assert draws.interrupted
    assert draws.chain is None


def test_ctrl_c_at_the_last_sweep_changes_nothing() -> None:
    draws = zoo.pfa(3).sample({"x": counts()}, 2, 5, threads=1, callback=press_at(7))
    assert not draws.interrupted
    assert draws["r"].shape[:2] == (1, 5)


# ---- what a run keeps in its folder ----

PLAN = RunPlan(2, 6, 1, 2, 1, ("r", "theta1"))


def begun(folder: Path) -> SavedRun:
    store = SavedRun(Runner(folder, "run", asdict(PLAN), NEVER), PLAN, 1)
    chains = (Chain._of_data(zoo.pfa(3), {"x": counts()}, 1, n, threads=1) for n in range(2))
    store.begin(chains, lambda chain: {})
    return store


def advance(store: SavedRun, at: RunningChain, sweeps: int) -> None:
    for _ in range(sweeps):
        at.chain.sweep()
        at.keep_draw()
        store.after_sweep(at)


def test_a_commit_keeps_what_others_wrote(tmp_path: Path) -> None:
    store = begun(tmp_path)
    first, second = store.open(0), store.open(1)
    advance(store, first, 5)
    store.commit(first)
    assert (store.sweeps(0), store.sweeps(1)) == (5, 0)
    assert first.waiting == {}
    assert pgbn.load(tmp_path)["r"].shape == (2, 0, 3)
    files = set(read_manifest(tmp_path)["files"])
    advance(store, second, 4)
    store.commit(second)
    assert len(files & set(read_manifest(tmp_path)["files"])) == len(files) - 2  # state and trace
    found = pgbn.load(tmp_path)
    assert found.interrupted
    expected = zoo.pfa(3).sample({"x": counts()}, 2, 2, chains=2, seed=1, threads=1)
    np.testing.assert_array_equal(found["theta1"], expected["theta1"])
    facts = run_facts(read_manifest(tmp_path)["content"])
    assert (facts["sweeps"], facts["draws so far"], facts["of"]) == ([5, 4], [3, 2], 8)


def test_draws_that_wait_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run needs no memory for its draws, though no checkpoint is due."""
    monkeypatch.setattr(sampling, "BLOCK_BYTES", 1000)
    store = begun(tmp_path)
    at = store.open(0)
    most = 0
    for _ in range(8):
        advance(store, at, 1)
        most = max(most, at.bytes)
    assert most < 1000 + 8 * counts().shape[0] * 4
    assert store.sweeps(0) > 2


def test_files_that_are_gone(tmp_path: Path) -> None:
    """The data are written again; of a lost block or state, the file is named."""
    store = begun(tmp_path)
    at = store.open(0)
    groups = read_manifest(tmp_path)["groups"]
    (tmp_path / groups["data"]).unlink()
    advance(store, at, 3)
    store.commit(at)
    assert store.open(0).chain.sweeps == 3
    (tmp_path / groups["state/1"]).unlink()
    advance(store, at, 1)
    with pytest.raises(
        pgbn.StorageError, match=rf"{groups['state/1']} of this run is missing.*resume"
    ):
        store.commit(at)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c["settings"].update(chains=5000), "5000 chains, but the states of"),
        (lambda c: c["settings"].update(chains=10**15), "chains=1000000000000000 would need"),
        (lambda c: c["settings"].update(chains=1), "1 chains, but the states of"),
        (lambda c: c["chains"].update({"-1": c["chains"].pop("1")}), "but the states of"),
        (lambda c: c["chains"]["0"].update(sweeps=99), "chain 0 has more sweeps than 8"),
        (lambda c: c["chains"]["0"].update(sweeps=-1), "sweeps of chain 0=-1"),
        (
            lambda c: c["settings"].update(keep=["r", "THETA1"]),
            "the draws are not those of r, THETA1",
        ),
        (lambda c: c["settings"].update(keep=["r"]), "the draws are not those of r"),
        (lambda c: c["layout"].update(r=[[]]), "the draws are not those of"),
        (lambda c: c["layout"].update(r=[3, []]), "damaged: layout/r/0 is 3"),
        (lambda c: c["layout"].update(r=3), "damaged: layout/r is 3"),
        (lambda c: c["entries"].update(r=3), "damaged: entries/r is 3"),
        (lambda c: c["entries"].pop("r"), "the draws are not those of"),
        (lambda c: c["entries"].update(r=[4]), "chain 0 is not one of this run"),
        (lambda c: c["chains"]["0"].update(number=2000), "chain 0 is not one of this run"),
    ],
)
def test_a_forged_run_is_refused_before_any_sweep(tmp_path: Path, change: Any, words: str) -> None:
    """With more chains it made a list for each; others ended in a KeyError in the end."""
    begun(tmp_path)
    body = read_body(tmp_path)
    content = body["content"]
    change({"settings": content["settings"], **content["object"]})
    sign(tmp_path, body)
    with pytest.raises(pgbn.StorageError, match=words) as caught:
        pgbn.resume(tmp_path, progress=False)
    assert str(tmp_path) in str(caught.value)


# ---- what is kept, and how long samplers take ----


def test_numbers_that_do_not_depend_on_the_order_of_topics() -> None:
    phi = np.random.default_rng(0).dirichlet(np.ones(5), 3)
    number = read_keep(zoo.pfa(3), None).label_free
    assert number("phi1", phi) == pytest.approx(number("phi1", phi[[2, 0, 1]]))
    assert number("r", np.arange(4.0)) == 1.5


def test_samplers_of_the_first_layer_are_timed():
    data = np.random.default_rng(0).poisson(0.5, (6, 8))
    found = pgbn.zoo.pgbn([3, 2]).time_samplers({"x": data}, burn_in=1, sweeps=2)
    assert sorted(found) == ["blocked", "collapsed", "partial"]
    assert list(found.values()) == sorted(found.values())
    binary = pgbn.zoo.pgbn([3], link="bernoulli").time_samplers({"x": data > 0}, sweeps=1)
    assert list(binary) == ["blocked"]
    # c is drawn given Σ θ, which samplers that integrate θ out do not keep
    order = ["counts(x)", "counts(theta)", "phi", "c", "r", "theta"]
    network = rates_of_documents().with_order(order)
    assert list(network.time_samplers({"x": X}, burn_in=0, sweeps=1)) == ["blocked"]
    for options, words in (({"burn_in": -1}, "burn_in=-1"), ({"sweeps": 0}, "sweeps=0")):
        with pytest.raises(pgbn.DataError, match=words):
            network.time_samplers({"x": "no data"}, **options)  # type: ignore[arg-type]
