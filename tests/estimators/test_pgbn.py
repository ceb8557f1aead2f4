"""The scikit-learn estimators."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

import pgbn
from pgbn import PFA, PGBN
from pgbn.errors import DataError
from pgbn.storage.archive import decode, encode

FAST = {"burn_in": 15, "collect": 10, "transform_burn_in": 10, "transform_samples": 10}


def corpus(n=60, terms=24, seed=0):
    """Two kinds of documents, one for each half of the terms."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    phi = np.kron(np.eye(2), np.ones((1, terms // 2))) / (terms // 2) * 0.9 + 0.1 / terms
    return sp.csr_array(rng.poisson(25 * phi[label])), label


X, LABEL = corpus()


@pytest.fixture(scope="module")
def model():
    return PGBN(8, 2, random_state=0, **FAST).fit(X)


@pytest.mark.parametrize(
    "estimator",
    [
        PFA(3, burn_in=3, collect=2, transform_burn_in=2, transform_samples=2),
        PGBN(3, 2, burn_in=3, collect=2, transform_burn_in=2, transform_samples=2),
        pytest.param(
            PGBN(3, 2, burn_in=3, collect=2, transform_burn_in=2, transform_samples=2,
                 output="concat", min_width=0),
            marks=pytest.mark.long,
        ),
    ],
    ids=["PFA", "PGBN", "concat"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_no_fault(estimator):
    results = check_estimator(estimator, on_fail=None)
    assert len(results) >= len(list(estimator_checks_generator(estimator)))
    faults = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert faults == {}
    assert not [r for r in results if r["status"] == "xfail"]


def test_fitted_attributes(model):
    assert model.widths_ == tuple(network.widths[-1] for network in model.networks_)
    assert model.components_.shape == (model.widths_[0], 24)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    assert model.n_features_in_ == 24
    assert model.n_iter_ == 50
    assert model.link_ == "poisson"


def test_transform_one_layer_or_all(model):
    first = model.transform(X)
    assert first.shape == (60, model.widths_[0])
    np.testing.assert_allclose(first.sum(axis=1), 1.0)
    second = model.transform(X, layer=2)
    both = model.transform(X, output="concat")
    np.testing.assert_array_equal(both, np.hstack([first, second]))
    with pytest.raises(DataError, match="layers 1 to 2"):
        model.transform(X, layer=3)
    with pytest.raises(DataError, match="output='all'"):
        model.transform(X, output="all")


def test_features_belong_to_the_document(model):
    whole = model.transform(X)
    np.testing.assert_array_equal(model.transform(X[::-1])[::-1], whole)
    np.testing.assert_array_equal(model.transform(X[[5]].toarray())[0], whole[5])
    np.testing.assert_array_equal(clone(model).set_params(n_jobs=2).fit(X).transform(X), whole)
    np.testing.assert_array_equal(clone(model).fit_transform(X), whole)


def test_perplexity_and_score(model):
    value = model.perplexity(X)
    assert 1.0 < value < 24.0
    assert model.score(X) == pytest.approx(-np.log(value))
    seen, held = pgbn.split_tokens(X, 0.5, seed=3)
    assert model.perplexity(seen, held) == pytest.approx(value, rel=0.1)


@pytest.mark.parametrize(
    ("held", "complaint"),
    [
        (X[:5], "^X_held has 5 documents, but X has 60$"),
        (X[:, :3], "^X_held has 3 features, but PGBN"),
        (-X, "X_held"),
        (X * 0.5, "^X_held: .*non-integer"),
        (X * 0, "^X_held has no counts"),
        ("text", "^X_held: "),
        (np.ma.masked_array(X.toarray(), X.toarray() > 2), "^X_held has .* masked cells"),
    ],
)
def test_the_held_out_words_are_checked_under_their_name(model, held, complaint):
    with pytest.raises(DataError, match=complaint):
        model.perplexity(X, held)


def test_the_features_separate_the_classes():
    pipeline = make_pipeline(PGBN(6, 2, random_state=1, **FAST), LogisticRegression(C=100.0))
    new, label = corpus(40, seed=9)
    assert pipeline.fit(X, LABEL).score(new, label) > 0.95


def test_grid_search_and_clone():
    search = GridSearchCV(PFA(random_state=0, **FAST), {"width": [1, 6]}, cv=2)
    search.fit(X)
    assert search.best_params_ == {"width": 6}
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


def test_warm_start_adds_layers_and_then_trains_on():
    model = PGBN(8, 1, random_state=0, warm_start=True, **FAST).fit(X)
    first = model.components_.copy()
    model.set_params(depth=2).fit(X)
    at_once = PGBN(8, 2, random_state=0, **FAST).fit(X)
    assert model.widths_ == at_once.widths_
    np.testing.assert_array_equal(model.components_, at_once.components_)
    assert (model.components_ != first).any()
    model.fit(X)
    assert model.n_iter_ == at_once.n_iter_ + 10
    assert len(model.networks_) == 2


def test_link_is_found_or_given():
    binary = (X > 0).astype(int)
    assert PFA(3, random_state=0, **FAST).fit(X.astype(float)).link_ == "poisson"
    real = PFA(3, random_state=0, **FAST).fit(X * 0.3)
    assert real.link_ == "gamma"
    assert np.isfinite(real.score(X * 0.3))
    zero_one = PFA(3, link="bernoulli", random_state=0, **FAST).fit(binary)
    assert np.isfinite(zero_one.score(binary))
    with pytest.raises(ValueError, match="0 and 1"):
        PFA(3, link="bernoulli", **FAST).fit(X)
    with pytest.raises(DataError, match="perplexity is defined for counts"):
        real.perplexity(X * 0.3)


def test_topics_and_documents(model):
    table = model.topics(layer=2, top=3, vocabulary=[f"w{v}" for v in range(24)])
    assert len(table) == model.widths_[1]
    assert all(len(topic.terms) == 3 for topic in table)
    assert model.sample_documents(3, length=20).counts.sum(axis=1).tolist() == [20, 20, 20]


def test_random_state_of_new_documents(model):
    def documents(random_state=None):
        return model.sample_documents(3, length=50, random_state=random_state).counts.toarray()

    np.testing.assert_array_equal(documents(), documents())
    np.testing.assert_array_equal(documents(7), documents(np.random.RandomState(7)))
    assert (documents() != documents(7)).any()
    generator = np.random.RandomState(0)
    assert (documents(generator) != documents(generator)).any()
    other = clone(model).set_params(random_state=1).fit(X)  # its own seed, not 0
    assert other._seed != model._seed
    expected = pgbn.generate_documents(other.training_, 3, length=50, seed=other._seed)
    np.testing.assert_array_equal(
        other.sample_documents(3, length=50).counts.toarray(), expected.counts.toarray()
    )
    with pytest.raises(DataError, match="random_state='a'"):
        documents("a")


def test_pickle_gives_the_same_features(model):
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).transform(X), model.transform(X)
    )


def test_verbose_reports_progress(capsys):
    PGBN(5, 2, burn_in=2, collect=2, verbose=1, random_state=0).fit(X)
    assert "layer 1, burn_in 2/2" in capsys.readouterr().out


def test_pgbn_can_be_imported_without_scikit_learn():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import pgbn\n"
        "try: pgbn.PGBN\n"
        "except ImportError as error: print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'pgbn[sklearn]'" in out.stdout


def test_texts_are_not_counts() -> None:
    with pytest.raises(DataError, match=r"X: .*CountVectorizer"):
        PGBN().fit(["a text of some words", "another"])


def test_a_forged_number_of_features_is_refused(model):
    """Before scikit-learn would meet it."""
    kind, parts = encode(model)
    forged = {**parts.content, "features": X.shape[1] + 1}
    with pytest.raises(pgbn.StorageError, match=f"topics of {X.shape[1]} terms"):
        decode(kind, forged, parts.arrays.__getitem__)
