"""The scikit-learn estimators: their contract, features, scores and the lines of ``verbose``."""

import copy
import errno
import inspect
import io
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("sklearn")

import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

import pgbn
from pgbn import PFA, PGBN
from pgbn.checks import OTHER_NAMES
from pgbn.errors import DataError
from pgbn.estimators.pgbn import Reporter
from pgbn.evaluation.frames import data_frame
from pgbn.storage.archive import decode, encode

pandas = pytest.importorskip("pandas")

FAST = {"burn_in": 15, "sweeps": 10, "transform_burn_in": 10, "transform_draws": 10}


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
        PFA(3, burn_in=3, sweeps=2, transform_burn_in=2, transform_draws=2),
        PGBN(3, 2, burn_in=3, sweeps=2, transform_burn_in=2, transform_draws=2),
        pytest.param(
            PGBN(3, 2, burn_in=3, sweeps=2, transform_burn_in=2, transform_draws=2,
                 layer=None, min_width=0),
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
    assert model.widths_ == tuple(network.widths[-1] for network in model.models_)
    assert model.components_.shape == (model.widths_[0], 24)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    assert model.n_features_in_ == 24
    assert model.n_iter_ == 50
    assert model.link_ == "poisson"


def test_features_belong_to_the_document(model):
    whole = model.transform(X)
    np.testing.assert_array_equal(model.transform(X[::-1])[::-1], whole)
    np.testing.assert_array_equal(model.transform(X[[5]].toarray())[0], whole[5])
    np.testing.assert_array_equal(clone(model).set_params(n_jobs=2).fit(X).transform(X), whole)
    np.testing.assert_array_equal(clone(model).fit_transform(X), whole)


def test_perplexity_and_score(model):
    value = model.perplexity(X)
    assert 1.0 < value < 24.0
    assert model.score(X) == -np.log(value)
    seen, held = pgbn.evaluation.split_tokens(X, 0.5, seed=3)
    assert model.perplexity(seen, held) == pytest.approx(value, rel=0.1)
    with pytest.raises(DataError, match="train has 7 features"):
        model.perplexity(seen, held, train=X[:, :7])
    with pytest.raises(DataError, match="fraction=2"):
        model.perplexity(X, fraction=2)


@pytest.mark.parametrize(
    ("held", "complaint"),
    [
        (X[:5], "^held_out has 5 documents, but X has 60; give both parts"),
        (X[:, :3], "^held_out has 3 features, but PGBN"),
        (-X, "held_out"),
        (X * 0.5, "^held_out: .*non-integer"),
        (X * 0, "^held_out has no counts"),
        ("text", "^held_out: "),
        (np.ma.masked_array(X.toarray(), X.toarray() > 2), "^held_out has .* masked cells"),
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
    assert len(model.models_) == 2


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
    assert model.generate(3, length=20)["x"].sum(axis=1).tolist() == [20, 20, 20]


def test_random_state_of_new_documents(model):
    def documents(random_state=None):
        return model.generate(3, length=50, random_state=random_state)["x"].toarray()

    np.testing.assert_array_equal(documents(), documents())
    np.testing.assert_array_equal(documents(7), documents(np.random.RandomState(7)))
    assert (documents() != documents(7)).any()
    generator = np.random.RandomState(0)
    assert (documents(generator) != documents(generator)).any()
    other = clone(model).set_params(random_state=1).fit(X)  # its own seed, not 0
    assert other._seed != model._seed
    expected = other.training_.generate(3, length=50, seed=other._seed)
    np.testing.assert_array_equal(
        other.generate(3, length=50)["x"].toarray(), expected["x"].toarray()
    )
    with pytest.raises(DataError, match="random_state='a'"):
        documents("a")


def test_pickle_gives_the_same_features(model):
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).transform(X), model.transform(X)
    )


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


# ---- features: the names of their columns, data frames, and back to the terms --------------


def of_layer(model: PGBN, layer: int | None) -> PGBN:
    """A copy of a fitted estimator whose features are those of a layer, or of all."""
    return copy.deepcopy(model).set_params(layer=layer)


def test_one_layer_or_all(model):
    concat = of_layer(model, None)
    both = concat.transform(X)
    parts = np.split(both, [model.widths_[0]], axis=1)
    names = concat.get_feature_names_out().tolist()
    assert (names[0], names[model.widths_[0]]) == ("layer1_topic0", "layer2_topic0")
    for layer, part in enumerate(parts, 1):
        each = of_layer(model, layer)
        assert part.shape == (60, model.widths_[layer - 1])
        np.testing.assert_allclose(part.sum(axis=1), 1.0)
        np.testing.assert_allclose(each.inverse_transform(part).sum(axis=1), 1.0)
        np.testing.assert_array_equal(each.transform(X), part)
        own = each.get_feature_names_out().tolist()
        assert own == [name for name in names if name.startswith(f"layer{layer}_")]
    second = parts[1] @ model.training_.deepest.phi[1] @ model.components_
    np.testing.assert_allclose(of_layer(model, 2).inverse_transform(parts[1]), second)
    np.testing.assert_allclose(model.inverse_transform(parts[0]), parts[0] @ model.components_)
    np.testing.assert_allclose(concat.inverse_transform(both), parts[0] @ model.components_)
    for wrong in (3, 0, "all", 1.5):
        for call in (lambda each: each.transform(X), lambda each: each.get_feature_names_out()):
            with pytest.raises(DataError, match=r"layer=.*: the network has layers 1 to 2"):
                call(of_layer(model, wrong))
    with pytest.raises(DataError, match=r"Z has 3 columns, but layer 1 has \d+ topics"):
        model.inverse_transform(np.ones((2, 3)))
    with pytest.raises(DataError, match="3 columns, but all layers together have"):
        concat.inverse_transform(np.ones((2, 3)))
    with pytest.raises(DataError, match="Z has the value -1; topic weights are at least 0"):
        model.inverse_transform(-np.ones((2, model.widths_[0])))


def test_column_k_is_topic_k(model):
    """The list of topics, the features, the weights and the frames speak of the same topics."""
    topics = model.topics(1)
    assert [topic.index for topic in topics] == list(range(model.widths_[0]))
    weights = [topic.weight for topic in topics]
    assert weights == sorted(weights, reverse=True)
    assert list(model.document_topics_frame(X).columns) == list(model.get_feature_names_out())


@pytest.mark.parametrize("everywhere", [True, False], ids=["set_config", "set_output"])
def test_data_frames_have_the_columns_that_were_asked_for(model, everywhere):
    rows = [f"d{j}" for j in range(60)]
    documents = pandas.DataFrame(X.toarray(), index=rows)
    frames = []
    for layer in (1, 2, None):
        plain = of_layer(model, layer)
        chosen = of_layer(model, layer).set_output(transform=None if everywhere else "pandas")
        with sklearn.config_context(transform_output="pandas" if everywhere else "default"):
            frame = chosen.transform(documents)
        assert list(frame.columns) == list(plain.get_feature_names_out())
        assert list(frame.index) == rows
        np.testing.assert_array_equal(frame.to_numpy(), plain.transform(X))
        frames.append(frame)
    pandas.testing.assert_frame_equal(frames[2], pandas.concat(frames[:2], axis=1))
    one = PFA(3, random_state=0, **FAST).set_output(transform="pandas").fit(X)
    assert list(one.transform(X).columns) == [f"layer1_topic{k}" for k in range(3)]
    pandas.testing.assert_frame_equal(one.fit_transform(X), one.transform(X))


def test_the_signature_shows_ten_parameters_and_knows_the_others():
    shown = inspect.signature(PGBN).parameters
    assert len(shown) == 10
    every = PGBN(4, eta=0.1, min_width=2).get_params()
    assert {*shown} < {*every}
    assert (every["eta"], every["min_width"], every["transform_draws"]) == (0.1, 2, 100)
    with pytest.raises(TypeError, match=r"PGBN\(\) has no argument 'min_widht'.*'min_width'"):
        PGBN(4, min_widht=1)
    with pytest.raises(TypeError, match=r"PFA\(\) has no argument 'min_width'"):
        PFA(4, min_width=1)


@pytest.mark.parametrize(
    "table", [[("a\ud83d", 1), ("b", 2)], {"words": ["a\ud83d", "b"], "n": np.array([1, 2])}]
)
def test_half_characters_become_question_marks(table):
    frame = data_frame(table, ["words", "n"])
    assert frame.words.tolist() == ["a?", "b"]
    assert frame.n.tolist() == [1, 2]


# ---- names of parameters --------------------------------------------------------------------


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_the_error_names_max_width(name):
    with pytest.raises(TypeError, match=rf"'{name}': .*max_width=20; or max_width=\(100, 30, 10\)"):
        PGBN(**{name: 20})
    with pytest.raises(TypeError, match=r"PFA\(\) has no argument.* as width=20$"):
        PFA(**{name: 20})


def test_estimators_are_made_copied_and_shown_as_before():
    model = PGBN((8, 4), eta=0.1)
    for again in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.get_params() == model.get_params()
    shown = inspect.signature(PGBN).parameters
    assert list(shown)[:2] == ["max_width", "depth"]
    assert shown["max_width"].default == (80, 20, 6)
    assert next(iter(inspect.signature(PFA).parameters)) == "width"
    with pytest.raises(TypeError, match="has no argument 'topics'"):
        PGBN(topics=20)


# ---- the lines of ``verbose`` ---------------------------------------------------------------


def test_a_line_is_one_line_and_commands_no_terminal(capsys):
    chain = SimpleNamespace(network=pgbn.zoo.pgbn([3, 2]))
    event = SimpleNamespace(chain=chain, depth=2, phase="\x1b[2J\n", sweep=5, sweeps=5)
    Reporter(1)(event)
    assert capsys.readouterr().out == "[pgbn] layer 2, \\u001b[2J\\n 5/5, width 2\n"
    Reporter(0)(event)
    assert capsys.readouterr().out == ""


class _Nowhere(io.StringIO):
    """An output that takes nothing: full, a pipe that nobody reads, or closed."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def write(self, text, /):
        raise self.error


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "full"), BrokenPipeError(), ValueError("closed file")]
)
def test_training_goes_on_where_nobody_can_read(error, monkeypatch):
    monkeypatch.setattr("sys.stdout", _Nowhere(error))
    model = PGBN((4, 3), burn_in=3, sweeps=2, min_width=1, random_state=0, verbose=2)
    assert model.fit(X).n_iter_ == 10
    assert pgbn.train_minibatch(X, 3, steps=3, show_every=1, seed=0).widths == (3,)
