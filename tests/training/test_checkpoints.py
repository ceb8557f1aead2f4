"""Training with checkpoints: what is written, when, and that continuing is the training itself."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.engine.run.chain import Interrupted
from pgbn.storage import folders, runner
from pgbn.training import checkpoints
from pgbn.training.checkpoints import (
    another_machine,
    checkpoint_facts,
    decode_checkpoint,
    encode_checkpoint,
    this_machine,
)
from tests.helpers.saved import forge
from tests.helpers.saved import same_networks as same
from tests.helpers.short_training import NAMES, OTHERS, QUICK, X, cut_at, no_work
from tests.helpers.small_data import counts

EVERY = {"every": 1, "share": 1e9}  # a checkpoint after each sweep


def stopped(folder: Path, depth: int, at: int, width: int = 6, **settings: Any) -> Path:
    """The folder of a training whose last checkpoint is that of the sweep before ``at``."""
    with pytest.raises(RuntimeError, match="power cut"):
        checkpoints.train_with_checkpoints(
            X, folder, width, depth, callback=cut_at(at), **EVERY, **QUICK | settings
        )
    return folder


# ---- the fields: what is written is read again, and is found by its old names ---------------


def written(
    event: pgbn.Event, arguments: dict[str, Any], context: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The content and the arrays of a checkpoint."""
    place, state, lasting = encode_checkpoint(event, context)
    arrays = {"state": state, **{group: make() for group, make in lasting.items()}}
    return {"settings": arguments, "object": place}, arrays


@pytest.fixture(scope="module")
def seen() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The checkpoints of all sweeps of a training of two layers."""
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def note(event: pgbn.Event) -> None:
        found.append(written(event, {"depth": 2}, {"record": {}}))

    pgbn.train_layerwise(X, 6, 2, average=3, callback=note, **QUICK)
    return found


def read(content: dict[str, Any], arrays: dict[str, Any], **state: Any) -> checkpoints.Checkpoint:
    copies = {name: dict(group) for name, group in arrays.items()}
    copies["state"] |= state
    return decode_checkpoint(content, copies.__getitem__, threads=1)


def test_the_names_of_the_fields_stay(seen: list[Any]) -> None:
    for content, arrays in seen:
        assert content["object"].keys() == {
            "context", "chain", "networks", "names", "depth", "phase", "sweep", "sweeps",
            "done", "total", "trace", "machine",
        }  # fmt: skip
        assert arrays.keys() == {"state", "data", "model"}
    means = [sum(name.startswith("mean/") for name in arrays["state"]) for _, arrays in seen]
    assert means == [0] * 8 + [2] * 3 + [0] * 8 + [3] * 3  # Φ of each layer, and r
    facts = checkpoint_facts(seen[13][0])
    assert (facts["depth"], facts["phase"], facts["sweep"], facts["done"]) == (2, "burn_in", 3, 14)
    assert facts["arguments"] == {"depth": 2}


@pytest.mark.parametrize("number", [0, 9, 13, 21])
def test_what_is_written_is_read_again(seen: list[Any], number: int) -> None:
    content, arrays = seen[number]
    found = read(content, arrays)
    again, equal = written(found.progress, found.arguments, found.context)
    assert again == content
    for name, group in arrays.items():
        assert equal[name].keys() == group.keys()
        assert all(np.array_equal(equal[name][each], group[each]) for each in group)
    assert (found.data.toarray() == X).all()


@pytest.mark.parametrize(("name", "change", "words"), [
    ("kept/999999999999/r", lambda a: a, "not one of the draws"),
    ("kept/-1/r", lambda a: a, "not one of the draws"),
    ("mean/phi1", lambda a: a[:1], "phi1 has shape"), ("mean/phi1", lambda a: a * np.nan, "not finite"),
    ("mean/x1", lambda a: a, "not a node"), ("kept/0/phi1", lambda a: a[0], "phi1 has shape"),
])  # fmt: skip
def test_means_and_draws_without_sense_are_rejected(
    seen: list[Any], name: str, change: Any, words: str
) -> None:
    """The first made as many draws as it says, whatever the memory."""
    content, arrays = seen[10]
    with pytest.raises(pgbn.PgbnError, match=words):
        read(content, arrays, **{name: change(arrays["state"]["mean/phi1"])})


def test_what_is_missing_or_no_number_is_rejected(seen: list[Any]) -> None:
    content, arrays = seen[21]
    for name in ("phi1", "phi2"):
        state = {key: a for key, a in arrays["state"].items() if key != f"mean/{name}"}
        with pytest.raises(pgbn.StorageError, match=f"the means of the training lack {name}"):
            read(content, {**arrays, "state": state})
    place = content["object"]
    for name in ("every", "sweep"):
        for value in ("a", -1, None, 2.5, float("nan"), [1]):
            forged = {**content, "object": {**place, "trace": {**place["trace"], name: value}}}
            with pytest.raises(pgbn.StorageError, match=f"damaged: {name} is"):
                read(forged, arrays)


# ---- where it was written -------------------------------------------------------------------


def test_only_what_changes_bits_is_said() -> None:
    here = this_machine()
    assert another_machine(here) == another_machine(None) == another_machine([1]) == ""
    assert another_machine({**here, "processor": "another", "numpy": "0", "libc": "musl"}) == ""
    assert another_machine({**here, "machine": "arm64"}).startswith("machine was 'arm64' and is")
    assert "pgbn was '9.9'" in another_machine({**here, "pgbn": "9.9"})
    assert "\x1b" not in another_machine({**here, "pgbn": "\x1b[2J" * 99})


def test_a_training_deeper_than_its_settings_is_damaged(tmp_path: Path) -> None:
    stopped(tmp_path, 2, 14)
    forge(tmp_path, lambda body: body["content"]["settings"].update(depth=1))
    with pytest.raises(pgbn.PgbnError, match="damaged: a training of layer 2, with depth=1"):
        pgbn.resume(tmp_path, progress=False)


def test_resumed_elsewhere(tmp_path: Path) -> None:
    assert checkpoints.read_checkpoint(stopped(tmp_path, 1, 3)).machine == this_machine()
    forge(tmp_path, lambda body: body["content"]["object"]["machine"].update(machine="arm64"))
    with pytest.warns(pgbn.PgbnWarning, match="machine was 'arm64'"):
        pgbn.resume(tmp_path, progress=False)


def test_an_update_of_libraries_while_training_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that tell versions were read at each checkpoint: where they, or the interpreter's
    own, were gone, or too many were open, training ended."""
    this_machine.cache_clear()

    def gone(*_: Any, **__: Any) -> Any:
        raise FileNotFoundError(2, "No such file or directory")

    def update(event: pgbn.Event) -> None:
        monkeypatch.setattr("importlib.metadata.distribution", gone)
        monkeypatch.setattr("platform.libc_ver", gone)

    checkpoints.train_with_checkpoints(X, tmp_path, 6, 1, callback=update, **EVERY, **QUICK)
    assert this_machine()["numpy"] == np.__version__


