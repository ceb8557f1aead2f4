"""Hidden units of new documents: the law, the independence of batches, the edges."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from pgbn.errors import DataError, PgbnWarning
from pgbn.report import report_data
from pgbn.training import LayerwiseTraining
from pgbn.training.new_rows import align_terms, infer
from pgbn.training.trained import Priors, TrainedNetwork
from pgbn.zoo import lda

TERMS = 8


def model_of(link="poisson", widths=(4, 3, 2), seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    below, phi = TERMS, []
    for width in widths:
        phi.append(rng.dirichlet(np.full(below, 0.5), width))
        below = width
    return TrainedNetwork(
        tuple(phi),
        scale * (rng.gamma(2.0, 4.0, widths[-1]) + 1.0),
        np.ones(len(widths)),
        eta=(0.05,) * len(widths),
        link=link,
        noise=1.5,
        priors=Priors(p=(12.0, 12.0), c=(16.0, 12.0)),  # all moments that are compared exist
    )


def draw(model, documents, seed):
    """Exact draws of units and data given Φ and r."""
    given = {f"phi{t}": phi for t, phi in enumerate(model.phi, 1)} | {"r": model.r}
    if model.link == "gamma":
        given["noise"] = model.noise
    return model.network().generate(seed, {"doc": documents, "term": TERMS}, given)


def quiet(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PgbnWarning)
        return infer(*args, **kwargs)


# ---- the law --------------------------------------------------------------------------


def calibration(model, joint, found):
    """z-scores of E[(θ − E[θ|x]) h(x)] = 0 for several h, and of E[(θ − E[θ|x])² − Var[θ|x]] = 0.

    The law of total expectation holds for exact draws of (θ, x) and the exact posterior, and for
    nothing else that is likely: the joint-distribution test for one document.
    """
    x = joint["x"]
    weights = [np.ones(len(x)), np.log1p(x.sum(axis=1)), (x > 0).mean(axis=1)]
    weights += [np.log1p(x[:, v]) for v in range(TERMS)]
    scores = []
    for t in found.layers:
        theta = joint[f"theta{t}"]
        share = theta / np.maximum(theta.sum(axis=1, keepdims=True), 1e-300)
        for true, mean, deviation in (
            (theta, found.units[t], found.units_sd[t]),
            (share, found.proportions[t], found.proportions_sd[t]),
        ):
            error = true - mean
            columns = [error * weight[:, None] for weight in weights] + [error**2 - deviation**2]
            for column in columns:
                scores += list(column.mean(axis=0) / column.std(axis=0) * np.sqrt(len(x)))
    return np.array(scores)


@pytest.mark.parametrize(
    ("link", "widths", "scale"),
    [
        ("poisson", (4,), 1.0),
        ("poisson", (4, 3, 2), 1.0),
        ("bernoulli", (4, 3), 0.2),
        ("gamma", (4, 3), 0.5),
    ],
)
def test_posterior_moments_obey_the_law_of_total_expectation(link, widths, scale):
    model = model_of(link, widths, scale=scale)
    joint = draw(model, 1200, seed=len(widths))
    found = quiet(model, joint["x"], burn_in=150, samples=200)
    assert np.abs(calibration(model, joint, found)).max() < 4.0


def test_the_calibration_test_sees_a_wrong_prior():
    model = model_of()
    joint = draw(model, 1200, seed=3)
    wrong = TrainedNetwork(model.phi, 1.15 * model.r, model.c, priors=model.priors)
    found = quiet(wrong, joint["x"], burn_in=150, samples=200)
    assert np.abs(calibration(wrong, joint, found)).max() > 5.0


def frozen_chain(model, x, seed):
    """A chain of the whole network without the steps that draw Φ, r and what is above them."""
    held = {f"phi{t}": phi for t, phi in enumerate(model.phi, 1)}
    held |= {"r": model.r, "gamma0": 1.0, "c0": 1.0}
    chain = model.network().chain({"x": x}, seed, init=held, layer1="composed", threads=1)
    steps = [step for step in chain.schedule if not step.on_demand]
    chain._steps = [
        pair
        for step, pair in zip(steps, chain._steps, strict=True)
        if step.upward or step.node not in held
    ]
    return chain


def distances(model, x, units):
    """Means of the units in a chain of the network minus ``units``, in standard errors."""
    chain = frozen_chain(model, x, 1).sweep(200)
    batches: dict[int, list] = {1: [], 2: []}
    for _ in range(40):  # batch means give a standard error in spite of the autocorrelation
        sums = {1: 0.0, 2: 0.0}
        for _ in range(50):
            chain.sweep()
            values = chain.select(["theta1", "theta2"])
            for t in sums:
                sums[t] = sums[t] + values[f"theta{t}"] / 50
        for t in sums:
            batches[t].append(sums[t])
    np.testing.assert_array_equal(chain.values["phi1"], model.phi[0])
    for t, rows in batches.items():
        error = np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
        yield (np.mean(rows, axis=0) - units[t]) / error


def test_moments_agree_with_a_chain_of_the_network():
    model = model_of(widths=(4, 3))
    x = draw(model, 6, seed=2)["x"]
    found = quiet(model, x, burn_in=500, samples=40_000)
    for z in distances(model, x, found.units):
        assert np.abs(z).max() < 4.5


def test_moments_of_wide_layers_agree_with_a_chain_of_the_network():
    """Layers beyond 32 units, most of them negligible. Their draws are so skewed that the largest
    of 200 distances says little; in 15 such chains the mean square was between 1 and 1.6, and it
    is above 3 if all units are a tenth too large."""
    model = model_of(widths=(36, 33), scale=0.02)
    x = draw(model, 6, seed=2)["x"]
    found = quiet(model, x, burn_in=500, samples=40_000)
    for z in distances(model, x, found.units):
        assert np.mean(z**2) < 2.0


def test_one_topic_is_known_exactly():
    """K = 1: θ | x ~ Gam(r + N, rate 1 + c), p | N ~ Beta(a0 + N, b0 + r): E θ = (r + N) E p."""
    model = TrainedNetwork((np.full((1, 3), 1 / 3),), np.array([2.0]), np.ones(1),
                           priors=Priors(p=(3.0, 4.0)))  # fmt: skip
    found = infer(model, np.array([[2, 0, 5]]), burn_in=0, samples=20_000)
    n, r, a, b = 7, 2.0, 3.0 + 7, 4.0 + 2.0
    mean = (r + n) * a / (a + b)
    square = (r + n) * (r + n + 1) * a * (a + 1) / ((a + b) * (a + b + 1))
    assert found.units[1][0, 0] == pytest.approx(mean, rel=0.01)
    assert found.units_sd[1][0, 0] == pytest.approx(np.sqrt(square - mean**2), rel=0.02)
    assert found.proportions[1][0, 0] == pytest.approx(1.0)
    assert found.proportions_sd[1][0, 0] == pytest.approx(0.0, abs=1e-5)


def test_topics_that_do_not_overlap_are_counted():
    phi = np.kron(np.eye(2), np.full((1, 3), 1 / 3))
    model = TrainedNetwork((phi,), np.array([0.5, 1.5]), np.ones(1))
    found = infer(model, np.array([[1, 0, 2, 0, 4, 0]]), burn_in=2, samples=3)
    np.testing.assert_allclose(found.proportions[1], [[3.5 / 9, 5.5 / 9]])


# ---- a document's result is its own ---------------------------------------------------


def documents(n=40, seed=0):
    return sp.csr_array(np.random.default_rng(seed).poisson(0.8, (n, TERMS)))


@pytest.mark.parametrize("link", ["poisson", "gamma", "bernoulli"])
def test_no_batch_order_or_thread_changes_a_document(link):
    model = model_of(link)
    x = documents()
    x = {"poisson": x, "gamma": x * 0.5, "bernoulli": (x > 0).astype(int)}[link]
    settings = {"burn_in": 5, "samples": 5, "seed": 9}
    whole = quiet(model, x, threads=1, **settings)
    threaded = quiet(model, x, threads=2, **settings)
    order = np.random.default_rng(1).permutation(x.shape[0])
    shuffled = quiet(model, x[order], threads=2, **settings)
    single = [quiet(model, x[[row]].toarray(), **settings) for row in range(5)]
    for t in (1, 2, 3):
        for name in ("proportions", "units", "proportions_sd", "units_sd"):
            expected = getattr(whole, name)[t]
            np.testing.assert_array_equal(getattr(threaded, name)[t], expected)
            np.testing.assert_array_equal(getattr(shuffled, name)[t], expected[order])
            for row, one in enumerate(single):
                np.testing.assert_array_equal(getattr(one, name)[t][0], expected[row])


def test_seed_and_counts_matter_and_equal_documents_agree():
    model = model_of()
    x = np.array([[1, 2, 0, 0, 3, 0, 0, 1], [1, 2, 0, 0, 3, 0, 0, 1], [2, 1, 0, 0, 3, 0, 0, 1]])
    found = infer(model, x, burn_in=5, samples=5)
    np.testing.assert_array_equal(found.units[1][0], found.units[1][1])
    assert (found.units[1][0] != found.units[1][2]).any()
    other = infer(model, x, burn_in=5, samples=5, seed=1)
    assert (found.units[1] != other.units[1]).any()


def test_layers_can_be_chosen():
    model = model_of()
    x = documents(5)
    all_layers = quiet(model, x, burn_in=3, samples=3)
    second = quiet(model, x, layers=2, burn_in=3, samples=3, units=False)
    assert second.layers == (2,)
    np.testing.assert_array_equal(second.proportions[2], all_layers.proportions[2])
    assert second.units == {}
    assert all_layers.features().shape == (5, 9)
    np.testing.assert_array_equal(all_layers.features(3), all_layers.proportions[3])
    np.testing.assert_allclose(all_layers.proportions[1].sum(axis=1), 1.0)


# ---- edges ----------------------------------------------------------------------------


def test_an_empty_document_gets_the_prior_and_one_warning():
    model = model_of(widths=(4, 3), scale=1e-4)  # shapes so small that all units underflow
    x = np.zeros((3, TERMS), int)
    x[1, 2] = 4
    with pytest.warns(PgbnWarning, match="2 of 3 documents have no known term") as caught:
        found = infer(model, x, burn_in=200, samples=20_000)
    assert len(caught) == 1
    assert found.empty.tolist() == [0, 2]
    top = model.r / model.r.sum()
    np.testing.assert_allclose(found.proportions[2][0], top, atol=0.02)
    np.testing.assert_allclose(found.proportions[1][0], top @ model.phi[1], atol=0.02)
    np.testing.assert_array_equal(found.proportions[1][0], found.proportions[1][2])


def test_small_priors_of_the_paper_give_finite_numbers():
    model = TrainedNetwork(model_of().phi, np.array([1e-5, 1e-9]), np.ones(3))
    x = np.zeros((3, TERMS), int)
    x[1, 2], x[2] = 1, 1000
    found = quiet(model, x, burn_in=50, samples=50)
    for values in (found.units, found.units_sd, found.proportions, found.proportions_sd):
        assert all(np.isfinite(value).all() for value in values.values())
    np.testing.assert_allclose(found.proportions[1].sum(axis=1), 1.0)


def test_terms_that_are_rare_in_every_topic_are_labelled_by_ratios():
    """Only the ratios of a term's loadings matter, also where float32 has no such numbers."""
    found = []
    for rare in (1e-5, 1e-60):
        phi = np.array([[rare, 0.6, 0.4], [5 * rare, 0.4, 0.6]])
        phi[:, 1] += 1.0 - phi.sum(axis=1)
        model = TrainedNetwork((phi, np.array([[0.7, 0.3], [0.2, 0.8]])), np.ones(2), np.ones(2))
        result = infer(model, np.array([[6, 2, 1]]), burn_in=500, samples=20_000)
        found.append(result.proportions[1])
    np.testing.assert_allclose(found[0], found[1], atol=0.01)
    assert found[0][0, 1] > 0.7


