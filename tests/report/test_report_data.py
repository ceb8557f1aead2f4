"""From draws, trained networks, trainings and estimators to what a report shows."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn import plot, zoo
from pgbn.cli import run_command as main
from pgbn.engine.run.draws import Draws
from pgbn.errors import DataError
from pgbn.evaluation import HeldOut
from pgbn.report import report_data
from pgbn.report.data import Series
from pgbn.report.page import report_html
from pgbn.training import LayerwiseTraining, train_layerwise
from tests.helpers.report_models import trained, vocabulary
from tests.helpers.trained import model_of

# ---- trained belief networks --------------------------------------------------------------------


def test_report_data_is_the_model() -> None:
    model = trained()
    data = report_data(model, vocabulary=vocabulary(), max_width=20)
    assert data.widths == (12, 6, 3)
    assert data.budget == (20, 12, 6)
    psi = model.deepest.phi[2] @ model.deepest.phi[1] @ model.deepest.phi[0]
    np.testing.assert_allclose(data.project(3), psi)
    leading = np.argsort(-psi[1], kind="stable")[:4]
    assert data.words(3, 1, 4) == [vocabulary()[v] for v in leading]
    np.testing.assert_allclose([weight.sum() for weight in data.weights], 1.0)
    units = model.deepest.state["theta2"]
    np.testing.assert_allclose(data.theta[1], units / units.sum(axis=1, keepdims=True))
    assert data.stages == ((40.0, "layer 2"), (80.0, "layer 3"))
    assert data.series[0].sweeps[-1] == 120.0
    assert data.series[0].values.shape == (1, 60)
    assert data.series[0].settled == 50  # the second half of the last stage
    assert data.title == "Topics of 80 documents"
    assert report_data(model, title="Mine").title == "Mine"
    rows = {row[0]: row[3] for row in data.nodes}
    assert rows["x"] == "observed"
    assert rows["phi1"].endswith(f"mean {1 / 60:.4g}")
    assert data.simplexes == (), "topics are shown in sections of their own"


def test_active_topics_are_those_with_counts() -> None:
    model = trained((4,)).deepest
    phi = model.phi[0].copy()
    phi[2] = 1.0 / phi.shape[1]  # (η + 0) / Σ(η + 0)
    flat = model.of_topics(phi=(phi,), r=model.r, c=model.c)
    assert report_data(flat).active[0].tolist() == [True, True, False, True]
    assert report_data(flat).theta == ()


def test_series_of_several_chains() -> None:
    data = report_data([trained(seed=1), trained(seed=2), trained(seed=3)])
    assert data.series[0].values.shape == (3, 60)
    assert data.settings["chains"] == 3
    draws = np.random.default_rng(0).normal(size=(2, 20)) + np.array([[0.0], [9.0]])
    apart = Series("apart", np.arange(20.0), draws)
    assert apart.rhat > 1.5 > data.series[0].rhat
    assert apart.ess < data.series[0].ess


def test_of_a_real_training_and_of_inferred_documents() -> None:
    """Documents in any form that training takes."""
    pandas = pytest.importorskip("pandas")
    counts = np.random.default_rng(0).poisson(0.4, (30, 20))
    model = train_layerwise(counts, 5, 2, burn_in=4, sweeps=4, min_width=1, threads=1)
    bare = model.deepest.without_state()
    assert report_data(bare).theta == ()
    expected = report_data(bare, counts)
    np.testing.assert_allclose(expected.theta[0].sum(axis=1), 1.0)
    assert expected.depth == model.deepest.depth
    frame = pandas.DataFrame(counts, columns=[f"w{v}" for v in range(20)])
    for X in (frame, counts.tolist(), sp.csc_matrix(counts)):
        for each, theta in ((bare, expected.theta), (model, report_data(model).theta)):
            data = report_data(each, X)
            assert (data.size, data.settings["documents"]) == (30, 30)
            assert data.settings["tokens"] == counts.sum()
            np.testing.assert_array_equal(data.theta[0], theta[0])
    with pytest.raises(DataError, match=r"^X: "):
        report_data(model, [["a", "b"]])
    fitted = pgbn.PGBN(5, 2, burn_in=3, sweeps=3, random_state=0).fit(counts)
    data = report_data(fitted)
    assert (data.widths, data.budget[0]) == (fitted.widths_, 5)
    np.testing.assert_array_equal(data.phi[0], fitted.components_)


def test_held_out_perplexity_of_every_depth() -> None:
    X = np.random.default_rng(0).poisson(0.3, (12, 60))
    chain = trained()
    data = report_data(chain, held_out=X, seed=4)
    assert [depth for depth, _ in data.held_out] == [1, 2, 3]
    again = HeldOut.of_model(chain.models[1], X, burn_in=50, draws=50, seed=4)
    assert data.held_out[1][1] == again.perplexity()
    shown = f"{data.held_out[0][1]:.4g} with 1 layer, {data.held_out[1][1]:.4g} with 2 layers"
    assert shown in report_html(data)
    assert "No held-out documents were given" in report_html(chain)


def begun_late(training: LayerwiseTraining, start: float) -> LayerwiseTraining:
    """A training whose last trace begins after some sweeps of its top layer."""
    deepest = training.deepest
    late = deepest.traces["sweep"] > start
    traces = {name: values[late] for name, values in deepest.traces.items()}
    return replace(training, models=(*training.models[:-1], replace(deepest, traces=traces)))


def test_a_trace_that_begins_late() -> None:
    data = report_data(begun_late(trained(), 20))
    sweeps = data.series[0].sweeps
    assert sweeps[40] == 80 + 22
    assert data.series[0].settled == 45  # the second half of what there is
    assert sweeps.size == 50
    assert data.series[1].name == "active topics of the top layer"
    nothing = report_data(begun_late(trained(), 99))
    assert nothing.series[0].settled == nothing.series[0].sweeps.size == 40
    model = trained()  # what is from before merging has not settled
    marks = {"before_merging": (np.arange(20) < 17).astype(float)}
    merged = replace(model.deepest, traces={**model.deepest.traces, **marks})
    data = report_data(replace(model, models=(*model.models[:-1], merged)))
    assert [each.name for each in data.series] == [each.name for each in report_data(model).series]
    assert data.series[0].settled == 57


def test_chains_are_compared_at_the_same_sweeps() -> None:
    """One of them was merged and has a trace that begins late, or was run for longer."""
    first, second = trained(seed=1), trained(seed=2)
    for chains in ([first, begun_late(second, 20)], [begun_late(first, 20), second]):
        series = report_data(chains).series[0]
        assert series.sweeps[38:42].tolist() == [78, 80, 102, 104]
        assert series.values.shape == (2, 50)
        assert series.settled == 45
        for chain, values in zip((first, second), series.values, strict=True):
            every = report_data(chain).series[0]
            kept = np.isin(every.sweeps, series.sweeps)
            np.testing.assert_array_equal(values, every.values[0][kept])


def test_the_settings_repeat_the_run() -> None:
    arguments = {"max_width": "9", "depth": 2, "burn_in": "[4, 3]", "sweeps": 2, "seed": 5,
                 "link": "poisson", "min_width": 1, "note": "not an argument"}  # fmt: skip
    code = report_data(trained(), settings=arguments).repeat
    assert "note" not in code
    run = {"X": np.random.default_rng(0).poisson(0.4, size=(30, 20))}
    exec(code, run)
    assert run["model"].deepest.sweeps == 4 + 2 + 3 + 2
    assert "duplicate" not in code
    assert report_data(trained()).repeat == ""
    stopped = {"training stopped": "depth 2 reached; duplicates were merged, 9-4 to 9-3"}
    code = report_data(trained(), settings={**arguments, **stopped}).repeat
    assert code.endswith(
        "# then duplicate topics were merged, as\n# pgbn fit and pgbn.PGBN do by default"
    )


# ---- draws of any network -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def run():
    network = zoo.lda(3)
    x = np.random.default_rng(0).poisson(1.0, (5, 4))
    return network, network.sample({"x": x}, burn_in=2, draws=6, thin=2, chains=2, progress=False)


def test_traces_do_not_depend_on_the_numbering_of_topics(run) -> None:
    network, draws = run
    order = [2, 0, 1]
    swapped = {"phi": draws["phi"][:, :, order], "theta": draws["theta"][..., order]}
    other = report_data(Draws(swapped, draws.dims, draws.attributes, network=network))
    for one, two in zip(report_data(draws).series, other.series, strict=True):
        assert one.name == two.name
        np.testing.assert_allclose(one.values, two.values)


def test_quantities_and_names_of_draws(run) -> None:
    _, draws = run
    terms = ["ant", "bee", "cow", "dog"]
    data = report_data(draws, coords={"term": terms})
    series = {each.name: each for each in data.series}
    assert set(series) == {"mean Σp² of theta", "mean Σp² of phi"}
    squares = (draws["theta"] ** 2).sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(series["mean Σp² of theta"].values, squares)
    np.testing.assert_array_equal(series["mean Σp² of theta"].sweeps, [4, 6, 8, 10, 12, 14])
    simplexes = {each.name: each for each in data.simplexes}
    assert simplexes["phi"].columns == tuple(terms)
    assert simplexes["phi"].rows == ("topic 0", "topic 1", "topic 2")
    np.testing.assert_allclose(simplexes["phi"].mean, draws["phi"][0].mean(axis=0))
    assert simplexes["theta"].columns == ("0", "1", "2")


def test_every_node_has_a_row_and_settings_are_listed(run) -> None:
    network, draws = run
    data = report_data(draws, settings={"source": "letters"})
    assert [row[0] for row in data.nodes] == list(network.nodes)
    assert {row[0]: row[3] for row in data.nodes}["x"] == "observed"
    expected = {"chains": 2, "draws of each": 6, "source": "letters", "data x": "5 doc × 4 term"}
    assert expected.items() <= data.settings.items()
    assert "unfinished" not in data.settings
    assert data.title == "Posterior draws"
    x = np.ones((2, 3), int)
    only = network.sample({"x": x}, burn_in=0, draws=2, keep="phi", progress=False)
    assert {row[0]: row[3] for row in report_data(only).nodes}["theta"] == "not kept"


def test_what_cannot_be_shown_is_rejected(run) -> None:
    network, draws = run
    with pytest.raises(
        DataError, match=r"do not contain their network; take those that net.sample"
    ):
        report_data(Draws(draws.arrays, draws.dims))
    with pytest.raises(DataError, match=r"coords: 2 labels along 'term', but its size is 4"):
        report_data(draws, coords={"term": ["a", "b"]})
    none = {name: value[:, :0] for name, value in draws.arrays.items()}
    with pytest.raises(DataError, match="none was kept so far"):
        report_data(Draws(none, draws.dims, network=network))
    stopped = Draws(draws.arrays, draws.dims, draws.attributes, interrupted=True, network=network)
    assert "the draws so far" in report_data(stopped).settings["unfinished"]


def test_a_run_in_a_folder_is_read_block_by_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node is never read at once: it may be larger than memory."""
    network, x = zoo.pfa(2), np.random.default_rng(0).poisson(1.0, (5, 4))
    options = {"burn_in": 1, "draws": 7, "chains": 2, "progress": False}
    monkeypatch.setattr("pgbn.engine.run.sampling.BLOCK_BYTES", 1)  # a block for each draw
    network.sample({"x": x}, **options, save=tmp_path / "run")
    saved = pgbn.load(tmp_path / "run")
    assert all(len(starts) > 1 for starts in saved.arrays.layout["phi1"])
    monkeypatch.setattr(type(saved.arrays), "_stack", lambda *_: pytest.fail("read at once"))
    one, two = report_data(saved), report_data(network.sample({"x": x}, **options))
    assert one.nodes == two.nodes
    for a, b in zip(one.series, two.series, strict=True):
        np.testing.assert_allclose(a.values, b.values)
    np.testing.assert_allclose(one.phi[0], two.phi[0])
    np.testing.assert_allclose(one.theta[0], two.theta[0])


