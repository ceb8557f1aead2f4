"""Sampling that is saved as it goes, and chains side by side: the same bits as without."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.progress import Event
from pgbn.engine.run.run_plan import RunPlan, read_keep
from pgbn.engine.run.sampling import resume_sampling, sample_saved
from pgbn.storage.runner import Timing
from pgbn.storage.stopping import Interrupted
from tests.helpers.own_executor import Backwards
from tests.helpers.small_data import counts

OFTEN = Timing(sweeps=1, share=1e9)
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
RATE = {"r": PFA["r"], "rate": PFA["phi1"] @ PFA["theta1"], "twice": PFA["r"] * 2 + 1.0}

CASES: dict[str, tuple[Callable[[], pgbn.Network], Callable[[], Any], dict[str, Any]]] = {
    "collapsed": (lambda: zoo.pgbn([4, 3]), counts, {"layer1": "collapsed"}),
    "blocked": (lambda: zoo.pfa(3), counts, {"layer1": "blocked"}),
    "composed": (lambda: zoo.pfa(3), counts, {"layer1": "composed"}),
    "some nodes": (lambda: zoo.lda(3), counts, {"keep": ["phi"]}),
    "missing cells": (lambda: zoo.pfa(3), masked, {"keep": ["x", "r"]}),
    "expressions": (lambda: PFA, counts, {"keep": RATE}),
    "reals": (lambda: zoo.pgbn([3], link="gamma"), lambda: counts() * 0.5, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_bits_in_every_way(case: str, tmp_path: Path) -> None:
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

    kept = read_keep(network, options.get("keep"))
    plan = RunPlan(**SHAPE, keep=kept.names, expressions=kept.json())
    layer1 = options.get("layer1", "auto")
    with pytest.raises(ZeroDivisionError):
        sample_saved(plan, lambda n: Chain.of_data(network, given, 4, n, None, layer1, 1), tmp_path / "r",
                     OFTEN, callback=stop)  # fmt: skip
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


def test_faults_of_a_callback_are_passed_on() -> None:
    def fail(event: Event) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        zoo.pfa(3).sample({"x": counts()}, **SHAPE, parallel=3, callback=fail)


@pytest.mark.parametrize(("options", "says"), [
    ({"parallel": 0}, "parallel=0 must be an integer of at least 1"),
    ({"parallel": 2, "callback": 3}, "callback=3"),
    ({"save": "new", "minutes": -1}, "minutes=-1"),
    ({"save": "new", "keep": ["thetA1"]}, "Did you mean 'theta1'"),
    ({"save": "new", "keep": ["x"]}, "no missing cells"),
    ({"save": "new", "draws": 0}, "draws=0"),
    ({"save": "file"}, "file is a file"),
    ({"parallel": 2, "draws": 10**12}, "would need"),
    ({"parallel": 2, "seed": -1}, "seed=-1"),
])  # fmt: skip
def test_what_is_refused_before_any_work(
    options: dict[str, Any], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    arguments = {"burn_in": 1, "draws": 1, "chains": 2, **options}
    with pytest.raises(pgbn.PgbnError, match=says):
        zoo.pfa(3).sample({"x": counts()}, **arguments)
    assert not Path("new").exists()


def test_an_executor_of_ones_own(tmp_path: Path) -> None:
    """A run that is saved takes it, at its beginning and when it goes on; chains side by side have
    threads of their own."""
    net, data = zoo.pgbn([3, 2]), {"x": counts()}
    whole = net.sample(data, **SHAPE, layer1="partial", threads=1)
    first, second = Backwards(), Backwards()

    def stop(event: Event) -> None:
        if event.done == 15:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted):
        net.sample(data, **SHAPE, layer1="partial", executor=first, save=tmp_path, callback=stop)
    same(pgbn.resume(tmp_path, executor=second), whole)
    assert first.used["rows"]
    assert second.used["rows"]
    with pytest.raises(pgbn.DataError, match="parallel=2, executor="):
        net.sample(data, **SHAPE, parallel=2, executor=first)


def kills(folder: Path, number: int, seed: int, seconds: float) -> dict[str, int]:
    """The kills of each method that writes, by tests/helpers/killed.py."""
    command = [sys.executable, "-m", "tests.helpers.killed", str(folder), str(number), str(seed)]
    root, one = Path(__file__).parents[3], {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=one, cwd=root,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs os.pidfd_open")
@pytest.mark.parametrize("number", [2, pytest.param(1500, marks=pytest.mark.long)])
def test_kills_of_every_method_that_writes(number: int, tmp_path: Path) -> None:
    """SIGKILL at random moments and in the calls of a write: the end is the undisturbed one's."""
    report = kills(tmp_path, number, 1, 600.0 * number)
    assert len(report) == 7
    assert min(report.values()) >= number
