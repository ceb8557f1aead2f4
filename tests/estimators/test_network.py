"""Any network as a transformer of scikit-learn."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import pgbn as pg
from pgbn import NetworkTransformer
from pgbn.errors import DataError, NetworkError, StorageError
from pgbn.storage.archive import read_arrays
from tests.helpers.own_family import own_family
from tests.helpers.saved_kinds import read_body, sign, write_group

RNG = np.random.default_rng(0)
X = RNG.poisson(RNG.gamma(0.5, 10.0, (50, 3)) @ RNG.dirichlet(np.full(12, 0.1), 3))
FAST: dict[str, Any] = {"burn_in": 4, "draws": 3, "thin": 2, "transform_burn_in": 3,
                        "transform_draws": 6, "random_state": 0, "min_width": 1}  # fmt: skip
REALS = partial(pg.zoo.pgbn, link="gamma")


def with_amounts(link: type[pg.extend.Observed] = pg.Poisson) -> pg.Network:
    """A network of one's own: topics, and a background whose amount belongs to the row."""
    theta = pg.Gamma("theta", 0.5, 1.0, dims=("row", "topic"))
    phi = pg.Dirichlet("phi", 0.1, over="column", dims="topic")
    amount = pg.Gamma("amount", 1.0, 1.0, dims="row")
    background = pg.Dirichlet("background", 0.5, over="column")
    rate = phi @ theta + background * amount
    return pg.Network(link("x", rate, dims=("row", "column")), sizes={"topic": 3})


@pytest.fixture(scope="module")
def model() -> NetworkTransformer:
    return NetworkTransformer(with_amounts(), rows="row", features="theta", **FAST).fit(X)


@pytest.fixture(scope="module")
def grown() -> NetworkTransformer:
    return NetworkTransformer(pg.zoo.pgbn, max_width=(6, 3), depth=2, **FAST).fit(X)