def test_draws_of_a_belief_network_have_topics() -> None:
    network = zoo.pgbn([5, 3])
    X = np.random.default_rng(0).poisson(0.5, size=(12, 9))
    options: Any = {"seed": 4, "threads": 1, "progress": False}
    names = {"term": list("abcdefghi")}
    draws = network.sample({"x": X}, burn_in=2, draws=6, chains=2, coords=names, **options)
    data = report_data(draws)
    assert data.widths == (5, 3)
    assert data.title == "Topics of 12 documents"
    assert data.vocabulary == names["term"]
    np.testing.assert_allclose(data.phi[0], draws["phi1"][0].mean(axis=0))
    shares = draws["theta2"][0] / draws["theta2"][0].sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(data.theta[1], shares.mean(axis=0))
    named = {series.name: series for series in data.series}
    np.testing.assert_array_equal(named["gamma0"].values, draws["gamma0"])
    np.testing.assert_allclose(named["total of r"].values, draws["r"].sum(axis=-1))
    np.testing.assert_allclose(named["total of theta1"].values, draws["theta1"].sum(axis=(-1, -2)))
    assert data.settings["seed"] == 4
    assert report_data(draws, names=list("abcdefghijkl")).name_of(3) == "d"
    few = network.sample({"x": X}, burn_in=0, draws=1, keep=["r"], **options)
    assert report_data(few).phi == ()


