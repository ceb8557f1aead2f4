"""Training with checkpoints, and going on from the last."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import checkpoint, storage
from pgbn.storage import folders
from pgbn.training.growing import Progress
from pgbn.training.trained import read_priors
from tests.helpers.saved import forge
from tests.helpers.short_training import NAMES, OTHERS, QUICK, X, cut_at, no_work


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("stop", [2, 14, 30])
def test_a_stopped_training_keeps_the_eta_of_its_beginning(
    tmp_path: Path, depth: int, stop: int
) -> None:
    first = pgbn.train_layerwise(X, 6, 1, eta=0.01, priors=pgbn.Priors(c=(2.0, 2.0)), **QUICK)
    settings = {**QUICK, "collect": 31}
    whole = pgbn.train_layerwise(X, 6, depth, start_from=first, **settings)

    def fail(event: pgbn.Progress) -> None:
        if event.done == stop:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        checkpoint.train(
            X, tmp_path / "m", 6, depth, start_from=first, sweeps=1, share=1e9, callback=fail,
            **settings,
        )  # fmt: skip
    resumed = pgbn.resume(tmp_path / "m", progress=False, threads=1)
    assert resumed.deepest.eta == whole.deepest.eta == (0.01,) * depth
    assert resumed.deepest.priors == first.deepest.priors
    assert np.array_equal(resumed.deepest.r, whole.deepest.r)
    assert np.array_equal(resumed.deepest.phi[0], whole.deepest.phi[0])


class Unwritable:
    """No JSON."""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"vocabulary": ["a", "b"]}, "vocabulary: 2 names, but 30"),
        ({"vocabulary": "abc"}, "vocabulary: a string"),
        ({"labels": ["a"]}, "labels: 1 names, but 60"),
        ({"record": {"a": Unwritable()}}, "record=.*cannot be saved as JSON"),
        ({"record": [1]}, r"record=\[1\]: give a dict"),
        ({"layer1": Unwritable()}, "layer1=.*cannot be saved as JSON"),
        ({"sweeps": 0}, "sweeps=0"),
        ({"sweeps": 1.5}, "sweeps=1.5"),
        ({"share": 0.0}, "share=0.0"),
        ({"share": "5 %"}, "share='5 %'"),
        ({"minutes": True}, "minutes=True"),
        ({"priors": 3}, "priors=3"),
        ({"callback": 3}, "callback=3"),
        ({"burnin": 3}, "no argument is called 'burnin'.*burn_in"),
    ],
)
def test_checkpoints_refuse_before_any_work(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    settings = {**QUICK, "callback": no_work, **arguments}
    with pytest.raises(pgbn.PgbnError, match=message):
        checkpoint.train(X, tmp_path / "m", 3, 2, **settings)
    assert not (tmp_path / "m" / "model.json").exists()


def test_checkpoints_pass_the_faults_of_a_callback_on(tmp_path: Path) -> None:
    def faulty(event: pgbn.Progress) -> None:
        dict.fromkeys(event, unknown=3)  # type: ignore[call-overload]

    with pytest.raises(TypeError, match="keyword"):
        checkpoint.train(X, tmp_path, 3, 1, **QUICK | {"callback": faulty})


def test_a_vocabulary_may_be_a_dict(tmp_path: Path) -> None:
    columns = {f"w{v}": v for v in reversed(range(30))}
    checkpoint.train(X, tmp_path, 3, 1, vocabulary=columns, labels=range(60),
                     **QUICK | {"burn_in": np.array([2])})  # fmt: skip
    saved = pgbn.storage.open_saved(tmp_path)
    assert saved.vocabulary == [f"w{v}" for v in range(30)]
    assert saved.labels == [str(j) for j in range(60)]
    assert (saved.data.toarray() == X).all()
    assert saved.record["arguments"]["burn_in"] == 2


@pytest.mark.parametrize(
    ("code", "room"), [(errno.ENOSPC, True), (errno.EACCES, False), (0, False)]
)
def test_only_a_full_disk_asks_for_room(
    tmp_path: Path, code: int, room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise pgbn.StorageError("could not be written") from OSError(code, "why") if code else None

    monkeypatch.setattr(folders, "save", refuse)
    with pytest.raises(pgbn.StorageError, match="could not be written") as error:
        checkpoint.train(X, tmp_path, 3, 1, sweeps=1, share=1e9, **QUICK)
    assert ("make room" in str(error.value)) == room
    assert ("pgbn resume" in str(error.value)) == bool(code)


@pytest.mark.parametrize("own", [None, OTHERS])
@pytest.mark.parametrize(("depth", "stop"), [(1, 3), (3, 4), (3, 20)])
def test_a_stopped_training_keeps_the_names_of_the_terms(
    tmp_path: Path, own: Any, depth: int, stop: int
) -> None:
    """Those of its beginning; names that are given come first."""
    pgbn.save(pgbn.train_layerwise(X, 8, 1, **QUICK), tmp_path / "base", vocabulary=NAMES)
    settings = QUICK | {"start_from": tmp_path / "base", "vocabulary": own}
    names = own or NAMES
    whole = checkpoint.train(X, tmp_path / "whole", 8, depth, **settings)
    with pytest.raises(RuntimeError, match="power cut"):
        checkpoint.train(X, tmp_path / "m", 8, depth, callback=cut_at(stop), sweeps=1, share=1e9,
                         **settings)  # fmt: skip
    resumed = pgbn.resume(tmp_path / "m", progress=False, threads=1)
    for training in (whole, resumed, pgbn.load(tmp_path / "whole"), pgbn.load(tmp_path / "m")):
        assert [network.vocabulary for network in training] == [names] * depth
    assert np.array_equal(resumed.deepest.r, whole.deepest.r)


def test_a_training_with_a_vocabulary_knows_it(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="power cut"):
        checkpoint.train(X, tmp_path, 6, 2, callback=cut_at(8), sweeps=1, share=1e9,
                         vocabulary=NAMES, **QUICK)  # fmt: skip
    resumed = pgbn.resume(tmp_path, progress=False, threads=1)
    assert [network.vocabulary for network in resumed] == [NAMES] * 2
    again = checkpoint.train(X, tmp_path, 6, 2, vocabulary=NAMES, **QUICK)
    assert [network.vocabulary for network in again] == [NAMES] * 2


def test_a_checkpoint_says_which_eta_and_priors_a_training_has(tmp_path: Path) -> None:
    priors = pgbn.Priors(c=(2.0, 2.0))
    first = pgbn.train_layerwise(X, 6, 1, eta=0.01, priors=priors, **QUICK)
    for start, eta, chosen in ((None, 0.05, pgbn.Priors()), (first, 0.01, priors)):
        checkpoint.train(X, tmp_path, 6, 2, start_from=start, **QUICK)
        kept = pgbn.storage.open_saved(tmp_path).record["arguments"]
        assert kept["eta"] == eta  # one number for both layers
        assert read_priors(kept["priors"]) == chosen


@pytest.mark.parametrize("stop", [3, 8])
def test_a_checkpoint_of_an_older_version_goes_on_with_its_defaults(
    tmp_path: Path, stop: int
) -> None:
    """It did not say what eta and priors were left out, and they were not those of the start."""
    first = pgbn.train_layerwise(X, 6, 1, eta=0.5, priors=pgbn.Priors(c=(9.0, 1.0)), **QUICK)
    old: dict[str, Any] = {"eta": 0.05, "priors": pgbn.Priors(), "start_from": first, **QUICK}
    whole = pgbn.train_layerwise(X, 6, 3, **old)
    with pytest.raises(RuntimeError, match="power cut"):
        checkpoint.train(X, tmp_path, 6, 3, callback=cut_at(stop), sweeps=1, share=1e9, **old)

    def older(body: Any) -> None:
        del body["content"]["settings"]["eta"]
        body["content"]["settings"]["priors"] = None

    forge(tmp_path, older)
    resumed = pgbn.resume(tmp_path, progress=False, threads=1)
    assert (resumed.deepest.eta, resumed.deepest.priors) == ((0.05,) * 3, pgbn.Priors())
    assert np.array_equal(resumed.deepest.r, whole.deepest.r)


class Stopped(Exception):
    """Raised in the middle of a training."""


def test_the_record_and_the_time_survive_a_stop(tmp_path: Path) -> None:
    def stop(event: Progress) -> None:
        if event.done == 4:
            raise Stopped

    x = np.random.default_rng(0).poisson(1.0, (20, 8))
    with pytest.raises(Stopped):
        checkpoint.train(
            x, tmp_path, 4, 1, burn_in=4, collect=2, sweeps=1, minutes=None, share=9.0,
            record={"origin": "a test"}, callback=stop, progress=False, threads=1,
        )  # fmt: skip

    def long(body: Any) -> None:
        body["content"]["object"]["context"]["seconds"] = 1e6

    forge(tmp_path, long)
    pgbn.resume(tmp_path, progress=False, threads=1)
    record = storage.open_saved(tmp_path).record
    assert record["origin"] == "a test"
    assert record["seconds"] > 1e6


def test_keywords_are_suggested_and_named_by_the_function_that_was_called(tmp_path: Path) -> None:
    with pytest.raises(pgbn.DataError, match=r"'start_form'\. Did you mean 'start_from'"):
        pgbn.checkpoint.train([[1]], tmp_path, 1, 1, start_form=1)
    with pytest.raises(TypeError, match=r"resume\(\) got an unexpected keyword argument 'foo'"):
        pgbn.resume(tmp_path, foo=1)


def test_a_second_training_in_a_folder_is_refused(tmp_path: Path) -> None:
    """For as long as the first one runs, not only while it writes; a second resume likewise."""
    refused: list[str] = []

    def second(event: pgbn.Event) -> None:
        def attempt(begin: Any) -> None:
            with pytest.raises(pgbn.StorageError) as error:
                begin()
            refused.append(str(error.value))

        if event.done == 2:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(attempt, lambda: checkpoint.train(X, folder, 5, 1)).result()
                pool.submit(attempt, lambda: pgbn.resume(folder)).result()
        if event.done == 3:
            raise ZeroDivisionError

    folder = tmp_path / "m"
    options = {"burn_in": 3, "collect": 2, "sweeps": 1, "share": 1e9, "callback": second}
    with pytest.raises(ZeroDivisionError):
        checkpoint.train(X, folder, 5, 1, **options)
    pgbn.resume(folder)
    assert len(refused) == 2
    assert all(f"{folder}: another process is writing there" in text for text in refused)


def test_files_that_vanish_are_written_again(tmp_path: Path) -> None:
    """Of a checkpoint whose data file somebody removed, the next one has it."""
    whole = pgbn.train_layerwise(X, 5, 1, burn_in=4, collect=2, seed=1)

    def remove(event: pgbn.Event) -> None:
        if event.done in (2, 4):
            for file in tmp_path.glob("*.npz" if event.done == 2 else "data-*.npz"):
                file.unlink()
        if event.done == 5:
            raise ZeroDivisionError

    options = {"burn_in": 4, "collect": 2, "seed": 1, "sweeps": 1, "share": 1e9}
    with pytest.raises(ZeroDivisionError):
        checkpoint.train(X, tmp_path, 5, 1, callback=remove, **options)
    resumed = pgbn.resume(tmp_path)
    assert np.array_equal(resumed.deepest.phi[0], whole.deepest.phi[0])
    with pytest.warns(pgbn.PgbnWarning, match="finished already"):
        again = pgbn.resume(tmp_path / "model.json")
    assert np.array_equal(again.deepest.phi[0], whole.deepest.phi[0])
