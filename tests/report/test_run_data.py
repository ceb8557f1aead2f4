"""What the report shows of the draws of any network."""

import numpy as np
import pytest

import pgbn
from pgbn.engine.run.draws import Draws
from pgbn.errors import DataError
from pgbn.report.run_data import label_free_traces, run_data


@pytest.fixture(scope="module")
def run():
    network = pgbn.zoo.lda(3)
    x = np.random.default_rng(0).poisson(1.0, (5, 4))
    return network, network.sample({"x": x}, burn_in=2, draws=6, thin=2, chains=2, progress=False)


def test_traces_do_not_depend_on_the_numbering_of_topics(run):
    network, draws = run
    order = [2, 0, 1]
    swapped = {"phi": draws["phi"][:, :, order], "theta": draws["theta"][..., order]}
    for one, two in zip(label_free_traces(network, draws),
                        label_free_traces(network, Draws(swapped, draws.dims, draws.attributes)),
                        strict=True):  # fmt: skip
        assert one.name == two.name
        np.testing.assert_allclose(one.values, two.values)


def test_numbers_totals_and_squares(run):
    network, draws = run
    by_name = {each.name: each for each in label_free_traces(network, draws)}
    assert set(by_name) == {"mean Σp² of theta", "mean Σp² of phi"}
    squares = (draws["theta"] ** 2).sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(by_name["mean Σp² of theta"].values, squares)
    np.testing.assert_array_equal(by_name["mean Σp² of theta"].sweeps, [4, 6, 8, 10, 12, 14])
    net = pgbn.zoo.pfa(2)
    x = np.random.default_rng(0).poisson(1.0, (5, 4))
    draws = net.sample({"x": x}, burn_in=0, draws=3, progress=False)
    by_name = {each.name: each for each in label_free_traces(net, draws)}
    np.testing.assert_array_equal(by_name["gamma0"].values, draws["gamma0"])
    np.testing.assert_allclose(by_name["total of r"].values, draws["r"].sum(axis=-1))


def test_simplex_nodes_have_names_from_coords(run):
    network, draws = run
    terms = ["ant", "bee", "cow", "dog"]
    data = run_data(draws, network, coords={"term": terms})
    simplexes = {each.name: each for each in data.simplexes}
    phi = simplexes["phi"]
    assert phi.columns == tuple(terms)
    assert phi.rows == ("topic 0", "topic 1", "topic 2")
    np.testing.assert_allclose(phi.mean, draws["phi"][0].mean(axis=0))
    np.testing.assert_allclose(simplexes["theta"].mean.sum(axis=1), 1.0)
    assert simplexes["theta"].columns == ("0", "1", "2")


def test_every_node_has_a_row_and_settings_are_told(run):
    network, draws = run
    data = run_data(draws, network, settings={"source": "letters"})
    assert [row[0] for row in data.nodes] == list(network.nodes)
    assert {row[0]: row[3] for row in data.nodes}["x"] == "observed"
    assert data.settings["chains"] == 2
    assert data.settings["draws of each"] == 6
    assert data.settings["source"] == "letters"
    only = network.sample(
        {"x": np.ones((2, 3), int)}, burn_in=0, draws=2, keep="phi", progress=False
    )
    assert {row[0]: row[3] for row in run_data(only, network).nodes}["theta"] == "not kept"


def test_draws_bring_their_network_and_names(tmp_path):
    network, terms = pgbn.zoo.lda(2), list("abc")
    x = np.random.default_rng(0).poisson(1.0, (4, 3))
    draws = network.sample({"x": x}, burn_in=1, draws=3, coords={"term": terms}, progress=False)
    data = run_data(draws)
    assert [row[0] for row in data.nodes] == list(network.nodes)
    assert {each.name: each.columns for each in data.simplexes}["phi"] == ("a", "b", "c")
    assert data.settings["data x"] == "4 doc × 3 term"
    assert "unfinished" not in data.settings
    renamed = run_data(draws, coords={"topic": ["one", "two"]}).simplexes
    assert {each.name: each.rows for each in renamed}["phi"] == ("topic one", "topic two")
    page = draws.report(tmp_path / "page.html", title="Letters", settings={"from": "<a> box"})
    text = page.read_text("utf-8")
    assert '<h1 dir="auto">Letters</h1>' in text
    assert "data:image/svg+xml;base64," in text
    assert "&lt;a&gt; box" in text


def test_what_cannot_be_shown_is_refused(run):
    network, draws = run
    with pytest.raises(DataError, match=r"which network.*give network="):
        run_data(Draws(draws.values, draws.dims))
    with pytest.raises(DataError, match=r"coords: 2 labels along 'term', but its size is 4"):
        run_data(draws, coords={"term": ["a", "b"]})
    none = {name: value[:, :0] for name, value in draws.values.items()}
    with pytest.raises(DataError, match="none was kept so far"):
        run_data(Draws(none, draws.dims), network)
    stopped = Draws(draws.values, draws.dims, draws.attributes, interrupted=True)
    assert "the draws so far" in run_data(stopped, network).settings["unfinished"]


def test_a_run_in_a_folder_is_read_block_by_block(tmp_path, monkeypatch):
    """Never a node whole: it may be larger than the memory."""
    network, x = pgbn.zoo.pfa(2), np.random.default_rng(0).poisson(1.0, (5, 4))
    options = {"burn_in": 1, "draws": 7, "chains": 2, "progress": False}
    monkeypatch.setattr("pgbn.engine.run.run_store.BLOCK_BYTES", 1)  # a block for each draw
    network.sample({"x": x}, **options, save=tmp_path / "run")
    saved = pgbn.load(tmp_path / "run")
    assert all(len(starts) > 1 for starts in saved.values.layout["phi1"])
    monkeypatch.setattr(type(saved.values), "_stack", lambda *_: pytest.fail("read whole"))
    one, two = run_data(saved), run_data(network.sample({"x": x}, **options))
    assert one.nodes == two.nodes
    for a, b in zip(one.series, two.series, strict=True):
        np.testing.assert_allclose(a.values, b.values)
    for a, b in zip(one.simplexes, two.simplexes, strict=True):
        np.testing.assert_allclose(a.mean, b.mean)