# ---- networks of another family -----------------------------------------------------------------

rng = np.random.default_rng(0)
DATA = {"words": rng.poisson(0.5, (30, 12)), "tags": rng.random((30, 4)) < 0.3}


@pytest.fixture(scope="module")
def training() -> Any:
    return pgbn.train_layerwise(
        DATA, 6, 2, burn_in=3, sweeps=4, keep_draws=2, trace_every=1, progress=False,
        family=lambda widths: zoo.multimodal(widths, {"words": "poisson", "tags": "bernoulli"}),
    )  # fmt: skip


def test_the_topics_and_the_traces_of_a_family(training: Any) -> None:
    grown = training.deepest
    data = report_data(grown)
    assert {each.name for each in data.simplexes} >= {"phi1_words", "phi1_tags", "phi2"}
    shown = next(each for each in data.simplexes if each.name == "phi1_words")
    np.testing.assert_allclose(shown.mean, grown.draws["phi1_words"].mean(axis=0))
    assert data.series[0].name == "log likelihood"
    np.testing.assert_array_equal(data.series[0].values[0], grown.traces["log_likelihood"])
    assert data.settings["layer widths"] == " – ".join(map(str, training.widths))
    without = next(each for each in report_data(replace(grown, draws={})).simplexes
                   if each.name == "phi1_words")  # fmt: skip
    np.testing.assert_allclose(without.mean, grown.means["phi1_words"])
    assert report_data(training).stages == ((float(training[1].sweeps), "layer 2"),)


