"""What layer-wise training is given: the right is taken, the wrong is refused before any work."""

from __future__ import annotations

import errno
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import checkpoint
from pgbn.errors import DataError
from pgbn.storage import folders
from pgbn.training.layerwise import LayerwiseTraining, trained_so_far
from pgbn.training.settings import Settings
from pgbn.training.trained import read_priors

X = np.random.default_rng(0).poisson(1.0, (60, 30))
QUICK: dict[str, Any] = {"burn_in": 6, "collect": 5, "progress": False, "threads": 1,
                         "trace_every": 2, "min_width": 1}  # fmt: skip


def no_work(event: Any) -> None:
    pytest.fail("refused only after a sweep")


@pytest.fixture(scope="module")
def trained() -> LayerwiseTraining:
    return pgbn.train_layerwise(X, 6, 2, **QUICK)


def test_a_training_can_be_gone_through(trained: LayerwiseTraining) -> None:
    assert [network.depth for network in trained] == [1, 2]
    assert len(trained) == 2
    assert trained[2] is trained.deepest
    with pytest.raises(DataError, match="no network of depth 0"):
        trained[0]
    assert LayerwiseTraining.deepest.__doc__
    assert LayerwiseTraining.widths.__doc__


# ---- X --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((5, 0), int), "X: .*empty"),
        (["some words", "more"], "X: data of dtype"),
        (None, "X: data of dtype object"),
        (3, r"X: data of shape \(\)"),
        ({"a": 1}, "X: data of dtype object"),
        ((row for row in X), "X: data of dtype object"),
        ([[1, 2], [3]], "X: .*unequal length"),
        (X[0], "X: data of shape"),
        (X - 5, "X: the data have"),
    ],
    ids=["0 columns", "texts", "None", "int", "dict", "generator", "ragged", "1-d", "negative"],
)
def test_odd_documents_are_refused_by_name(wrong: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pgbn.train_layerwise(wrong, 3, 1, callback=no_work, **QUICK)


def test_unusual_numbers_are_taken() -> None:
    pandas = pytest.importorskip("pandas")
    one = pgbn.train_layerwise(X, 3, 1, **QUICK).deepest
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for same in (X.astype(np.float16), X.tolist(), pandas.DataFrame(X).astype("Int64")):
            two = pgbn.train_layerwise(same, 3, 1, **QUICK).deepest
            assert np.array_equal(one.phi[0], two.phi[0])
        pgbn.train_layerwise(np.full((40, 40), 100, np.float16), 3, 1, **QUICK)  # sums to infinity
    frame = pandas.DataFrame(X).astype("Int64")
    frame.iloc[0, 0] = pandas.NA
    with pytest.raises(DataError, match="NaN"):
        pgbn.train_layerwise(frame, 3, 1, callback=no_work, **QUICK)


def test_no_counts_at_all_are_reported() -> None:
    with pytest.warns(pgbn.PgbnWarning, match="X has no counts"):
        pgbn.train_layerwise(X * 0, 3, 1, **QUICK)


# ---- numbers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eta": [0.1, np.inf]}, r"eta=\[0.1, inf\]"),
        ({"eta": np.nan}, "eta=nan"),
        ({"eta": [0.1, 0.1, 0.1]}, r"eta=\[0.1, 0.1, 0.1\]: .*each of 2 layers"),
        ({"burn_in": [5, 0]}, r"burn_in=\[5, 0\]"),
        ({"burn_in": (1, 2, 3)}, r"burn_in=\(1, 2, 3\): .*each of 2 layers"),
        ({"collect": np.ones((2, 2), int)}, "collect="),
        ({"average": 6}, "average=6 must be at most collect=5"),
        ({"average": 3, "collect": [4, 2]}, r"average=3 must be at most collect=\[4, 2\]"),
    ],
)
def test_numbers_are_checked_first(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        pgbn.train_layerwise(X, 3, 2, callback=no_work, **QUICK | arguments)


def test_arrays_give_a_number_for_each_layer() -> None:
    one, two = (
        pgbn.train_layerwise(X, 3, 2, eta=make([0.1, 0.2]), burn_in=make([3, 2]),
                             collect=make([2, 1]), min_width=1, progress=False)
        for make in (list, np.array)
    )  # fmt: skip
    assert two.deepest.eta == (0.1, 0.2)
    assert np.array_equal(one.deepest.r, two.deepest.r)


def test_what_was_trained_so_far_has_the_eta_of_its_layers() -> None:
    seen: list[LayerwiseTraining] = []

    settings = Settings.of(3, 2, eta=[0.1, 0.2])

    def look(event: pgbn.Progress) -> None:
        seen.append(trained_so_far(event, settings))

    pgbn.train_layerwise(X, 3, 2, eta=[0.1, 0.2], callback=look, **QUICK)
    assert {done.deepest.eta for done in seen} == {(0.1,), (0.1, 0.2)}


# ---- start_from and resume --------------------------------------------------------------


def test_a_beginning_that_does_not_fit(trained: LayerwiseTraining, tmp_path: Path) -> None:
    pgbn.save(pgbn.zoo.pfa(3), tmp_path / "network")
    partial = {name: value for name, value in trained.deepest.state.items() if name != "c3"}
    for start, data, depth, message in (
        (trained[1], X, 1, "start_from: this network has no state"),
        (trained[1], X, 2, "start_from: this network has no state"),
        (replace(trained.deepest, state=partial), X, 2, "start_from: this network has no state"),
        (trained, X, 1, "start_from: it has 2 layers, more than depth=1"),
        (trained, X[:30], 2, "start_from: trained on 60 documents, but X has 30"),
        (trained, X[:30], 3, "start_from: trained on 60 documents, but X has 30"),
        (trained, X[:, :20], 2, "start_from: trained on 30 terms, but X has 20"),
        (trained, X[:, :20], 3, "start_from: trained on 30 terms, but X has 20"),
        (trained, np.hstack([X, X]), 3, "start_from: trained on 30 terms, but X has 60"),
        (tmp_path / "network", X, 2, "start_from=.* holds a Network: give a trained network"),
        (pgbn.PGBN(3), X, 2, r"start_from=PGBN\(max_width=3\): give .*fitted estimator"),
    ):
        with pytest.raises(DataError, match=message):
            pgbn.train_layerwise(data, 6, depth, start_from=start, callback=no_work, **QUICK)


def test_a_fitted_estimator_is_a_beginning(tmp_path: Path) -> None:
    model = pgbn.PGBN(5, 1, burn_in=4, collect=2, link="poisson", random_state=0).fit(X)
    pgbn.save(model, tmp_path / "estimator")
    settings = {"seed": 7, **QUICK}
    one = pgbn.train_layerwise(X, 5, 2, start_from=model.training_, **settings)
    for start in (model, tmp_path / "estimator", str(tmp_path / "estimator")):
        two = pgbn.train_layerwise(X, 5, 2, start_from=start, **settings)
        assert np.array_equal(one.deepest.r, two.deepest.r)


@pytest.mark.filterwarnings("error::pgbn.PgbnWarning")
def test_a_beginning_keeps_its_eta_and_priors() -> None:
    priors = pgbn.Priors(gamma0=(2.0, 3.0))
    own: dict[str, Any] = {"eta": [0.01, 0.02], "priors": priors}
    first = pgbn.train_layerwise(X, 6, 2, **own, **QUICK)
    more = pgbn.train_layerwise(X, 6, 2, start_from=first, **QUICK).deepest
    assert (more.eta, more.priors) == ((0.01, 0.02), priors)
    deeper = pgbn.train_layerwise(X, 6, 4, start_from=first, **QUICK).deepest
    assert (deeper.eta, deeper.priors) == ((0.01, 0.02, 0.02, 0.02), priors)
    told = {**own, "eta": [0.01, 0.02, 0.02, 0.02]}
    same = pgbn.train_layerwise(X, 6, 4, start_from=first, **told, **QUICK).deepest
    assert np.array_equal(deeper.r, same.r)
    plain = pgbn.train_layerwise(X, 6, 1, **QUICK).deepest
    assert (plain.eta, plain.priors) == ((0.05,), pgbn.Priors())


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


def test_settings_that_differ_from_those_of_the_beginning(trained: LayerwiseTraining) -> None:
    width = trained.widths[0]
    for depth in (2, 3):
        with pytest.raises(DataError, match=rf"max_width={width - 1}: .* has {width} factors.*max"):
            pgbn.train_layerwise(X, width - 1, depth, start_from=trained, callback=no_work, **QUICK)
    assert pgbn.train_layerwise(X, 50, 3, start_from=trained, **QUICK).widths[0] == width
    changed = pgbn.train_layerwise(
        X, 6, 2, eta=0.2, priors=pgbn.Priors(c=(2.0, 2.0)), start_from=trained, **QUICK
    )
    assert changed.deepest.eta == (0.2, 0.2)
    assert changed.deepest.priors.c == (2.0, 2.0)


@pytest.mark.parametrize("rule", [{"min_width": 6}, {"min_count": 10**9}])
def test_the_rules_that_stop_hold_for_a_beginning(rule: dict[str, int], tmp_path: Path) -> None:
    first = pgbn.train_layerwise(X, 6, 3, **QUICK | rule)
    again = pgbn.train_layerwise(X, 6, 3, start_from=first, callback=no_work, **QUICK | rule)
    assert again.widths == first.widths == (6,)
    assert again.stopped == first.stopped
    assert again.deepest.state  # to go on from, with other rules
    assert len(pgbn.train_layerwise(X, 6, 2, start_from=again, **QUICK)) == 2
    saved = checkpoint.train(X, tmp_path / "m", 6, 3, start_from=first, **QUICK | rule)
    assert saved.stopped == first.stopped


def test_a_beginning_of_several_layers_has_at_most_the_counts_of_the_data(
    trained: LayerwiseTraining,
) -> None:
    few = pgbn.train_layerwise(
        X, 6, 3, start_from=trained, min_count=10**9, callback=no_work, **QUICK
    )
    assert few.stopped == f"layer 2 has at most {X.sum()} < {10**9} counts"


def test_resume_takes_what_a_callback_saw() -> None:
    with pytest.raises(DataError, match=r"resume=3: give the pgbn\.Progress"):
        pgbn.train_layerwise(X, 6, 2, resume=3, callback=no_work, **QUICK)  # type: ignore[arg-type]
    seen: list[pgbn.Progress] = []
    pgbn.train_layerwise(X, 6, 2, **QUICK | {"callback": seen.append})
    for data, depth in ((X[:30], 2), (X, 1)):
        with pytest.raises(DataError, match="resume: a training of layer 2"):
            pgbn.train_layerwise(data, 6, depth, resume=seen[-1], callback=no_work, **QUICK)


@pytest.mark.parametrize("depth", [1, 2])
def test_more_sweeps_go_on_with_the_trace(depth: int) -> None:
    """Eleven sweeps of the top layer, every second of them noted, then five more."""
    before = pgbn.train_layerwise(X, 6, depth, **QUICK)
    after = pgbn.train_layerwise(X, 6, depth, start_from=before, **QUICK).deepest
    assert after.traces["sweep"].tolist() == [2, 4, 6, 8, 10, 12, 14, 16]
    for name, old in before.deepest.traces.items():
        assert np.array_equal(after.traces[name][:5], old)
    again = pgbn.train_layerwise(X, 6, depth, start_from=after, **QUICK).deepest
    assert (np.diff(again.traces["sweep"]) == 2).all()
    assert again.traces["sweep"].size == 10


# ---- the sampler of the first layer -------------------------------------------------------


def samplers_of(data: Any, width: int, depth: int = 1, **arguments: Any) -> set[str]:
    seen: set[str] = set()

    def note(event: pgbn.Progress) -> None:
        seen.add(event.chain.layer1)

    pgbn.train_layerwise(data, width, depth, callback=note, **QUICK | arguments)
    return seen


LARGE = np.random.default_rng(1).poisson(100 * np.outer(np.ones(12), np.arange(1, 11)) / 5)


def test_auto_goes_by_the_cost_of_the_data_and_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    assert samplers_of(X, 6) == {"collapsed"}
    assert samplers_of(LARGE, 3) == {"blocked"}
    assert samplers_of(LARGE, 60) == {"collapsed"}
    assert samplers_of(LARGE, 3, layer1="collapsed") == {"collapsed"}
    monkeypatch.setattr("pgbn.training.layerwise.MOST_TOKENS", 100)
    assert samplers_of(X, 6) == {"blocked"}


def test_auto_takes_masked_cells() -> None:
    mask = np.random.default_rng(0).random(X.shape) < 0.1
    assert samplers_of(np.ma.masked_array(X, mask), 4) == {"composed"}
    assert samplers_of(np.ma.masked_array(X, mask & False), 4) == {"collapsed"}


def test_layer_by_layer_is_the_chain_of_one_go_though_the_first_layer_is_pruned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the first 40 topics "collapsed" is chosen, at those that are left "blocked" would be."""

    def for_fewer(counts: Any, documents: int, vocabulary: int, topics: int) -> bool:
        return topics < 40

    monkeypatch.setattr("pgbn.training.layerwise.blocked_is_cheaper", for_fewer)
    topics = np.random.default_rng(0).dirichlet([0.1] * 30, 3)
    data = np.random.default_rng(1).poisson(X[:, :3] @ topics * 8)
    settings = QUICK | {"burn_in": [80, 5]}
    seen: set[str] = set()
    whole = pgbn.train_layerwise(
        data, 40, 2, callback=lambda event: seen.add(event.chain.layer1), **settings
    )
    assert seen == {"collapsed"}
    assert whole.widths[0] < 40
    first = pgbn.train_layerwise(data, 40, 1, **settings | {"burn_in": 80})
    second = pgbn.train_layerwise(data, 40, 2, start_from=first, **settings)
    assert np.array_equal(whole.deepest.r, second.deepest.r)
    assert np.array_equal(whole.deepest.phi[0], second.deepest.phi[0])


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("at", [3, 14])
def test_a_resumed_training_has_the_sampler_it_had(
    tmp_path: Path, at: int, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another version of pgbn would choose otherwise."""
    data = np.ma.masked_array(LARGE, np.eye(*LARGE.shape, dtype=bool)) if masked else LARGE
    whole = pgbn.train_layerwise(data, 4, 2, **QUICK)

    def stop(event: pgbn.Progress) -> None:
        if event.done == at + 1:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        checkpoint.train(data, tmp_path, 4, 2, sweeps=1, share=1e9, **QUICK | {"callback": stop})
    monkeypatch.setattr("pgbn.training.layerwise.blocked_is_cheaper", lambda *sizes: False)
    resumed = pgbn.resume(tmp_path, progress=False)
    assert np.array_equal(resumed.deepest.r, whole.deepest.r)
    assert np.array_equal(resumed.deepest.phi[0], whole.deepest.phi[0])


# ---- checkpoints ------------------------------------------------------------------------


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


def test_an_estimator_that_gets_no_further_layer_needs_no_settings_for_it() -> None:
    model = pgbn.PGBN(3, 2, burn_in=[3, 2], collect=[2, 1], link="poisson", min_width=4,
                      random_state=0, warm_start=True)  # fmt: skip
    with pytest.warns(pgbn.PgbnWarning, match="the network has 1 layer"):
        before = model.fit(X).n_iter_
    with pytest.warns(pgbn.PgbnWarning, match="the network has 1 layer"):
        assert model.fit(X).n_iter_ == before + 2
    with pytest.raises(DataError, match=r"burn_in=\[3, 2, 1\]"):
        pgbn.PGBN(3, 2, burn_in=[3, 2, 1], link="poisson").fit(X)


# ---- names and settings of a training that goes on --------------------------------------

NAMES, OTHERS = (tuple(f"{letter}{v}" for v in range(30)) for letter in "wz")


def cut_at(done: int) -> Any:
    def cut(event: pgbn.Progress) -> None:
        if event.done == done:
            raise RuntimeError("power cut")

    return cut


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
    at = checkpoint.read_checkpoint(tmp_path)
    kept = {name: value for name, value in at.arguments.items() if name != "eta"}
    older = checkpoint.Checkpoints(tmp_path, kept | {"priors": None}, context=at.context)
    older.save(at.progress)
    resumed = pgbn.resume(tmp_path, progress=False, threads=1)
    assert (resumed.deepest.eta, resumed.deepest.priors) == ((0.05,) * 3, pgbn.Priors())
    assert np.array_equal(resumed.deepest.r, whole.deepest.r)


@pytest.mark.filterwarnings("error::pgbn.PgbnWarning")
def test_no_counts_are_not_reported_where_nothing_is_trained(trained: LayerwiseTraining) -> None:
    same = pgbn.train_layerwise(X * 0, 6, 3, start_from=trained, callback=no_work, **QUICK)
    assert len(same) == 2
    with pytest.raises(pgbn.PgbnWarning, match="X has no counts"):
        pgbn.train_layerwise(X * 0, 6, 2, start_from=trained, **QUICK)
