"""Hidden units of new documents: the independence of batches, the edges, unknown terms."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from pgbn.errors import DataError, PgbnWarning
from pgbn.report import report_data
from pgbn.training import LayerwiseTraining
from pgbn.training.new_rows import align_terms, infer
from pgbn.training.trained import TrainedNetwork
from pgbn.zoo import lda
from tests.helpers.documents import TERMS, model_of, quiet

# ---- a document's result is its own ---------------------------------------------------


def documents(n=40, seed=0):
    return sp.csr_array(np.random.default_rng(seed).poisson(0.8, (n, TERMS)))


@pytest.mark.parametrize("link", ["poisson", "gamma", "bernoulli"])
def test_no_batch_order_or_thread_changes_a_document(link):
    model = model_of(link)
    x = documents()
    x = {"poisson": x, "gamma": x * 0.5, "bernoulli": (x > 0).astype(int)}[link]
    settings, before = {"burn_in": 5, "draws": 5, "seed": 9}, x.copy()
    whole = quiet(model, x, threads=1, **settings)
    np.testing.assert_array_equal(x.toarray(), before.toarray())
    threaded = quiet(model, x, threads=2, **settings)
    order = np.random.default_rng(1).permutation(x.shape[0])
    shuffled = quiet(model, x[order], threads=2, **settings)
    single = [quiet(model, x[[row]].toarray(), **settings) for row in range(5)]
    for t in (1, 2, 3):
        for name in ("proportions", "means", "proportions_sd", "sd"):
            theta = f"theta{t}"
            expected = getattr(whole, name)[theta]
            np.testing.assert_array_equal(getattr(threaded, name)[theta], expected)
            np.testing.assert_array_equal(getattr(shuffled, name)[theta], expected[order])
            for row, one in enumerate(single):
                np.testing.assert_array_equal(getattr(one, name)[theta][0], expected[row])


def test_seed_and_counts_matter_and_equal_documents_agree():
    model = model_of()
    x = np.array([[1, 2, 0, 0, 3, 0, 0, 1], [1, 2, 0, 0, 3, 0, 0, 1], [2, 1, 0, 0, 3, 0, 0, 1]])
    found = infer(model, x, burn_in=5, draws=5)
    np.testing.assert_array_equal(found["theta1"][0], found["theta1"][1])
    assert (found["theta1"][0] != found["theta1"][2]).any()
    other = infer(model, x, burn_in=5, draws=5, seed=1)
    assert (found["theta1"] != other["theta1"]).any()


def test_layers_can_be_chosen():
    model = model_of()
    x = documents(5)
    all_layers = quiet(model, x, burn_in=3, draws=3)
    second = quiet(model, x, layers=2, burn_in=3, draws=3, units=False)
    assert second.layers == {2: "theta2"}
    np.testing.assert_array_equal(second.proportions["theta2"], all_layers.proportions["theta2"])
    assert second.means == {}
    for layer in (1, "2", [2]):
        with pytest.raises(DataError, match="was not inferred"):
            second.features(layer)
    assert all_layers.features().shape == (5, 9)
    np.testing.assert_array_equal(all_layers.features(3), all_layers.proportions["theta3"])
    np.testing.assert_allclose(all_layers.proportions["theta1"].sum(axis=1), 1.0)


# ---- edges ----------------------------------------------------------------------------


def test_an_empty_document_gets_the_prior_and_one_warning():
    model = model_of(widths=(4, 3), scale=1e-4)  # shapes so small that all units underflow
    x = np.zeros((3, TERMS), int)
    x[1, 2] = 4
    with pytest.warns(PgbnWarning, match="2 of 3 documents have no known term") as caught:
        found = infer(model, x, burn_in=200, draws=20_000)
    assert len(caught) == 1
    assert found.empty.tolist() == [0, 2]
    top = model.r / model.r.sum()
    np.testing.assert_allclose(found.proportions["theta2"][0], top, atol=0.02)
    np.testing.assert_allclose(found.proportions["theta1"][0], top @ model.phi[1], atol=0.02)
    np.testing.assert_array_equal(found.proportions["theta1"][0], found.proportions["theta1"][2])


def test_small_priors_of_the_paper_give_finite_numbers():
    model = TrainedNetwork.of_topics(model_of().phi, np.array([1e-5, 1e-9]), np.ones(3))
    x = np.zeros((3, TERMS), int)
    x[1, 2], x[2] = 1, 1000
    found = quiet(model, x, burn_in=50, draws=50)
    for values in (found.means, found.sd, found.proportions, found.proportions_sd):
        assert all(np.isfinite(value).all() for value in values.values())
    np.testing.assert_allclose(found.proportions["theta1"].sum(axis=1), 1.0)


def test_terms_that_are_rare_in_every_topic_are_labelled_by_ratios():
    """Only the ratios of a term's loadings matter, also where float32 has no such numbers."""
    found = []
    for rare in (1e-5, 1e-60):
        phi = np.array([[rare, 0.6, 0.4], [5 * rare, 0.4, 0.6]])
        phi[:, 1] += 1.0 - phi.sum(axis=1)
        model = TrainedNetwork.of_topics(
            (phi, np.array([[0.7, 0.3], [0.2, 0.8]])), np.ones(2), np.ones(2)
        )
        result = infer(model, np.array([[6, 2, 1]]), burn_in=500, draws=20_000)
        found.append(result.proportions["theta1"])
    np.testing.assert_allclose(found[0], found[1], atol=0.01)
    assert found[0][0, 1] > 0.7