def test_the_method_and_the_command(
    training: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coords = {"term_words": [f"w{i}" for i in range(12)]}
    text = training.report(tmp_path / "a.html", title="Words & tags", coords=coords).read_text()
    assert "<title>Words &amp; tags</title>" in text
    assert "<bdi>w3</bdi>" in text
    pgbn.save(training, tmp_path / "model")
    assert main(["report", str(tmp_path / "model"), "-o", str(tmp_path / "b.html")]) == 0
    assert "phi1_tags" in (tmp_path / "b.html").read_text()
    two = [
        "report",
        str(tmp_path / "model"),
        str(tmp_path / "model"),
        "-o",
        str(tmp_path / "c.html"),
    ]
    assert main(two) == 1
    assert "give one folder" in capsys.readouterr().err


# ---- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "words"), [
    ({"vocabulary": "a string"}, "vocabulary: a string"), ({"names": set("ab")}, "names: a set"),
    ({"names": ["one"]}, "names: 1 names, but 80"), ({"texts": ["one"]}, "texts: 1 names, but 80"),
    ({"classes": ["one"]}, "classes: 1 entries for 80 documents"),
    ({"relevance": 2}, "relevance=2 must be a number from 0 to 1"),
    ({"dates": ["2019"]}, "dates: 1 entries for 80 documents"),
    ({"dates": ["soon"] * 80}, "'soon' of document 0 is not a date"),
])  # fmt: skip
def test_errors_name_the_argument(options, words) -> None:
    with pytest.raises(DataError, match=words):
        report_data(trained(), **options)


