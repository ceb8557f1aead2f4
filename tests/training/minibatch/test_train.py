"""Training on minibatches: the order of rows, results, checkpoints, errors."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.engine.run.chain import Interrupted
from pgbn.errors import DataError, PgbnWarning, StorageError
from pgbn.storage import archive
from pgbn.training.minibatch import train
from pgbn.training.minibatch.learner import Learner
from pgbn.training.minibatch.train import minibatches, shuffled
from tests.helpers.saved_kinds import DATA, MINIBATCH, read_body, sign, write_group, write_minibatch

RNG = np.random.default_rng(0)
TOPICS = RNG.dirichlet(np.full(20, 0.1), 4)
X, NEW = (RNG.poisson(30 * RNG.dirichlet(np.full(4, 0.2), rows) @ TOPICS) for rows in (120, 80))
SHORT: dict[str, Any] = {
    "batch_size": 16, "steps": 12, "average": 6, "keep_draws": 2, "local_burn_in": 3,
    "local_draws": 2, "progress": False, "show_every": 5,
}  # fmt: skip


class Stopped(Exception):
    """A process that ends."""


def same(one: pgbn.TrainedNetwork, other: pgbn.TrainedNetwork) -> None:
    for a, b in zip(one.phi, other.phi, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.r, other.r)
    np.testing.assert_array_equal(one.draws["phi1"], other.draws["phi1"])
    for name, trace in one.traces.items():
        np.testing.assert_array_equal(trace, other.traces[name])


def test_topics_are_found(tmp_path) -> None:
    """As good as those of Gibbs sampling, up to 3 %; and what the model can do."""
    model = pgbn.train_minibatch(X, (6, 4), batch_size=30, steps=80, average=30, keep_draws=10,
                                 progress=False, held_out=NEW[:40], show_every=40)  # fmt: skip
    gibbs = pgbn.train_layerwise(X, (6, 4), 2, burn_in=100, sweeps=30, keep_draws=10, min_width=1,
                                 progress=False).deepest  # fmt: skip
    best, found = (pgbn.HeldOut.of_model(each, NEW, burn_in=100, draws=100).perplexity()
                   for each in (gibbs, model))  # fmt: skip
    assert found < 1.03 * best
    assert model.widths == (6, 4)
    assert list(model.traces["sweep"]) == [40, 80]
    assert model.traces["perplexity"][1] < 20
    assert 0.5 < model.weights[0].sum() / X.sum() < 2
    assert model.infer(X[:3], burn_in=5, draws=5).features(2).shape == (3, 4)
    assert model.report(tmp_path / "page.html").exists()
    pgbn.save(model, tmp_path / "model")
    np.testing.assert_array_equal(pgbn.load(tmp_path / "model").phi[1], model.phi[1])


@pytest.mark.parametrize("step", [5, 12])
def test_a_signal_saves(tmp_path, step: int) -> None:
    """In the last step as in others, though no checkpoint was due; what was saved is the whole."""

    def end(event: pgbn.MinibatchEvent) -> None:
        if event.step == step:
            os.kill(os.getpid(), signal.SIGTERM)

    arguments = {"save": tmp_path / "run", "minutes": None, **SHORT}
    with pytest.raises(Interrupted, match="saved"):
        pgbn.train_minibatch(X, (4, 3), callback=end, **arguments)
    seen: list[int] = []
    result = pgbn.train_minibatch(X, (4, 3), callback=lambda e: seen.append(e.step), **arguments)
    assert seen == list(range(step + 1, 13))
    same(result, pgbn.train_minibatch(X, (4, 3), **SHORT))


def test_memory_or_folder_threads_and_stops_leave_the_bits(tmp_path) -> None:
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus", vocabulary=[f"w{v}" for v in range(20)])
    whole = pgbn.train_minibatch(X, (4, 3), held_out=X[:9], **SHORT)
    same(whole, pgbn.train_minibatch(corpus, (4, 3), held_out=X[:9], threads=2, **SHORT))
    arguments = {"save": tmp_path / "run", "minutes": 0, "held_out": X[:9], **SHORT}
    for last in (3, 9):

        def stop(event: pgbn.MinibatchEvent, last: int = last) -> None:
            if event.step == last:
                raise Stopped

        with pytest.raises(Stopped):
            pgbn.train_minibatch(corpus, (4, 3), callback=stop, **arguments)
        with pytest.raises(StorageError, match="has not ended"):
            pgbn.load(tmp_path / "run")
    seen: list[int] = []
    result = pgbn.train_minibatch(corpus, (4, 3), callback=lambda e: seen.append(e.step),
                                  **arguments)  # fmt: skip
    assert seen == [9, 10, 11, 12]
    same(whole, result)
    assert list(result.vocabulary or ()) == corpus.vocabulary
    same(whole, pgbn.train_minibatch(corpus, (4, 3), **arguments))  # it is finished
    same(whole, pgbn.load(tmp_path / "run"))
    with pytest.raises(DataError, match="another trained, with another model"):
        pgbn.train_minibatch(corpus, (4, 2), **arguments)
    with pytest.raises(DataError, match="with another data"):
        pgbn.train_minibatch(X[:50], (4, 3), **arguments)


@pytest.mark.parametrize("link", ["bernoulli", "gamma"])
def test_other_links(link) -> None:
    data = (X > 0).astype(int) if link == "bernoulli" else sp.csr_array(X * 0.5)
    model = pgbn.train_minibatch(data, (4, 3), link=link, **SHORT)
    assert model.link == link
    assert (model.noise != 1.0) == (link == "gamma")


def test_what_is_shown(capsys) -> None:
    pgbn.train_minibatch(X, 3, held_out=X[:9], **{**SHORT, "progress": True})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"step {n} of 12" for n in (5, 10, 12)]
    assert "held-out perplexity" in lines[0]


@pytest.mark.parametrize(("arguments", "words"), [
    ({"decay": 0.4}, "decay=0.4: give a number above 0.5"),
    ({"delay": 0}, "delay=0"),
    ({"first_step": 2.0}, "first_step=2.0"),
    ({"average": 13}, "average=13 must be at most steps=12"),
    ({"average": None, "keep_draws": 7}, "keep_draws=7 must be at most average=6"),
    ({"keep_draws": 7}, "keep_draws=7 must be at most average=6"),
    ({"batch_size": 0}, "batch_size"),
    ({"eta": -1.0}, "eta"),
    ({"local_draws": 0}, "local_draws"),
    ({"widths": 3.5}, "widths=3.5 must be an integer"),
    ({"widths": (3, 0)}, r"widths=\(3, 0\) must hold integers"),
    ({"held_out": -X}, "held_out: the data have negative values"),
    ({"held_out": X[:, :7]}, "held_out has 7 columns, but X has 20 terms"),
    ({"held_out": 0 * X}, "held_out has no counts"),
    ({"minutes": -1, "save": "run"}, "minutes=-1: give a number"),
])  # fmt: skip
def test_wrong_arguments(arguments, words, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Learner, "begin", lambda *_: pytest.fail("work before the error"))
    with pytest.raises(DataError, match=words):
        pgbn.train_minibatch(X, **{"widths": (4, 3), **SHORT, **arguments})


def test_wrong_data() -> None:
    with pytest.raises(DataError, match="X: the data have negative values"):
        pgbn.train_minibatch(-X, (4, 3), **SHORT)
    with pytest.warns(PgbnWarning, match="X has no counts"):
        pgbn.train_minibatch(0 * X, (4, 3), **SHORT)


# ---- rows in shuffled order: each once an epoch, by the seed alone, from any minibatch on ----


ROWS = 53


@pytest.fixture(params=["memory", "folder"])
def corpus(request, tmp_path, monkeypatch) -> pgbn.Corpus:
    X = sp.csr_array(np.arange(1, ROWS + 1)[:, None])  # a row tells its number
    if request.param == "memory":
        return pgbn.Corpus(X, None, [])
    monkeypatch.setattr(train, "TOGETHER", 3)
    return pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=5)


def numbers(batches) -> np.ndarray:
    return np.concatenate([batch.toarray()[:, 0] for batch in batches])


def test_an_epoch_has_every_row_once_and_the_next_another_order(corpus) -> None:
    found = numbers(islice(minibatches(corpus, 10, seed=1), 11))[: 2 * ROWS]
    first, second = found[:ROWS], found[ROWS:]
    assert sorted(first) == sorted(second) == list(range(1, ROWS + 1))
    assert (first != second).sum() > ROWS / 2
    assert (first != np.arange(1, ROWS + 1)).sum() > ROWS / 2
    other = numbers(islice(minibatches(corpus, 10, seed=2), 6))[:ROWS]
    assert (first != other).any()


@pytest.mark.parametrize("start", [0, 1, 5, 9, 40])
def test_minibatches_from_any_one_on(corpus, start) -> None:
    whole = numbers(islice(minibatches(corpus, 7, seed=3), start + 12))
    part = numbers(islice(minibatches(corpus, 7, seed=3, start=start), 12))
    np.testing.assert_array_equal(part, whole[7 * start :])


def test_orders_are_uniform() -> None:
    """Each of the 6 orders of 3 about as often: χ² with 5 degrees of freedom."""
    found = [tuple(shuffled(3, 9, number)) for number in range(6000)]
    counts = np.array([found.count(each) for each in set(found)])
    assert counts.size == 6
    assert ((counts - 1000) ** 2 / 1000).sum() < 25  # P < 1.4e-4


# ---- checkpoints that were forged, with checksums that are right ----


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("stopped")
    write_minibatch(place)
    return place / "minibatch"


def forged(stopped: Path, change: Callable[[Any, dict[str, Any]], Any], place: Path) -> Path:
    target = place / "minibatch"
    shutil.copytree(stopped, target)
    body = read_body(target)
    arrays = {name: np.array(a) for name, a in archive.read_arrays(target, body, "state").items()}
    change(body["content"]["object"], arrays)
    write_group(target, body, "state", arrays)
    sign(target, body)
    return target


def go_on(folder: Path) -> Any:
    return pgbn.train_minibatch(DATA, [3, 2], **MINIBATCH, save=folder)


def test_it_goes_on_where_it_was(stopped: Path, tmp_path: Path) -> None:
    again = go_on(forged(stopped, lambda content, arrays: None, tmp_path))
    whole = pgbn.train_minibatch(DATA, [3, 2], **MINIBATCH)
    assert np.array_equal(again.phi[0], whole.phi[0])
    assert np.array_equal(again.draws["r"], whole.draws["r"])


CHANGES: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "steps, all done": lambda content, arrays: content.update(steps=6),
    "steps, negative": lambda content, arrays: content.update(steps=-1),
    "steps, endless": lambda content, arrays: content.update(steps=float("inf")),
    "draws, more than there are": lambda content, arrays: content.update(kept=10**12),
    "values, of a shape": lambda content, arrays: arrays.update({"values/phi1": np.ones((3, 8))}),
    "values, none": lambda content, arrays: arrays.pop("values/r"),
    "values, NaN": lambda content, arrays: arrays["values/r"].fill(np.nan),
    "values, whole": lambda content, arrays: arrays.update({"values/r": np.ones(2, np.int64)}),
    "counts, of a shape": lambda content, arrays: arrays.update({"counts/phi2": np.ones(3)}),
    "counts, negative": lambda content, arrays: arrays["counts/phi1"].fill(-1.0),
    "counts, huge": lambda content, arrays: arrays["counts/phi1"].fill(1e300),
    "exposures, infinite": lambda content, arrays: arrays["exposures/r"].fill(np.inf),
    "exposures, none": lambda content, arrays: arrays.pop("exposures/phi1"),
    "sums, of a shape": lambda content, arrays: arrays.update({"sum/phi1": np.ones((2, 9))}),
    "sums, of ten steps": lambda content, arrays: arrays["sum/phi1"].__imul__(10.0),
    "draws, of a shape": lambda content, arrays: arrays.update({"kept/0/phi1": np.ones((2, 9))}),
    "rows, none": lambda content, arrays: arrays.pop("rows"),
    "rows, of one": lambda content, arrays: arrays.update({"rows": np.ones(3)}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_no_learner_has_is_refused_before_any_step(
    stopped: Path, name: str, tmp_path: Path
) -> None:
    """Some of it ended in errors of numpy, some in NaN, and some was believed."""
    with pytest.raises(
        pgbn.StorageError, match=r"minibatch: .*damaged|not what this pgbn can read"
    ):
        go_on(forged(stopped, CHANGES[name], tmp_path))


@pytest.mark.parametrize("settings", [3, "a", [], {}, None])
def test_settings_of_another_kind(stopped: Path, settings: Any, tmp_path: Path) -> None:
    folder = forged(stopped, lambda place, arrays: None, tmp_path)
    body = read_body(folder)
    body["content"].update(settings=settings, record=settings)
    sign(folder, body)
    with pytest.raises(pgbn.DataError, match="there is another minibatch"):
        go_on(folder)
