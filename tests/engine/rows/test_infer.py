"""New rows: the same bits in any company, and the law of a joint run with the rest given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import pgbn
import pgbn as pg
from pgbn import Network, zoo
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import read_array
from pgbn.engine.rows import infer as module
from pgbn.engine.rows.independent import row_network
from pgbn.engine.rows.infer import (
    by_row,
    count_rows_of,
    hash_rows,
    infer_rows,
    row_coords,
)
from pgbn.errors import DataError, NetworkError
from tests.helpers.means import difference
from tests.helpers.models import sizes_of, zoo_models

MODELS = zoo_models()
IN_TIME = ("gp_dpfa", "pgds")
SLOW = ("pgbn, bernoulli, T=1", "pgbn, gamma, T=1", "pgbn, gamma, T=2", "pgbn, T=1")
LOCAL = [name for name in MODELS if name not in IN_TIME]
QUICK = {"burn_in": 4, "draws": 5}

pytestmark = pytest.mark.filterwarnings("ignore::pgbn.PgbnWarning")


def example(network: Network, rows: int = 3) -> tuple[dict[str, Any], dict[str, Any]]:
    """Data of some rows, and values of all latent nodes."""
    sizes = {**sizes_of(network), "doc": rows} if rows != 3 else sizes_of(network)
    drawn = network.generate(seed=5, sizes=sizes)
    data = {name: drawn[name] for name in network.observed}
    return data, {name: drawn[name] for name in network.latent}


def rows_of(network: Network, data: dict[str, Any], chosen: list[int]) -> dict[str, Any]:
    return {n: np.take(v, chosen, network[n].axes.index("doc")) for n, v in data.items()}


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in LOCAL]
)
def test_a_row_has_the_same_bits_in_any_company(case: str, monkeypatch: Any) -> None:
    network = MODELS[case]
    data, given = example(network)
    whole = network.infer(data, given, "doc", **QUICK, keep="draws", threads=1)
    order = [2, 0, 1, 0]
    other = network.infer(rows_of(network, data, order), given, "doc", **QUICK, threads=2)
    monkeypatch.setattr(module, "BATCH", 1)  # a batch for each row
    alone = network.infer(data, given, "doc", **QUICK, keep="draws")
    for name in whole:
        axis = whole.dims[name].index("doc")
        assert np.array_equal(np.take(whole[name], order, axis), other[name]), name
        assert np.array_equal(np.take(whole.sd[name], order, axis), other.sd[name]), name
        assert np.array_equal(whole.draws[name], alone.draws[name]), name
    again = network.infer(data, given, "doc", **QUICK, seed=1)
    assert any(not np.array_equal(again[name], whole[name]) for name in whole)


@pytest.mark.parametrize("case", LOCAL)
def test_the_law_is_that_of_a_joint_run_with_the_rest_given(case: str) -> None:
    network = MODELS[case]
    data, given = example(network)
    inferred = network.infer(data, given, "doc", 50, 1000, keep="draws", seed=1)
    joint = module.row_network(network, "doc")
    known = {name: given[name] for name in joint.given}
    drawn = joint.sample(data, 50, 1000, seed=2, given=known, progress=False, sampler="composed")
    for name in inferred:
        one, two = inferred.draws[name], drawn[name][0]
        for function in (np.log1p, lambda value: value / (1 + value)):
            z = difference(function(one), function(two))
            assert np.abs(z).max() < 4.5, (name, z)


def test_many_draws_bring_their_uncertainty() -> None:
    network = zoo.pfa(2, 0.5)
    phi = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.9, 0.1]]])
    data = {"x": np.array([[30, 5]])}
    both, first, second = (
        network.infer(data, {"phi1": p, "r": np.ones(2)}, "doc", 50, 1000, nodes=["theta1"])
        for p in (phi, phi[0], phi[1])
    )
    mean = (first["theta1"] + second["theta1"]) / 2
    assert np.allclose(both["theta1"], mean, rtol=0.1)
    spread = (first["theta1"] - second["theta1"]) ** 2 / 4
    within = (first.sd["theta1"] ** 2 + second.sd["theta1"] ** 2) / 2
    assert np.allclose(both.sd["theta1"], np.sqrt(spread + within), rtol=0.2)
    assert both.sd["theta1"].min() > 2 * first.sd["theta1"].max()


def test_moments_and_quantiles_are_those_of_the_draws() -> None:
    network = MODELS["pgbn, T=2"]
    data, given = example(network)
    out = network.infer(data, given, **QUICK, quantiles=[0.25, 0.5], keep="draws")
    assert list(out) == ["c3", "theta2", "p2", "theta1"]
    assert tuple(out.given) == ("phi1", "phi2", "r")
    assert out.left_out == ("gamma0", "c0")
    for name, draws in out.draws.items():
        assert draws.shape[0] == 5
        assert np.allclose(out[name], draws.mean(axis=0))
        assert np.allclose(out.sd[name], draws.std(axis=0))
        assert np.allclose(out.quantiles[name], np.quantile(draws, [0.25, 0.5], axis=0))
    table = out.to_xarray()
    assert table["theta1_quantile"].dims == ("quantile", "doc", "topic1")
    assert table["theta1_draw"].shape == out.draws["theta1"].shape
    assert "left out: gamma0, c0" in repr(out)
    some = infer_rows(network, data, given, **QUICK, nodes="theta1", kernels=False)
    assert np.array_equal(some["theta1"], out["theta1"])
    assert not some.draws
    with pytest.raises(pgbn.PgbnError, match="'p2' was not inferred"):
        some["p2"]


def test_sparse_data_and_draws_of_a_sample() -> None:
    network = MODELS["pfa"]
    data, _ = example(network)
    draws = network.sample(data, 5, 4, progress=False)
    dense = network.infer(data, draws, "doc", **QUICK)
    sparse = network.infer({"x": sp.csr_array(data["x"])}, draws, "doc", **QUICK)
    assert np.array_equal(dense["theta1"], sparse["theta1"])
    means = {name: draws.mean(name) for name in draws}
    assert network.infer(data, means, "doc", **QUICK)["theta1"].shape == (3, 2)


def test_rows_with_missing_cells_or_many_tokens_do_not_change_the_others(monkeypatch: Any) -> None:
    network = MODELS["pfa"]
    data, given = example(network)
    plain = network.infer(data, given, "doc", **QUICK)
    masked = np.ma.masked_array(data["x"], np.zeros((3, 3), bool))
    masked.mask[1, 2] = True
    part = network.infer({"x": masked}, given, "doc", **QUICK)
    assert np.array_equal(part["theta1"][[0, 2]], plain["theta1"][[0, 2]])
    assert not np.array_equal(part["theta1"][1], plain["theta1"][1])
    many = np.array(data["x"])
    many[1] = module.MOST_LABELS
    large = network.infer({"x": many}, given, "doc", **QUICK)
    assert np.array_equal(large["theta1"][[0, 2]], plain["theta1"][[0, 2]])
    assert large["theta1"][1].sum() == pytest.approx(3 * module.MOST_LABELS, rel=0.01)


def two_plates() -> Network:
    """x has documents and authors; rows of either are independent given the rest."""
    phi = pgbn.Dirichlet("phi", 0.5, over="term", dims="topic")
    theta = pgbn.Gamma("theta", 1.0, 1.0, dims=("topic", "doc"))
    s = pgbn.Gamma("s", 2.0, 2.0, dims="doc")
    x = pgbn.Poisson("x", s * (phi @ theta), dims=("term", "doc"))
    a = pgbn.Gamma("a", 1.0, 1.0, dims=("author", "topic"))
    y = pgbn.Poisson("y", phi @ a, dims=("author", "term"))
    return Network(x, y, sizes={"topic": 2, "term": 3})


def test_another_plate_and_rows_in_another_axis() -> None:
    network = two_plates()
    drawn = network.generate(seed=1, sizes={"doc": 4, "author": 5})
    for rows, names in (("doc", ["theta", "s"]), ("author", ["a"])):
        out = network.infer(drawn, {"phi": drawn["phi"]}, rows, **QUICK)
        assert sorted(out) == sorted(names)
        for name in names:
            assert out[name].shape == drawn[name].shape
    one = network.infer({"x": drawn["x"][:, [2]]}, {"phi": drawn["phi"]}, "doc", **QUICK)
    all_ = network.infer(drawn, {"phi": drawn["phi"]}, "doc", **QUICK)
    assert np.array_equal(one["theta"], all_["theta"][:, [2]])


def refused() -> Iterator[tuple[str, Any, Any, list[str]]]:
    pfa = MODELS["pfa"]
    data, given = example(pfa)
    for name in IN_TIME:
        yield name, MODELS[name], ({}, {}, "time"), ["its own previous row", "net.forecast"]
    yield "dim", pfa, (data, given, "docs"), ["rows='docs'", "Did you mean 'doc'"]
    yield "terms", pfa, (data, given, "term"), ["phi1 sums to one over 'term'"]
    yield "no data", pfa, (data, given, "topic1"), ["no observed node has this dim"]
    yield "missing", pfa, (data, {"r": given["r"]}, "doc"), ["no value of 'phi1'", "keep="]
    yield "unknown", pfa, (data, given | {"phi2": 1}, "doc"), ["no node 'phi2'"]
    yield "not a dict", pfa, (data, 3, "doc"), ["given=3"]
    yield "not data", pfa, (3, given, "doc"), ["data must be a dict"]
    known = pgbn.Constant(value=np.ones(3), dims=("doc",))
    theta = pgbn.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    phi = pgbn.Dirichlet("phi", 0.5, over="term", dims="topic")
    net = Network(
        pgbn.Poisson("x", known * (phi @ theta), dims=("doc", "term")), sizes={"topic": 2}
    )
    yield "constant", net, (data, {"phi": given["phi1"]}, "doc"), ["constant array along 'doc'"]
    graph = pgbn.Network(
        pgbn.Poisson("x", theta.rename(doc="i") @ phi.rename(term="doc"), dims=("i", "doc")),
        sizes={"topic": 2},
    )
    yield "renamed", graph, (data, {}, "doc"), ["has 'doc' as 'i'"]
    zero = given | {"phi1": np.array([[1.0, 0, 0], [1.0, 0, 0]])}
    yield "impossible", pfa, ({"x": np.ones((1, 3), int)}, zero, "doc"), ["probability 0", "term 1"]


CASES = {case: rest for case, *rest in refused()}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_inferred_is_refused(case: str) -> None:
    network, (data, given, rows), words = CASES[case]
    with pytest.raises((DataError, NetworkError)) as error:
        network.infer(data, given, rows)
    for word in words:
        assert word in str(error.value), error.value


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"draws": 0}, "draws=0"),
        ({"burn_in": -1}, "burn_in=-1"),
        ({"nodes": ["phi1"]}, "'phi1' does not belong to the rows"),
        ({"quantiles": [2]}, "from 0 to 1"),
        ({"keep": "all"}, "keep='all'"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], words: str) -> None:
    data, given = example(MODELS["pfa"])
    with pytest.raises(DataError, match=words):
        MODELS["pfa"].infer(data, given, "doc", **arguments)


# ---- new rows of which only some data are known, and what they are called ------------------------


def network() -> pg.Network:
    """Counts of terms and labels, both on the topics of a document."""
    theta = pg.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
    effects = pg.Gamma("effects", 1.0, 1.0, dims=("topic", "label"))
    x = pg.Poisson("x", phi @ theta, dims=("doc", "term"))
    y = pg.BernoulliPoisson("y", effects @ theta, dims=("doc", "label"))
    return pg.Network(x, y, sizes={"topic": 2})


NET = network()
SIZES = {"doc": 12, "term": 3, "label": 2}
DRAWN = NET.generate(seed=1, sizes=SIZES)
X = pd.DataFrame(DRAWN["x"], columns=["a", "b", "c"], index=[f"d{i}" for i in range(12)])
Y = pd.DataFrame(DRAWN["y"], columns=["old", "new"], index=X.index)
PAST = NET.sample({"x": X, "y": Y}, burn_in=5, draws=4, progress=False)


def test_what_is_not_known_is_left_out_as_if_all_of_it_were_masked() -> None:
    many: dict[str, Any] = {"burn_in": 50, "draws": 2000, "rows": "doc"}
    given = {name: PAST.mean(name) for name in ("phi", "effects")}
    alone = NET.infer({"x": X[:3]}, given, **many)
    masked = NET.infer({"x": X[:3], "y": np.ma.masked_all((3, 2), int)}, given, **many)
    np.testing.assert_allclose(alone["theta"], masked["theta"], atol=0.15)
    assert tuple(alone.given) == ("phi", "effects")  # kept for predictions of y


@pytest.mark.long
def test_labels_are_predicted() -> None:
    """E y = 1 − exp(−rate), averaged over the draws of both factors."""
    rows = NET.infer({"x": X[:3]}, PAST, "doc", draws=240, keep="draws")
    draws = rows.to_draws()
    assert draws.coords == {"doc": ["d0", "d1", "d2"], "term": list("abc"), "label": ["old", "new"]}
    found = draws.predict("y")[0]
    effects = np.repeat(PAST["effects"][0], 60, axis=0)
    expected = -np.expm1(-rows.draws["theta"] @ effects)
    np.testing.assert_allclose(found.mean(axis=0), expected.mean(axis=0), atol=0.13)
    assert draws.log_likelihood("x").shape == (1, 240, 3, 3)
    assert draws.log_likelihood("x", by="row").shape == (1, 240, 3)
    tree = draws.to_arviz(predict=["y"], log_likelihood=["x"])
    assert list(tree["posterior_predictive"]["y"].coords["label"].values) == ["old", "new"]
    assert np.isfinite(tree["sample_stats"]["lp"]).all()


def test_labels_along_dims() -> None:
    local = row_network(NET, "doc")
    assert row_coords(local, {"x": X[:1]}, PAST, "doc")["doc"] == ["d0"]
    with pytest.raises(pg.DataError, match="labels along 'term' are not those of the draws"):
        NET.infer({"x": X[["b", "a", "c"]]}, PAST, "doc")
    with pytest.raises(pg.PgbnError, match='keep="draws"'):
        NET.infer({"x": X[:1]}, PAST, "doc", burn_in=1, draws=4).to_draws()


# ---- data seen row by row ------------------------------------------------------------------------


ARRAY = np.random.default_rng(0).poisson(0.8, (4, 3, 5))


def cells_for(dims, array):
    return read_array(pgbn.Poisson("x", 1.0, dims=dims), array)


def test_a_missing_cell_changes_the_hash_of_its_row():
    plain, masked = ARRAY[0], np.ma.masked_array(ARRAY[0], np.eye(3, 5) * [[0], [1], [0]])
    one, two = (hash_rows({"x": by_row(cells_for(("a", "c"), x), "a")}) for x in (plain, masked))
    assert np.flatnonzero(one != two).tolist() == [1]


def test_data_of_several_nodes_must_have_as_many_rows():
    one: Cells = by_row(cells_for(("a", "c"), ARRAY[0]), "a")
    two = by_row(cells_for(("a", "c"), ARRAY[0][:2]), "a")
    with pytest.raises(DataError, match="3 rows of 'x', but 2 of 'y'"):
        count_rows_of({"x": one, "y": two})