# ---- continuing is the training without the stop --------------------------------------------


def test_every_place_of_a_training_can_be_resumed(tmp_path: Path) -> None:
    """Burn-in and collection, the first and the last sweep of each, inside an average, and with
    more sweeps for a network that is trained already."""
    settings = QUICK | {"average": 3, "seed": 1}
    whole = pgbn.train_layerwise(X, 6, 2, keep_states=True, **settings)
    more = pgbn.train_layerwise(X, 6, 2, start_from=whole, **settings)
    for at in (2, 6, 7, 8, 9, 11, 12, 13, 18, 21, 22):
        stopped(tmp_path, 2, at, keep_states=True, **settings)
        same(pgbn.resume(tmp_path, threads=2, progress=False), whole)
    for at in (2, 4, 5):
        stopped(tmp_path, 2, at, start_from=whole, **settings)
        same(pgbn.resume(tmp_path, threads=2, progress=False), more)


@pytest.mark.parametrize("own", [None, OTHERS])
@pytest.mark.parametrize(("depth", "stop"), [(1, 3), (3, 4), (3, 20)])
def test_a_stopped_training_keeps_what_its_beginning_had(
    tmp_path: Path, own: Any, depth: int, stop: int
) -> None:
    """Its eta, its priors and the names of its terms; names that are given come first."""
    first = pgbn.train_layerwise(X, 8, 1, eta=0.01, priors=pgbn.Priors(c=(2.0, 2.0)), **QUICK)
    pgbn.save(first, tmp_path / "base", vocabulary=NAMES)
    settings = QUICK | {"start_from": tmp_path / "base", "vocabulary": own}
    whole = checkpoints.train_with_checkpoints(X, tmp_path / "whole", 8, depth, **settings)
    stopped(tmp_path / "m", depth, stop, 8, **settings)
    resumed = pgbn.resume(tmp_path / "m", progress=False, threads=1)
    for training in (whole, resumed, pgbn.load(tmp_path / "whole"), pgbn.load(tmp_path / "m")):
        assert [network.vocabulary for network in training] == [own or NAMES] * depth
        assert training.deepest.eta == (0.01,) * depth
        assert training.deepest.priors == first.deepest.priors
    same(resumed, whole)
    kept = folders.open_saved(tmp_path / "m").record["arguments"]
    assert (kept["eta"], kept["priors"]["c"]) == (0.01, [2.0, 2.0])  # one number for all layers