@pytest.mark.parametrize(
    "estimator",
    [
        NetworkTransformer(pg.zoo.pgbn([3], link="gamma"), **FAST | {"draws": 2, "thin": 1}),
        pytest.param(
            NetworkTransformer(REALS, max_width=3, depth=2, **FAST | {"draws": 2, "thin": 1}),
            marks=pytest.mark.long,
        ),
    ],
    ids=["network", "function"],
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_networks_of_reals(estimator: NetworkTransformer) -> None:
    results = check_estimator(estimator, on_fail=None)
    failed = {
        result["check_name"]: repr(result["exception"])
        for result in results
        if result["status"] not in ("passed", "skipped")
    }
    assert failed == {}
    assert sum(result["status"] == "passed" for result in results) > 30


def test_networks_of_counts_refuse_reals() -> None:
    for network in (pg.zoo.pfa(3), pg.zoo.pgbn):
        with pytest.raises(DataError, match=r"X: the data have non-integer values.*PoissonGamma"):
            NetworkTransformer(network, **FAST).fit(X + 0.5)


def test_features_are_the_posterior_means_of_new_rows(model: NetworkTransformer) -> None:
    found = model.network_.infer({"x": X}, given=model.draws_, rows="row", nodes=["theta"],
                                 burn_in=3, draws=6, seed=model._seed, threads=1)  # fmt: skip
    features = model.transform(X)
    np.testing.assert_array_equal(features, found["theta"])
    np.testing.assert_array_equal(model.transform(X[::-1])[::-1], features)
    np.testing.assert_array_equal(model.transform(sp.csr_array(X[7:9])), features[7:9])
    assert model.get_feature_names_out().tolist() == ["theta_0", "theta_1", "theta_2"]
    assert model.draws_["phi"].shape == (3, 3, 12)
    again = clone(model).set_params(n_jobs=2).fit(X)
    np.testing.assert_array_equal(again.transform(X), features)


def test_rates_go_back(model: NetworkTransformer, grown: NetworkTransformer) -> None:
    features = model.transform(X)
    means = model.means_
    rates = features @ means["phi"] + means["amount"].item() * means["background"]
    np.testing.assert_allclose(model.inverse_transform(features), rates)
    back = grown.inverse_transform(grown.transform(X))
    assert back.shape == X.shape
    assert back.sum() == pytest.approx(X.sum(), rel=0.2)
    with pytest.raises(DataError, match="Z: features have 2 columns; theta has 3"):
        model.inverse_transform(features[:, :2])


def test_the_score_is_the_log_density_at_the_means(model: NetworkTransformer) -> None:
    found = model.network_.infer({"x": X}, given=model.draws_, rows="row", burn_in=3, draws=6,
                                 seed=model._seed, threads=1)  # fmt: skip
    means = model.means_
    rate = found["theta"] @ means["phi"] + np.outer(found["amount"], means["background"])
    expected = pg.Poisson("x", 1.0).log_density(X, rate=rate).sum() / len(X)
    assert model.score(X) == pytest.approx(expected)
    assert model.score(X) > model.score(np.roll(X, 1, axis=1) + 3)


def test_a_function_is_grown(grown: NetworkTransformer) -> None:
    assert isinstance(grown.training_, pg.LayerwiseTraining)
    widths = grown.training_.widths
    assert grown.transform(X).shape == (50, widths[0])
    upper = clone(grown).set_params(features="theta2").fit(X)
    assert upper.get_feature_names_out().tolist() == [f"theta2_{k}" for k in range(widths[1])]
    np.testing.assert_array_equal(upper.network_.sizes["topic2"], widths[1])
    with pytest.raises(DataError, match="features='theta2': the network has 1 of 2 layers: layer"):
        clone(upper).set_params(min_width=50).fit(X)
    with pytest.warns(pg.PgbnWarning, match="the network has 1 of 2 layers"):
        clone(grown).set_params(min_width=50).fit(X)


def test_data_with_rows_as_the_second_dim() -> None:
    network = pg.Network(
        pg.Poisson(
            "x",
            pg.Dirichlet("phi", 0.1, over="term", dims="topic")
            @ pg.Gamma("theta", 0.5, 1.0, dims=("topic", "doc")),
            dims=("term", "doc"),
        ),
        sizes={"topic": 3},
    )
    model = NetworkTransformer(network, features="theta", **FAST).fit(X)
    features = model.transform(X)
    assert features.shape == (50, 3)
    np.testing.assert_allclose(model.inverse_transform(features), features @ model.means_["phi"])
    assert np.isfinite(model.score(X))


def test_it_stands_in_a_pipeline() -> None:
    labels = X[:, :6].sum(axis=1) > X[:, 6:].sum(axis=1)
    model = NetworkTransformer(pg.zoo.pfa(3), **FAST | {"burn_in": 30})
    pipeline = make_pipeline(model, LogisticRegression()).fit(X, labels)
    assert pipeline.score(X, labels) > 0.7


@pytest.mark.parametrize("name", ["model", "grown"])
def test_saved_and_pickled(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    fitted: NetworkTransformer = request.getfixturevalue(name)
    pg.save(fitted, tmp_path / "it")
    for again in (pg.load(tmp_path / "it"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
        np.testing.assert_array_equal(again.inverse_transform(fitted.transform(X)),
                                      fitted.inverse_transform(fitted.transform(X)))  # fmt: skip
        assert again.score(X) == fitted.score(X)
        assert again.n_features_in_ == 12
    np.testing.assert_array_equal(clone(again).fit(X).transform(X), fitted.transform(X))


def test_means_of_whole_numbers_are_saved(tmp_path: Path) -> None:
    """They were rejected, as values of the node would be: folders could not be loaded."""
    shape = 0.5 + pg.HiddenPoisson("h", 2.0, dims="topic")
    r = pg.Gamma("r", shape, 1.0, dims="topic")
    theta = pg.Gamma("theta", r, 1.0, dims=("doc", "topic"))
    rate = pg.Dirichlet("phi", 0.1, over="term", dims="topic") @ theta
    network = pg.Network(pg.Poisson("x", rate, dims=("doc", "term")), sizes={"topic": 3})
    model = NetworkTransformer(network, **FAST).fit(X)
    assert (model.means_["h"] % 1).any()
    pg.save(model, tmp_path)
    np.testing.assert_array_equal(pg.load(tmp_path).transform(X), model.transform(X))
    pg.TrainedNetwork(network, ("topic",), {"h": np.array([0.5, 1.5, 4.0])})


def one_layer(widths: Any) -> pg.Network:
    """A function that is in no zoo."""
    return pg.zoo.pgbn(widths)


def test_what_files_hold(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"w{v}" for v in range(12)])
    model = NetworkTransformer(one_layer, max_width=np.array([4, 2]), **FAST).fit(frame)
    pg.save(model, tmp_path / "own")
    again = pg.load(tmp_path / "own")
    assert again.network.to_json() == model.network_.to_json()  # files hold no functions
    assert again.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    pg.save(NetworkTransformer(pg.zoo.pgbn, depth=3), tmp_path / "new")
    fresh = pg.load(tmp_path / "new")
    assert fresh.depth == 3
    with pytest.raises(NotFittedError):
        fresh.transform(X)
    with pytest.raises(StorageError, match="random_state is a generator"):
        pg.save(NetworkTransformer(random_state=np.random.RandomState(0)), tmp_path / "no")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"network": None}, "network=None: give a pgbn.Network"),
        ({"network": 3}, "^network=3: give a function from widths to a pgbn.Network"),
        ({"network": own_family}, "network: it has the observed nodes words, labels"),
        ({"rows": "docs"}, "rows='docs': X is a matrix, and x has the dims"),
        ({"features": "phi1"}, "features='phi1': no latent node .* dim 'doc'"),
        ({"features": "theta"}, "features='theta'.*Did you mean 'theta1'"),
        ({"draws": 0}, "draws=0 must be"),
        ({"thin": 1.5}, "thin=1.5 must be"),
        ({"transform_draws": 0}, "transform_draws=0"),
        ({"network": pg.zoo.pgbn, "depth": 0}, "depth=0 must be"),
        ({"network": pg.zoo.pgbn, "max_width": (3, 4)}, "max_width=.3, 4.: 4 is more than"),
    ],
    ids=lambda case: case if isinstance(case, str) else ", ".join(case),
)
def test_wrong_settings_are_refused_before_any_work(arguments: Any, message: str) -> None:
    model = NetworkTransformer(**{"network": pg.zoo.pfa(3), **FAST, **arguments})
    with pytest.raises(DataError, match=message):
        model.fit(X)
    assert not hasattr(model, "network_")