def test_columns_go_by_position_or_name_and_others_are_dropped():
    model, few = model_of(), {"burn_in": 3, "draws": 3}
    names = [f"w{v}" for v in range(TERMS)]
    x = documents(6).toarray() + np.eye(6, TERMS, dtype=int)
    expected = infer(model, x, **few)["theta1"]
    wider = np.hstack([x, np.array([[1, 0, 2]] * 6)])
    with pytest.warns(PgbnWarning, match="2 unknown terms with 18 counts"):
        found = infer(model, wider, **few)
    assert (found.attributes["unknown_terms"], found.attributes["unknown_tokens"]) == (2, 18)
    np.testing.assert_array_equal(found["theta1"], expected)
    order = np.random.default_rng(0).permutation(TERMS)
    shuffled = np.hstack([x[:, order], np.ones((6, 1), int)])
    terms = [*(names[v] for v in order), "never seen"]
    columns = [{name: v for v, name in sorted(enumerate(given))[::-1]} for given in (terms, names)]
    for known, given in (
        (model, {"terms": terms, "vocabulary": names}),
        (model, {"terms": columns[0], "vocabulary": columns[1]}),
        (replace(model, vocabulary=names), {"terms": terms}),
    ):
        with pytest.warns(PgbnWarning, match="1 unknown terms with 6 counts"):
            found = infer(known, shuffled, **few, **given)
        np.testing.assert_array_equal(found["theta1"], expected)


@pytest.mark.parametrize(
    ("x", "arguments", "message"),
    [
        (np.ones((2, 5), int), {}, "5 columns, but the model has 8"),
        (np.ones((2, TERMS)) * 0.5, {}, "0.5|integer|whole"),
        (-np.ones((2, TERMS), int), {}, "negative"),
        (np.full((2, TERMS), np.nan), {}, "NaN"),
        (np.ones(TERMS, int), {}, "doc × term"),
        ([[1, 2], [3]], {}, "X: the data have rows of unequal length"),
        (np.ones((2, TERMS), int), {"layers": 4}, "an integer from 1 to 3"),
        (np.ones((2, TERMS), int), {"layers": 0}, "an integer from 1 to 3"),
        (np.ones((2, TERMS), int), {"layers": []}, r"layers=\[\]: give at least one"),
        (np.ones((2, TERMS), int), {"layers": "1"}, "layers='1'"),
        (np.ones((2, TERMS), int), {"layers": 1.5}, "layers=1.5"),
        (np.full((2, TERMS + 1), np.nan), {}, "NaN"),
        (np.ma.masked_equal(np.ones((2, TERMS + 1), int), 1), {}, "masked"),
        (sp.coo_array((2, 2**31)), {}, "2147483648 columns; give fewer"),
        (np.ones((2, 1), int), {"terms": 5, "vocabulary": ["a"] * TERMS}, "terms: a int"),
        (np.ones((2, 1), int), {"terms": {"a"}, "vocabulary": ["a"] * TERMS}, "terms: a set"),
        (np.ones((2, 1), int), {"terms": ["a"], "vocabulary": "abcdefgh"}, "vocabulary: a string"),
        (np.ones((2, TERMS), int), {"draws": 0}, "draws=0"),
        (np.ones((2, TERMS), int), {"burn_in": -1}, "burn_in=-1"),
        (np.ones((2, TERMS), int), {"terms": ["a"]}, "give both"),
        (np.ma.masked_equal(np.ones((2, TERMS), int), 1), {}, "masked"),
    ],
)
def test_bad_input_is_named(x, arguments, message):
    with pytest.raises(DataError, match=message):
        infer(model_of(), x, **arguments)