@pytest.mark.parametrize("stop", [3, 8])
def test_a_checkpoint_of_an_older_version_goes_on_with_its_defaults(
    tmp_path: Path, stop: int
) -> None:
    """It did not say what eta and priors were left out, and they were not those of the start."""
    first = pgbn.train_layerwise(X, 6, 1, eta=0.5, priors=pgbn.Priors(c=(9.0, 1.0)), **QUICK)
    old = {"eta": 0.05, "priors": pgbn.Priors(), "start_from": first}
    whole = pgbn.train_layerwise(X, 6, 3, **old, **QUICK)
    stopped(tmp_path, 3, stop, **old)

    def older(body: Any) -> None:
        del body["content"]["settings"]["eta"]
        body["content"]["settings"]["priors"] = None

    forge(tmp_path, older)
    resumed = pgbn.resume(tmp_path, progress=False, threads=1)
    assert (resumed.deepest.eta, resumed.deepest.priors) == ((0.05,) * 3, pgbn.Priors())
    same(resumed, whole)


def test_record_columns_and_time_survive_a_stop(tmp_path: Path) -> None:
    """Columns are in every checkpoint, written once, and in the result."""
    columns, names = {"text": [f"text {j}" for j in range(60)]}, set()

    def stop(event: pgbn.Event) -> None:
        names.update(path.name for path in tmp_path.glob("columns-*.npz"))
        cut_at(4)(event)

    with pytest.raises(RuntimeError, match="power cut"):
        checkpoints.train_with_checkpoints(X, tmp_path, 4, 1, record={"origin": "a test"}, columns=columns,
                         callback=stop, **EVERY, **QUICK)  # fmt: skip
    forge(tmp_path, lambda body: body["content"]["object"]["context"].update(seconds=1e6))
    pgbn.resume(tmp_path, progress=False, threads=1)
    saved = folders.open_saved(tmp_path)
    assert saved.record["origin"] == "a test"
    assert saved.record["seconds"] > 1e6
    assert saved.columns == columns
    assert len(names) == 1


def test_files_that_vanish_are_written_again(tmp_path: Path) -> None:
    """Of a checkpoint whose data file somebody removed, the next one has it."""
    whole = pgbn.train_layerwise(X, 5, 1, **QUICK)

    def remove(event: pgbn.Event) -> None:
        if event.done in (2, 4):
            for file in tmp_path.glob("*.npz" if event.done == 2 else "data-*.npz"):
                file.unlink()
        cut_at(5)(event)

    with pytest.raises(RuntimeError, match="power cut"):
        checkpoints.train_with_checkpoints(X, tmp_path, 5, 1, callback=remove, **EVERY, **QUICK)
    same(pgbn.resume(tmp_path, progress=False), whole)
    with pytest.warns(pgbn.PgbnWarning, match="finished already"):
        same(pgbn.resume(tmp_path / "model.json"), whole)