def test_rows_that_depend_on_each_other_are_refused() -> None:
    with pytest.raises(NetworkError, match="depends on its own previous row"):
        NetworkTransformer(pg.zoo.pgds(3), rows="time", **FAST).fit(X)


@pytest.mark.parametrize(("name", "change"), [
    ("means/phi1", lambda a: a[None]), ("means/phi1", lambda a: a[:, :-1]),
    ("means/phi1", lambda a: a * np.nan), ("means/phi1", lambda a: a * 2.0),
    ("means/r", lambda a: a * 1e300), ("draws/phi1", lambda a: a[0]), ("draws/r", lambda a: a[:-1]),
    ("draws/theta1", lambda a: a), ("means/x", lambda a: a), ("means/phi1", None),
])  # fmt: skip
def test_draws_and_means_of_a_forged_folder(tmp_path: Path, name: str, change: Any) -> None:
    """They were believed: errors of numpy, or NaN, came from the verbs that used them."""
    pg.save(NetworkTransformer(pg.zoo.pgbn([3]), **FAST).fit(X), tmp_path)
    body = read_body(tmp_path)
    arrays = {n: np.array(a) for n, a in read_arrays(tmp_path, body, "model").items()}
    old = arrays.pop(name, arrays["draws/r"])
    if change is not None:
        arrays[name] = change(old)
    write_group(tmp_path, body, "model", arrays)
    sign(tmp_path, body)
    with pytest.raises(StorageError, match="damaged"):
        pg.load(tmp_path)


def test_draws_as_arviz_takes_them() -> None:
    pytest.importorskip("arviz_base")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :4], columns=list("abcd"))
    model = NetworkTransformer(pg.zoo.pfa(2), **FAST).fit(frame)
    phi = model.to_arviz()["posterior"]["phi1"]
    assert phi.dims == ("chain", "draw", "topic1", "term")
    np.testing.assert_array_equal(phi.sel(term="b")[0], model.draws_["phi1"][..., 1])