@pytest.mark.parametrize("name", ["X", "held_out", "vocabulary", "texts", "dates", "max_width"])
def test_what_only_topics_have_is_rejected_elsewhere(run, training, name) -> None:
    for model in (run[1], training):
        with pytest.raises(DataError, match=f"^{name}: only for .*omit it"):
            report_data(model, **{name: ["a"]})


def test_columns_without_documents_are_told() -> None:
    with pytest.warns(pgbn.PgbnWarning, match="texts, dates: not shown.*give them as X="):
        report_data(trained().deepest.without_state(), texts=["a"], dates=[2019])


def test_errors_of_the_model() -> None:
    with pytest.raises(DataError, match="model is dict"):
        report_data({})
    with pytest.raises(DataError, match="empty list"):
        report_data([])
    with pytest.raises(DataError, match=r"chains with \[20, 60\] terms"):
        report_data([trained(), trained(terms=20)])
    with pytest.raises(DataError, match="the model has 3 layers; give an integer from 1 to 3"):
        report_data(trained()).project(0)


X = np.random.default_rng(0).poisson(1.0, (12, 5))
KINDS: list[object] = [
    3.5, np.array([1, 2]), np.ones((12, 2)), {1, 2}, object(), int, [[1], [2, 3]], np.array(["a", "b"]),
]  # fmt: skip


@cache
def drawn() -> pgbn.Draws:
    network = zoo.pgbn([3, 2])
    return network.sample({"x": X}, burn_in=1, draws=2, chains=1, threads=1, progress=False)


MODEL = model_of(terms=5)
CALLS: dict[str, Any] = {
    **{
        name: lambda value, name=name: report_data(MODEL, X, **{name: value})
        for name in (
            "settings", "columns", "token_pattern", "dates", "classes", "title",
        )
    },
    "give": report_data,
    "coords": lambda value: report_data(drawn(), coords=value),
}  # fmt: skip
FIGURES: dict[str, Any] = {
    "layer": lambda value: plot.top_words(MODEL, value, 0),
    "topic": lambda value: plot.top_words(MODEL, 1, value),
    "top": lambda value: plot.top_words(MODEL, 1, 0, top=value),
    "links": lambda value: plot.topic_graph(MODEL, links=value),
    "ax": lambda value: plot.layer_widths(MODEL, 3 if value is None else value),
}


@pytest.mark.parametrize("name", [*CALLS, *FIGURES])
def test_values_of_another_kind(name: str) -> None:
    if name in FIGURES:
        pytest.importorskip("matplotlib")
    more = [-1, 10**400, "a", None] if name in FIGURES else []
    for value in [*KINDS, *more]:
        with pytest.raises(pgbn.PgbnError, match=rf"\b{name}\b"):
            (CALLS | FIGURES)[name](value)


@pytest.mark.parametrize("width", ["a", [], [3, 3, 3, 3], np.ones((2, 2)), {}, 10**400, -1, int])
def test_other_kinds_for_widths(width: object) -> None:
    with pytest.raises(pgbn.PgbnError, match="max_width"):
        report_data(MODEL, max_width=width)