def test_masked_arrays_are_advised_only_where_they_work():
    """A chain imputes masked cells of counts; inference and other data do not."""
    x = np.full((2, TERMS), np.nan)
    for call in (lambda: infer(model_of(), x), lambda: infer(model_of(), sp.csr_array(x)),
                 lambda: lda(2).chain({"x": x})):  # fmt: skip
        with pytest.raises(DataError, match="NaN values; give finite numbers"):
            call()
    with pytest.raises(DataError, match="masked_array"):
        model_of().network.chain({"x": x})


def test_warnings_point_at_the_users_line():
    """Also through scikit-learn, which wraps `transform`, and through other parts of pgbn."""
    estimators = pytest.importorskip("pgbn.estimators")
    x = np.zeros((3, TERMS), int)
    x[0, 0] = 5
    training = LayerwiseTraining((model_of(),), "")
    model = estimators.PGBN(transform_burn_in=1, transform_draws=1)
    model.training_, model.models_, model.widths_ = training, training.models, (4, 3, 2)
    model.n_features_in_, model._seed, model.link_ = TERMS, 0, "poisson"
    for run in (
        lambda: infer(model_of(), x, burn_in=1, draws=1),
        lambda: model.transform(x),
        lambda: report_data(model_of(), x),
    ):
        with pytest.warns(PgbnWarning, match="no known term") as caught:
            run()
        assert caught[0].filename == __file__


# ---- unknown terms --------------------------------------------------------------------


@pytest.mark.parametrize("link", ["poisson", "bernoulli", "gamma"])
def test_terms_that_no_topic_has_are_unknown(link):
    phi = np.array([[0.5, 0.5, 0.0, 0.0, 0.0], [0.1, 0.4, 0.0, 0.5, 0.0]])
    model = TrainedNetwork.of_topics((phi,), np.ones(2), np.ones(1), link=link)
    x = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 0, 1], [0, 1, 0, 1, 0]])
    known = x.copy()
    known[:, [2, 4]] = 0
    with pytest.warns(PgbnWarning) as caught:
        found = infer(model, x, burn_in=3, draws=3)
    message = "X: 2 unknown terms with 3 counts were dropped: no topic of the model has column 2, …"
    assert [str(each.message) for each in caught][:1] == [message]
    assert (found.attributes["unknown_terms"], found.attributes["unknown_tokens"]) == (2, 3)
    assert found.empty.tolist() == [1]
    with pytest.warns(PgbnWarning, match="no known term"):
        expected = infer(model, known, burn_in=3, draws=3)
    np.testing.assert_array_equal(found["theta1"], expected["theta1"])
    with pytest.warns(PgbnWarning):  # one beyond the vocabulary as well
        wider = infer(model, np.hstack([x, x[:, :1]]), burn_in=3, draws=3)
    assert (wider.attributes["unknown_terms"], wider.attributes["unknown_tokens"]) == (3, 4)


def test_totals_of_unknown_terms_are_not_cut_off():
    model = TrainedNetwork.of_topics((np.array([[1.0]]),), np.ones(1), np.ones(1), link="gamma")
    for value, text in ((0.4, "a total of 0.4 were"), (0.1, "a total of 0.1 were")):
        with pytest.warns(PgbnWarning, match=f"1 unknown terms with {text}"):
            found = infer(model, [[1.5, value]], burn_in=1, draws=1)
        assert found.attributes["unknown_tokens"] == value
    tenths = np.full((320, 2), 0.1)
    assert align_terms(tenths, 1)[2] == pytest.approx(32.0)
    whole = align_terms(np.full((32, 2), 1.0), 1)[2]
    assert (whole, type(whole)) == (32, int)


def test_a_line_says_what_was_inferred():
    found = quiet(model_of(widths=(4, 3)), documents(9), burn_in=2, draws=2, threads=1)
    lines = ["NewRows", "  theta1[doc, topic1] (9, 4)", "  theta2[doc, topic2] (9, 3)"]
    assert repr(found).splitlines()[:3] == lines
    nothing = quiet(model_of(widths=(4, 3)), documents(9) * 0, burn_in=2, draws=2, threads=1)
    assert "without data above 0: 9 rows" in repr(nothing)
