"""Bad input of estimators: every case ends in a finite result or in an error that names it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

pytest.importorskip("sklearn")

import pgbn
from pgbn.errors import DataError
from pgbn.estimators.parameters import read_link
from tests.helpers.hostile import HUGE, attempt, campaign, odd, odd_or_huge
from tests.helpers.saved import forge

X = np.random.default_rng(0).poisson(1.0, (12, 9))
FAST = {"burn_in": 2, "sweeps": 1, "transform_burn_in": 1, "transform_draws": 2,
        "random_state": 0}  # fmt: skip
SIZES = ("max_width", "depth", "n_jobs", "eta")  # a huge number is refused at once
OTHERS = ("burn_in", "sweeps", "transform_burn_in", "transform_draws", "link", "sampler",
          "layer", "random_state", "verbose", "warm_start", "min_width",
          "priors")  # fmt: skip


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def model() -> pgbn.PGBN:
    return pgbn.PGBN(4, 2, **FAST).fit(X)


def check_features(model: pgbn.PGBN, data: Any) -> None:
    features = model.transform(data)
    assert features.shape == (data.shape[0], model.widths_[0])
    assert np.isfinite(features).all()
    assert np.allclose(features.sum(axis=1), 1.0)


# ---- parameters -----------------------------------------------------------------------


@campaign(250)
@given(
    st.dictionaries(st.sampled_from(SIZES), odd_or_huge, max_size=2),
    st.dictionaries(st.sampled_from(OTHERS), odd, max_size=2),
)
def test_parameters(sizes: dict[str, Any], others: dict[str, Any]) -> None:
    parameters = {"max_width": 3, "depth": 2, **FAST, **sizes, **others}

    def run() -> bool:
        model = pgbn.PGBN(**parameters).fit(X)
        if parameters.get("layer", 1) != 1:
            return bool(np.isfinite(model.transform(X)).all())
        check_features(model, X)
        return True

    assert attempt(run, [f"{name}=" for name in (*sizes, *others)]) in (True, None)


@pytest.mark.parametrize("name", ["warm_start", "link", "sampler", "verbose", "learning"])
@pytest.mark.parametrize(
    "array", [np.array([1, 2]), np.array(["auto", "b"])], ids=["whole", "text"]
)
def test_arrays_as_parameters(name: str, array: Any) -> None:
    with pytest.raises(pgbn.PgbnError, match=f"^{name}="):
        pgbn.PGBN(3, 1, **FAST, **{name: array}).fit(X)


@pytest.mark.parametrize("name", ["rows", "features"])
@pytest.mark.parametrize("odd", [np.array(["doc", "b"]), 3, {"a": 1}], ids=repr)
def test_names_of_a_network_transformer(name: str, odd: Any) -> None:
    with pytest.raises(pgbn.PgbnError, match=f"^{name}="):
        pgbn.NetworkTransformer(pgbn.zoo.pfa(3), **{name: odd}).fit(X)


@pytest.mark.parametrize("name", ["transform_draws", "transform_burn_in"])
def test_a_file_that_asks_for_endless_sweeps(model: pgbn.PGBN, name: str, tmp_path: Any) -> None:
    pgbn.save(model, tmp_path / "model")

    def change(body: Any) -> None:
        body["content"]["object"]["parameters"][name] = 10**15

    forge(tmp_path / "model", change)
    with pytest.raises(pgbn.PgbnError, match=rf"{name}=1000000000000000 must be at most"):
        pgbn.load(tmp_path / "model")
    with pytest.raises(DataError, match=f"^{name}="):
        pgbn.PFA(3, **{**FAST, name: 10**15}).fit(X)


@pytest.mark.parametrize("kind", ["timedelta64[D]", "datetime64[s]"])
def test_times_are_no_counts(model: pgbn.PGBN, kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    times = np.ones((12, 9), np.int64).astype(kind)
    for given_ in (times, pandas.DataFrame(times.astype(kind.replace("[D]", "[s]")))):
        with pytest.raises(DataError, match=r"^X has the dtype .*; give counts"):
            pgbn.PGBN(3, 1, **FAST).fit(given_)
    with pytest.raises(DataError, match=r"^X has the dtype"):
        model.transform(times)


@pytest.mark.parametrize(("forged", "words"), [
    ({"feature_names": 3}, "damaged: feature_names is 3"),
    ({"feature_names": ["a", "b"]}, "damaged: 9 features, 2 names"),
    ({"fixed": {"nodes": [3], "random_state": 0}}, "damaged: there is no entry 'max_width'"),
    ({"fixed": {"max_width": "3", "random_state": 0}}, "damaged: max_width"),
    ({"seed": True}, "damaged: seed is True"),
    ({"stopped": None}, "damaged: stopped is None"),
])  # fmt: skip
def test_entries_of_another_type(
    model: pgbn.PGBN, forged: dict[str, Any], words: str, tmp_path: Any
) -> None:
    """They were believed, and failed when the estimator was saved or fitted again."""
    pgbn.save(model, tmp_path / "model")
    forge(tmp_path / "model", lambda body: body["content"]["object"].update(forged))
    with pytest.raises(pgbn.StorageError, match=words):
        pgbn.load(tmp_path / "model")


TRAINING = ("max_width", "depth", "eta", "burn_in", "sweeps", "link", "seed", "sampler", "threads",
            "average", "min_width", "min_count", "trace_every", "priors", "callback",
            "start_from")  # fmt: skip


@campaign(200)
@given(st.sampled_from(TRAINING), odd)
def test_arguments_of_training(name: str, value: Any) -> None:
    arguments: dict[str, Any] = {"max_width": 3, "depth": 2, "burn_in": 2, "sweeps": 1}

    def run() -> bool:
        found = pgbn.train_layerwise(X, progress=False, **{**arguments, name: value})
        return all(bool(np.isfinite(phi).all()) for phi in found.deepest.phi)

    culprits = [f"{name}=", "saved model"] if name == "start_from" else [f"{name}="]
    assert attempt(run, culprits) in (True, None)


@campaign(120)
@given(st.sampled_from(["layers", "burn_in", "draws", "seed", "threads", "terms", "vocabulary"]),
       odd)  # fmt: skip
def test_arguments_of_inference(name: str, value: Any) -> None:
    found = attempt(
        lambda: fitted().training_.deepest.infer(X, **{"burn_in": 1, "draws": 1,
                                                             name: value}), [name])  # fmt: skip
    assert found is None or all(np.isfinite(part).all() for part in found.proportions.values())


@pytest.mark.parametrize("width", HUGE)
def test_absurd_widths_are_refused_before_memory_is_taken(width: int) -> None:
    for estimator in (pgbn.PGBN(width, **FAST), pgbn.PFA(width, **FAST)):
        with pytest.raises(DataError, match=rf"width={width}: .* would need .* GB of memory"):
            estimator.fit(X)
    with pytest.raises(DataError, match="depth=1000000000 must be at most"):
        pgbn.PGBN(3, 10**9).fit(X)


# ---- data -----------------------------------------------------------------------------

numbers = st.one_of(
    st.floats(width=64),
    st.floats(0, 50),
    st.integers(0, 9).map(float),
    st.sampled_from([5e-324, 1e-310, 0.5, 1e300, 1.7e308, 2.0**31 - 1, 2.0**31, 2.0**53, -0.0]),
)
shapes = st.one_of(
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
)
dtypes = st.sampled_from([np.int64, np.int8, np.uint64, np.bool_, np.float32, np.complex128, "U3"])
arrays = st.one_of(
    hnp.arrays(np.float64, shapes, elements=numbers),
    hnp.arrays(np.float64, shapes, elements=st.integers(0, 5).map(float)),
    dtypes.flatmap(lambda dtype: hnp.arrays(dtype, shapes)),
    hnp.arrays(object, shapes, elements=odd),
)


@campaign(250)
@given(arrays, st.sampled_from(["auto", "poisson", "bernoulli", "gamma"]), st.booleans())
def test_arrays(data: Any, link: str, sparse: bool) -> None:
    def run() -> bool:
        estimator = pgbn.PGBN(3, 2, link=link, **FAST).fit(data)
        check_features(estimator, data)
        score = attempt(lambda: estimator.score(data), ["held_out has no counts"])
        assert score is None or np.isfinite(score)
        return True

    if sparse and data.ndim == 2 and data.dtype.kind in "iufb":
        data = sp.coo_array(data)
    assert attempt(run, ["X", "x:", "array"]) in (True, None)


OBJECTS = (
    None,
    "text",
    ["a b", "c"],
    [[1, 2], [3]],
    {"a": 1},
    3,
    10**400,
    object(),
    np.matrix(X),
    iter(X),
)


@pytest.mark.parametrize("data", OBJECTS, ids=lambda data: type(data).__name__)
def test_other_objects(data: Any, model: pgbn.PGBN) -> None:
    for run in (pgbn.PGBN(3, **FAST).fit, model.transform, model.perplexity, model.score):
        assert attempt(lambda run=run: run(data), ["X", "array", "matrix"]) is None
    assert attempt(lambda: model.inverse_transform(data), ["Z", "array", "matrix"]) is None


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    names = ["ñ", "\u202e", "\x00", "\ud800", "", "a b", "\n", "b", "c"]
    # pyarrow, where it holds pandas' texts, refuses half characters; as objects they are allowed
    columns = pandas.Index(names, dtype=object)
    model = pgbn.PGBN(3, **FAST).fit(pandas.DataFrame(X, columns=columns))
    assert set(model.topics(top=9)[0].terms) == set(names)
    assert "\ud800" not in model.topics_frame().words[0]
    for columns in (["a"] * 9, [*"abcd", *range(5)]):
        frame = pandas.DataFrame(X, columns=columns)
        assert attempt(lambda f=frame: pgbn.PGBN(3, **FAST).fit(f), ["X", "names"]) is None


# ---- sparse matrices that point outside themselves --------------------------------------


@campaign(80)
@given(
    st.sampled_from(["csr", "csc", "bsr"]),
    st.lists(st.integers(-3, 5) | st.just(10**6), min_size=3, max_size=3),
    st.lists(st.integers(-2, 6), min_size=3, max_size=3),
)
def test_damaged_sparse_matrices(form: str, indices: list[int], indptr: list[int]) -> None:
    good = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[form](np.eye(4)[:, :4])
    good.indices[:3] = indices
    good.indptr[1:4] = indptr
    estimator = pgbn.PFA(3, **FAST)
    attempt(lambda: estimator.fit(good), ["X", "x:"])
    attempt(lambda: pgbn.zoo.pfa(3).chain({"x": good}).sweep(), ["x:"])


@pytest.mark.parametrize("shape", [(10**12, 3), (3, 10**12)])
def test_absurd_shapes(shape: tuple[int, int], model: pgbn.PGBN) -> None:
    data = sp.coo_array(([1], ([0], [0])), shape=shape)
    for run in (pgbn.PFA(3, **FAST).fit, model.transform, model.perplexity):
        assert attempt(lambda run=run: run(data), ["X", "width"]) is None
    with pytest.raises(DataError, match=r"omit empty rows|columns; give fewer than 2\^31"):
        pgbn.zoo.pfa(3).chain({"x": data})


def test_counts_near_the_limit(model: pgbn.PGBN) -> None:
    data = X.copy()
    data[0, 0] = 2**31 - 1
    estimator = pgbn.PGBN(3, 2, **FAST).fit(data)
    assert np.isfinite(estimator.components_).all()
    np.testing.assert_allclose(estimator.transform(data).sum(axis=1), 1.0)
    with pytest.raises(pgbn.PgbnError, match="tokens"):
        pgbn.zoo.pfa(3).chain({"x": np.full((40, 9), 2**31 - 1)}, sampler="collapsed")
    with pytest.raises(DataError, match=r"splitting .* tokens would need"):
        model.perplexity(np.full((40, 9), 2**31 - 1))


# ---- using a fitted model ---------------------------------------------------------------


@campaign(150)
@given(st.sampled_from(["topics.layer", "topics.top", "topics.vocabulary", "generate.n",
                        "generate.length", "generate.c",
                        "generate.random_state", "perplexity.fraction",
                        "transform.layer", "transform.output"]), odd_or_huge)  # fmt: skip
def test_arguments_of_a_fitted_model(where: str, value: Any) -> None:
    model = fitted()
    method, name = where.split(".")
    data = (X,) if method in ("perplexity", "transform") else ()
    if where == "generate.length":
        data = (2,)
    found = attempt(lambda: getattr(model, method)(*data, **{name: value}), [name])
    if method in ("perplexity", "transform") and found is not None:
        assert np.isfinite(found).all()


_FITTED: list[pgbn.PGBN] = []


def fitted() -> pgbn.PGBN:
    if not _FITTED:
        _FITTED.append(pgbn.PGBN(4, 2, **FAST).fit(X))
    return _FITTED[0]


@campaign(60)
@given(hnp.arrays(np.float64, st.sampled_from([(2, 4), (3, 5), (4,), (0, 4)]), elements=numbers))
def test_inverse_transform(features: Any) -> None:
    model = fitted()
    width = model.widths_[0]
    found = attempt(lambda: model.inverse_transform(features), ["Z", "features", "array"])
    if found is not None:
        assert features.shape[1] == width
        with np.errstate(over="ignore"):
            assert np.isfinite(found).all() or np.abs(features).max() > 1e300


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers(value: float, model: pgbn.PGBN) -> None:
    """Errors that scikit-learn calls by the right name are those of pgbn too."""
    wrong = np.where(X.max() == X, value, X)
    for each in (wrong, sp.csr_array(wrong)):
        with pytest.raises(DataError, match=r"X contains (NaN.*fill|infinity)"):
            model.transform(each)


# ---- errors say what is wrong, what is allowed and what to do ---------------------------------


NEGATIVE = X.astype(float)
NEGATIVE[3, 7] = -2.5


@pytest.mark.parametrize(
    ("parameters", "data", "words"),
    [
        ({}, NEGATIVE, ["Negative values", "-2.5, in row 3, column 7", "counts are ≥ 0"]),
        ({}, sp.csr_array(NEGATIVE), ["-2.5, in row 3, column 7"]),
        ({}, X[0], ["got 1D array", "documents × terms", "x.reshape(1, -1)"]),
        ({}, X[:0], ["at least one document"]),
        ({}, np.ones((2, 3, 4)), ["dim 3", "documents × terms, a matrix"]),
        ({}, np.where(X == 0, np.inf, X), ["infinity", "finite numbers"]),
        ({}, np.where(X == 0, np.nan, X), ["NaN", "fill the cells with 0"]),
        ({}, ["a text", "another"], ["are these texts?", "CountVectorizer"]),
        ({}, ["a long text " * 1000], ["a long t…; are these texts?"]),
        ({}, np.ma.masked_equal(X, 0), ["masked cells", "train_layerwise"]),
        ({"random_state": "abc"}, X, ["random_state='abc'", "None, an integer from 0"]),
        ({"burn_in": 1.5}, X, ["burn_in=1.5 must be an integer of at least 1"]),
        ({"burn_in": [1, 2, 3]}, X, ["burn_in=[1, 2, 3]", "or 2 of them, one for each layer"]),
        ({"depth": 1, "eta": [0.1, 0.2]}, X, ["eta=[0.1, 0.2]", "as there is one layer"]),
        ({"layer": 7}, X, ["layer=7", "from 1 to depth=2, or None for all layers"]),
    ],
)
def test_errors_say_what_to_do(parameters: dict[str, Any], data: Any, words: list[str]) -> None:
    with pytest.raises(pgbn.DataError) as error:
        pgbn.PGBN(**{"max_width": 3, "depth": 2, **FAST, **parameters}).fit(data)
    for each in words:
        assert each in str(error.value)


def test_another_number_of_terms_points_to_the_vectorizer(model: pgbn.PGBN) -> None:
    with pytest.raises(
        pgbn.DataError, match=r"X has 7 features.*expecting 9.*vectorizer\.transform"
    ):
        model.transform(X[:, :7])


def test_frequencies_are_not_taken_for_counts_silently() -> None:
    shares = X / X.sum(axis=1, keepdims=True)
    with pytest.warns(pgbn.PgbnWarning, match="weights, not counts.*or frequencies"):
        pgbn.PGBN(3, 1, **FAST).fit(shares)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_link("auto", X * 0.7) == "gamma", "other reals are no texts"