def test_columns_beyond_the_vocabulary_are_dropped_and_reported():
    model = model_of()
    x = documents(6).toarray() + np.eye(6, TERMS, dtype=int)
    wider = np.hstack([x, np.array([[1, 0, 2]] * 6)])
    with pytest.warns(PgbnWarning, match="2 unknown terms with 18 counts"):
        found = infer(model, wider, burn_in=3, samples=3)
    assert (found.unknown_terms, found.unknown_tokens) == (2, 18)
    np.testing.assert_array_equal(found.units[1], infer(model, x, burn_in=3, samples=3).units[1])


def test_columns_are_matched_by_name():
    model = model_of()
    names = [f"w{v}" for v in range(TERMS)]
    x = documents(6).toarray() + np.eye(6, TERMS, dtype=int)
    order = np.random.default_rng(0).permutation(TERMS)
    shuffled = np.hstack([x[:, order], np.ones((6, 1), int)])
    terms = [*(names[v] for v in order), "never seen"]
    with pytest.warns(PgbnWarning, match="1 unknown terms with 6 counts"):
        found = infer(model, shuffled, burn_in=3, samples=3, terms=terms, vocabulary=names)
    np.testing.assert_array_equal(found.units[1], infer(model, x, burn_in=3, samples=3).units[1])
    columns = [{name: v for v, name in sorted(enumerate(given))[::-1]} for given in (terms, names)]
    with pytest.warns(PgbnWarning, match="1 unknown terms with 6 counts"):
        again = infer(model, shuffled, burn_in=3, samples=3, terms=columns[0],
                      vocabulary=columns[1])  # fmt: skip
    np.testing.assert_array_equal(again.units[1], found.units[1])
    named = replace(model, vocabulary=names)
    with pytest.warns(PgbnWarning, match="1 unknown terms with 6 counts"):
        again = infer(named, shuffled, burn_in=3, samples=3, terms=terms)
    np.testing.assert_array_equal(again.units[1], found.units[1])
    aligned, _, _ = align_terms(shuffled, TERMS, terms, names)
    np.testing.assert_array_equal(aligned.toarray(), x)