# ---- signals --------------------------------------------------------------------------------


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    whole = pgbn.train_layerwise(X, 6, 2, **QUICK)

    def press(event: pgbn.Event) -> None:
        if event.done == 14:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match=r"sweep 14 of 22 and saved.*pgbn resume"):
        checkpoints.train_with_checkpoints(X, tmp_path, 6, 2, callback=press, **QUICK)
    with pytest.raises(pgbn.StorageError, match=r"pgbn\.resume"):
        pgbn.load(tmp_path)
    seen: list[int] = []
    resumed = pgbn.resume(tmp_path, callback=lambda event: seen.append(event.done))
    assert seen == list(range(15, 23))
    same(resumed, whole)
    same(pgbn.load(tmp_path), whole)
    with pytest.raises(pgbn.StorageError, match="nothing to resume"):
        checkpoints.read_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_while_the_result_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """All sweeps are done: the result is saved, and the caller hears of the signal."""
    save = folders.save

    def signalled(*arguments: Any, **more: Any) -> None:
        os.kill(os.getpid(), getattr(signal, name))
        save(*arguments, **more)

    monkeypatch.setattr(folders, "save", signalled)
    with pytest.raises(Interrupted, match="training was done; it is saved") as caught:
        checkpoints.train_with_checkpoints(X, tmp_path, 4, 1, **QUICK)
    assert caught.value.signal == getattr(signal, name)
    assert pgbn.load(tmp_path).deepest.depth == 1


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_to_the_command(tmp_path: Path, name: str, code: int) -> None:
    """A real process and a real signal: its exit code, a checkpoint, and the way to go on."""
    np.savez(tmp_path / "x.npz", X=np.repeat(counts(), 20, axis=0))
    process = subprocess.Popen(
        [sys.executable, "-m", "pgbn", "fit", str(tmp_path / "x.npz"), "-o", str(tmp_path / "m"),
         "--depth", "1", "--burn-in", "2000", "--sweeps", "2", "--max-width", "10", "--minutes",
         "0.0001"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 60
    while not (tmp_path / "m" / "model.json").exists() and time.monotonic() < end:
        time.sleep(0.02)
    os.kill(process.pid, getattr(signal, name))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert "pgbn resume" in errors.splitlines()[-1]
    at = checkpoints.read_checkpoint(tmp_path / "m").progress
    assert 1 <= at.sweep < 2000
    assert f"sweep {at.done} of 2002" in errors


# ---- when checkpoints are written, and to which files ---------------------------------------


def test_the_cost_of_checkpoints_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write of 1 s in sweeps of 0.1 s: at most one in 20 s, whatever the user asks for."""
    clock, real = [0.0], runner.write
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    times: list[float] = []

    def write(*arguments: Any) -> dict[str, str]:
        clock[0] += 1.0
        times.append(clock[0])
        return real(*arguments)

    def sweep(event: pgbn.Event) -> None:
        clock[0] += 0.1

    monkeypatch.setattr(runner, "write", write)
    checkpoints.train_with_checkpoints(counts(), tmp_path, 3, 1, burn_in=999, sweeps=1, every=1, share=0.05,
                     callback=sweep, progress=False)  # fmt: skip
    assert 4 <= len(times) <= 6
    assert min(np.diff(times)) >= 20.0


def test_checkpoints_keep_files_that_do_not_change(tmp_path: Path) -> None:
    names: set[str] = set()

    def look(event: pgbn.Event) -> None:
        found = {path.name for path in tmp_path.iterdir() if not path.name.startswith(".")}
        assert len(found) in (0, 4)
        names.update(found)

    checkpoints.train_with_checkpoints(X, tmp_path, 5, 2, callback=look, **EVERY, **QUICK)
    kinds = [name.split("-")[0] for name in names]
    assert [kinds.count(kind) for kind in ("data", "model", "state")] == [1, 2, 21]


def test_a_full_disk_does_not_end_a_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*arguments: Any) -> Any:
        raise pgbn.StorageError("No space left on device")

    monkeypatch.setattr(runner, "write", write)
    with pytest.warns(pgbn.PgbnWarning, match="the run continues: No space left"):
        checkpoints.train_with_checkpoints(X, tmp_path, 5, 1, **EVERY, **QUICK)
    assert pgbn.load(tmp_path).deepest.depth == 1


@pytest.mark.parametrize(
    ("code", "room"), [(errno.ENOSPC, True), (errno.EACCES, False), (0, False)]
)
def test_a_result_that_cannot_be_written(
    tmp_path: Path, code: int, room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says how to get it all the same; only a full disk asks for disk space."""

    def reject(*arguments: Any, **options: Any) -> None:
        raise pgbn.StorageError("could not be written") from OSError(code, "why") if code else None

    with monkeypatch.context() as patch:
        patch.setattr(folders, "save", reject)
        with pytest.raises(pgbn.StorageError, match="could not be written") as error:
            checkpoints.train_with_checkpoints(X, tmp_path / "m", 3, 1, **EVERY, **QUICK)
        assert ("free disk space" in str(error.value)) == room
        assert ("pgbn resume" in str(error.value)) == bool(code)
        with pytest.raises(pgbn.StorageError, match=r"could not be written$"):  # no checkpoint
            checkpoints.train_with_checkpoints(X, tmp_path / "n", 3, 1, **QUICK)
    same(pgbn.resume(tmp_path / "m", progress=False), pgbn.train_layerwise(X, 3, 1, **QUICK))


def test_a_second_training_in_a_folder_is_rejected(tmp_path: Path) -> None:
    """For as long as the first one runs, not only while it writes; a second resume likewise."""
    rejected: list[str] = []

    def second(event: pgbn.Event) -> None:
        def attempt(begin: Any) -> None:
            with pytest.raises(pgbn.StorageError) as error:
                begin()
            rejected.append(str(error.value))

        if event.done == 2:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(
                    attempt, lambda: checkpoints.train_with_checkpoints(X, tmp_path, 5, 1)
                ).result()
                pool.submit(attempt, lambda: pgbn.resume(tmp_path)).result()
        cut_at(3)(event)

    with pytest.raises(RuntimeError, match="power cut"):
        checkpoints.train_with_checkpoints(X, tmp_path, 5, 1, callback=second, **EVERY, **QUICK)
    pgbn.resume(tmp_path, progress=False)
    assert len(rejected) == 2
    assert all(f"{tmp_path}: another process is writing there" in text for text in rejected)


# ---- arguments ------------------------------------------------------------------------------


class Unwritable:
    """No JSON."""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocabulary": ["a", "b"]}, "vocabulary: 2 names, but 30"),
        ({"vocabulary": "abc"}, "vocabulary: a string"),
        ({"names": ["a"]}, "names: 1 names, but 60"),
        ({"record": {"a": Unwritable()}}, "record=.*cannot be saved as JSON"),
        ({"record": [1]}, r"record=\[1\]: give a dict"),
        ({"columns": {"text": ["a"]}}, r"columns\['text'\]: 1 entries for"),
        ({"sampler": Unwritable()}, "sampler=.*cannot be saved as JSON"),
        ({"every": 0}, "every=0"),
        ({"every": 1.5}, "every=1.5"),
        ({"share": 0.0}, "share=0.0"),
        ({"share": float("nan")}, "share=nan"),
        ({"minutes": True}, "minutes=True"),
        ({"minutes": -1}, "minutes=-1"),
        ({"callback": 3}, "callback=3"),
        ({"priors": 3}, "priors=3"),
        ({"burnin": 3}, "no argument is called 'burnin'.*burn_in"),
        ({"start_form": 1}, r"'start_form'\. Did you mean 'start_from'"),
    ],
)
def test_arguments_are_checked_before_any_work(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    settings = {**QUICK, "callback": no_work, **arguments}
    with pytest.raises(pgbn.PgbnError, match=message):
        checkpoints.train_with_checkpoints(X, tmp_path / "m", 3, 2, **settings)
    assert not (tmp_path / "m" / "model.json").exists()
    if arguments.keys() <= {"sweeps", "share", "minutes", "callback"}:
        with pytest.raises(pgbn.DataError, match=message):
            pgbn.resume("nowhere", **arguments)


def test_a_bad_folder_is_noticed_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "model.json").write_text("{}")
    for path in (tmp_path / "file", tmp_path):
        with pytest.raises(pgbn.StorageError):
            checkpoints.train_with_checkpoints(X, path, 5, 1, **QUICK | {"callback": no_work})


def test_checkpoints_pass_the_faults_of_a_callback_on(tmp_path: Path) -> None:
    def faulty(event: pgbn.Event) -> None:
        dict.fromkeys(event, unknown=3)  # type: ignore[call-overload]

    with pytest.raises(TypeError, match="keyword"):
        checkpoints.train_with_checkpoints(X, tmp_path, 3, 1, **QUICK | {"callback": faulty})


def test_a_vocabulary_may_be_a_dict(tmp_path: Path) -> None:
    columns = {f"w{v}": v for v in reversed(range(30))}
    checkpoints.train_with_checkpoints(X, tmp_path, 3, 1, vocabulary=columns, names=range(60),
                     **QUICK | {"burn_in": np.array([2])})  # fmt: skip
    saved = folders.open_saved(tmp_path)
    assert saved.vocabulary == [f"w{v}" for v in range(30)]
    assert saved.names == [str(j) for j in range(60)]
    assert (saved.data.toarray() == X).all()
    assert saved.record["arguments"]["burn_in"] == 2
