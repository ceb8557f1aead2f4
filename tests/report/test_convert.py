"""From trained networks, trainings, estimators and draws to what a report shows."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn as pg
from pgbn.errors import DataError
from pgbn.evaluation import completion_perplexity
from pgbn.report import Series, report_data, report_html
from pgbn.training import LayerwiseTraining, train_layerwise
from tests.helpers.report_models import texts, trained, vocabulary


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


def test_what_is_from_before_merging_has_not_settled() -> None:
    model = trained()
    marks = {"before_merging": (np.arange(20) < 17).astype(float)}
    merged = replace(model.deepest, traces={**model.deepest.traces, **marks})
    data = report_data(replace(model, networks=(*model.networks[:-1], merged)))
    assert [each.name for each in data.series] == [each.name for each in report_data(model).series]
    assert data.series[0].settled == 57


def test_active_topics_are_those_with_counts() -> None:
    model = trained((4,)).deepest
    phi = model.phi[0].copy()
    phi[2] = 1.0 / phi.shape[1]  # (η + 0) / Σ(η + 0)
    flat = type(model)(phi=(phi,), r=model.r, c=model.c)
    assert report_data(flat).active[0].tolist() == [True, True, False, True]
    assert report_data(flat).theta == ()


def test_several_chains() -> None:
    data = report_data([trained(seed=1), trained(seed=2), trained(seed=3)])
    assert data.series[0].values.shape == (3, 60)
    assert data.settings["chains"] == 3
    draws = np.random.default_rng(0).normal(size=(2, 20))
    draws[1] += 9
    apart = Series("apart", np.arange(20.0), draws)
    assert apart.rhat > 1.5 > data.series[0].rhat
    assert apart.ess < data.series[0].ess


def test_of_a_real_training_and_of_inferred_documents() -> None:
    X = sp.csr_array(np.random.default_rng(0).poisson(0.4, size=(30, 20)))
    model = train_layerwise(X, 5, 2, burn_in=4, collect=4, trace_every=1, min_width=1, threads=1)
    data = report_data(model, X)
    assert data.size == 30
    assert data.depth == model.deepest.depth
    assert data.settings["documents"] == 30
    inferred = report_data(model.deepest.without_state(), X)
    np.testing.assert_allclose(inferred.theta[0].sum(axis=1), 1.0)
    assert inferred.size == 30
    assert report_data(model.deepest.without_state()).theta == ()


def test_of_an_estimator() -> None:
    estimators = pytest.importorskip("pgbn.estimators", reason="scikit-learn is not installed")
    X = np.random.default_rng(0).poisson(0.4, size=(30, 20))
    model = estimators.PGBN(5, 2, burn_in=3, collect=3, random_state=0).fit(X)
    data = report_data(model)
    assert data.widths == model.widths_
    assert data.budget[0] == 5
    np.testing.assert_array_equal(data.phi[0], model.components_)


def test_errors_of_the_model() -> None:
    with pytest.raises(DataError, match="model is dict"):
        report_data({})
    with pytest.raises(DataError, match="empty list"):
        report_data([])
    with pytest.raises(DataError, match="layers are numbered from 1 to 3"):
        report_data(trained()).project(0)


def test_documents_in_any_form_that_training_takes() -> None:
    pandas = pytest.importorskip("pandas")
    counts = np.random.default_rng(0).poisson(1.0, (20, 12))
    frame = pandas.DataFrame(counts, columns=[f"w{v}" for v in range(12)])
    model = pg.train_layerwise(counts, max_width=4, depth=1, burn_in=3, collect=2, seed=0)
    bare = model.deepest.without_state()
    expected = report_data(bare, counts)
    for X in (frame, counts.tolist(), sp.csc_matrix(counts)):
        for trained_model, theta in ((bare, expected.theta), (model, report_data(model).theta)):
            data = report_data(trained_model, X)
            assert data.settings["documents"] == 20
            assert data.settings["tokens"] == counts.sum()
            np.testing.assert_array_equal(data.theta[0], theta[0])
    with pytest.raises(DataError, match=r"^X: "):
        report_data(model, [["a", "b"]])


def test_the_old_name_of_texts() -> None:
    with pytest.warns(DeprecationWarning, match="documents= is called texts= now"):
        data = report_data(trained(), documents=texts())
    assert data.texts == texts()


def test_held_out_perplexity_of_every_depth() -> None:
    X = np.random.default_rng(0).poisson(0.3, (12, 60))
    chain = trained()
    data = report_data(chain, held_out=X, seed=4)
    assert [depth for depth, _ in data.held_out] == [1, 2, 3]
    again = completion_perplexity(chain.networks[1], X, burn_in=50, samples=50, seed=4)
    assert data.held_out[1][1] == again.perplexity()
    html = report_html(data)
    assert (
        f"{data.held_out[0][1]:.4g} with 1 layer, {data.held_out[1][1]:.4g} with 2 layers" in html
    )
    assert "Held-out perplexity is not known here" in report_html(chain)


def test_a_title_of_its_own() -> None:
    assert report_data(trained()).title == "Topics of 80 documents"
    assert report_data(trained(), title="Mine").title == "Mine"


def begun_late(training: LayerwiseTraining, start: float) -> LayerwiseTraining:
    """A training whose last trace begins after some sweeps of its top layer."""
    deepest = training.deepest
    late = deepest.traces["sweep"] > start
    traces = {name: values[late] for name, values in deepest.traces.items()}
    return replace(training, networks=(*training.networks[:-1], replace(deepest, traces=traces)))


def test_a_trace_that_begins_late() -> None:
    data = report_data(begun_late(trained(), 20))
    sweeps = data.series[0].sweeps
    assert sweeps[40] == 80 + 22
    assert data.series[0].settled == 45  # the second half of what there is
    assert sweeps.size == 50
    assert "active topics of the top layer" in report_html(data)
    nothing = report_data(begun_late(trained(), 99))
    assert nothing.series[0].settled == nothing.series[0].sweeps.size == 40


def test_chains_are_compared_at_the_same_sweeps() -> None:
    """One of them was merged and has a trace that begins late, or was run for longer."""
    first, second = trained(seed=1), trained(seed=2)
    for chains in ([first, begun_late(second, 20)], [begun_late(first, 20), second]):
        series = report_data(chains).series[0]
        assert series.sweeps[38:42].tolist() == [78, 80, 102, 104]
        assert series.values.shape == (2, 50)
        assert series.settled == 45
        for chain, values in zip((first, second), series.values, strict=True):
            whole = report_data(chain).series[0]
            kept = np.isin(whole.sweeps, series.sweeps)
            np.testing.assert_array_equal(values, whole.values[0][kept])