@pytest.mark.parametrize(
    ("x", "arguments", "message"),
    [
        (np.ones((2, 5), int), {}, "5 columns, but the model knows 8"),
        (np.ones((2, TERMS)) * 0.5, {}, "0.5|integer|whole"),
        (-np.ones((2, TERMS), int), {}, "negative"),
        (np.full((2, TERMS), np.nan), {}, "NaN"),
        (np.ones(TERMS, int), {}, "doc × term"),
        ([[1, 2], [3]], {}, "X: the data have rows of unequal length"),
        (np.ones((2, TERMS), int), {"layers": 4}, "numbered from 1 to 3"),
        (np.ones((2, TERMS), int), {"layers": 0}, "numbered from 1 to 3"),
        (np.ones((2, TERMS), int), {"layers": []}, r"layers=\[\]: give at least one"),
        (np.ones((2, TERMS), int), {"layers": "1"}, "layers='1'"),
        (np.ones((2, TERMS), int), {"layers": 1.5}, "layers=1.5"),
        (np.full((2, TERMS + 1), np.nan), {}, "NaN"),
        (np.ma.masked_equal(np.ones((2, TERMS + 1), int), 1), {}, "masked"),
        (sp.coo_array((2, 2**31)), {}, "2147483648 columns; give fewer"),
        (np.ones((2, 1), int), {"terms": 5, "vocabulary": ["a"] * TERMS}, "terms: a int"),
        (np.ones((2, 1), int), {"terms": {"a"}, "vocabulary": ["a"] * TERMS}, "terms: a set"),
        (np.ones((2, 1), int), {"terms": ["a"], "vocabulary": "abcdefgh"}, "vocabulary: a string"),
        (np.ones((2, TERMS), int), {"samples": 0}, "samples=0"),
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
    with pytest.raises(DataError, match="NaN values; give finite numbers"):
        infer(model_of(), x)
    with pytest.raises(DataError, match="NaN values; give finite numbers"):
        infer(model_of(), sp.csr_array(x))
    with pytest.raises(DataError, match="NaN values; give finite numbers"):
        lda(2).chain({"x": x})
    with pytest.raises(DataError, match="masked_array"):
        model_of().network().chain({"x": x})


def test_features_of_a_layer_that_was_not_inferred():
    found = quiet(model_of(), documents(3), layers=[2.0], burn_in=1, samples=1)
    assert found.layers == (2,)
    for layer in (1, "2", [2]):
        with pytest.raises(DataError, match="was not inferred"):
            found.features(layer)


def test_warnings_point_at_the_users_line():
    """Also through scikit-learn, which wraps `transform`, and through other parts of pgbn."""
    estimators = pytest.importorskip("pgbn.estimators")
    x = np.zeros((3, TERMS), int)
    x[0, 0] = 5
    training = LayerwiseTraining((model_of(),), "")
    model = estimators.PGBN(transform_burn_in=1, transform_samples=1)
    model.training_, model.networks_, model.widths_ = training, training.networks, (4, 3, 2)
    model.n_features_in_, model._seed, model.link_ = TERMS, 0, "poisson"
    for run in (
        lambda: infer(model_of(), x, burn_in=1, samples=1),
        lambda: model.transform(x),
        lambda: report_data(model_of(), x),
    ):
        with pytest.warns(PgbnWarning, match="no known term") as caught:
            run()
        assert caught[0].filename == __file__


def test_input_is_not_changed():
    x = documents(6)
    before = x.copy()
    quiet(model_of(), x, burn_in=1, samples=1)
    np.testing.assert_array_equal(x.toarray(), before.toarray())
