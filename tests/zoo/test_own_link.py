"""A link that is added in one file outside the package: everything that takes a link takes it."""

from dataclasses import replace

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.errors import DataError, NetworkError, StorageError
from pgbn.evaluation.held_out import mean_log_density
from pgbn.samplers.variates.gig import draw_bessel
from pgbn.samplers.variates.poisson import draw_truncated_poisson
from pgbn.testing import check_conjugacy, geweke
from pgbn.zoo import links
from pgbn.zoo.links import register_link
from tests.helpers.boxes_link import BOXES
from tests.helpers.documents import TERMS, calibration, draw, model_of, quiet
from tests.helpers.models import pgbn as mild_pgbn
from tests.helpers.models import sizes_of

RNG = np.random.default_rng(0)
X = (RNG.poisson(1.5, (40, 12)) + 1) // 2
FEW = {"burn_in": 6, "sweeps": 4, "threads": 1, "progress": False}


@pytest.fixture
def table(monkeypatch):
    """The table of links, for a test that adds to it."""
    monkeypatch.setattr(links, "_links", dict(links._links))


@pytest.fixture(scope="module")
def trained():
    return pgbn.train_layerwise(X, 6, 2, link="boxes", min_width=1, **FEW)


# ---- the model ------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2])
def test_the_joint_distribution(depth):
    network = mild_pgbn(depth, "boxes")
    result = geweke(network, sizes_of(network), 4_000, 6, seed=1)
    assert result.worst < 4, result
    assert not check_conjugacy(network, sizes_of(network)).failures


# ---- training, new rows, synthetic documents ------------------------------------------


def test_training_is_saved_and_loaded(trained, tmp_path):
    pgbn.save(trained, tmp_path / "model")
    again = pgbn.load(tmp_path / "model")
    assert again.deepest.link == "boxes"
    np.testing.assert_array_equal(again.deepest.phi[0], trained.deepest.phi[0])
    found = [model.infer(X, burn_in=3, draws=3)["theta2"] for model in (trained, again)]
    np.testing.assert_array_equal(*found)
    longer = pgbn.train_layerwise(X, 6, 2, link="boxes", min_width=1, start_from=again, **FEW)
    assert longer.deepest.sweeps > trained.deepest.sweeps


@pytest.mark.parametrize("widths", [(4,), (4, 3)])
def test_posterior_moments_obey_the_law_of_total_expectation(widths):
    model = model_of("boxes", widths, scale=0.5)
    joint = draw(model, 1200, seed=len(widths))
    found = quiet(model, joint["x"], burn_in=150, draws=200)
    assert np.abs(calibration(model, joint, found)).max() < 4.0


def test_the_law_of_total_expectation_sees_a_wrong_count(table):
    """Every box is full: a tenth of the things too many."""
    wrong = replace(BOXES, name="full", latent=lambda rng, value, rate, noise: 2 * int(value))
    register_link(wrong)
    model = model_of("boxes", (4, 3), scale=0.5)
    joint = draw(model, 1200, seed=2)
    found = quiet(model.with_topics(link="full"), joint["x"], burn_in=150, draws=200)
    assert np.abs(calibration(model, joint, found)).max() > 5.0


def test_a_built_in_link_from_outside_is_the_built_in_one_bit_for_bit(table):
    def positive(rng, value, rate, noise):
        return draw_truncated_poisson(rng, rate)

    def gamma(rng, value, rate, noise):
        both = np.log(noise * value) + np.log(max(rate, 1e-300))
        return draw_bessel(rng, np.log(2.0) + 0.5 * both)

    laws = {"bernoulli": positive, "gamma": gamma}
    data = {"bernoulli": (X > 0).astype(int)[:, :TERMS], "gamma": 0.37 * X[:, :TERMS]}
    for name, law in laws.items():
        register_link(replace(links.get_link(name), name=f"own {name}", latent=law, suits=None))
        own, built_in = (
            quiet(model_of(link), data[name], burn_in=5, draws=20, threads=2)
            for link in (f"own {name}", name)
        )
        for t in own.layers:
            np.testing.assert_array_equal(own[f"theta{t}"], built_in[f"theta{t}"])
            np.testing.assert_array_equal(
                own.proportions_sd[f"theta{t}"], built_in.proportions_sd[f"theta{t}"]
            )


def test_documents_are_generated(trained):
    model = model_of("boxes", (4, 3))
    made = model.generate(3000, seed=1)
    rate = made["theta1"] @ model.phi[0]
    expected = rate / 2 + (1 - np.exp(-2 * rate)) / 4  # E ⌈n/2⌉ = (E n + P(n odd)) / 2
    error = (made["x"].toarray() - expected).mean(axis=0)
    spread = (made["x"].toarray() - expected).std(axis=0) / np.sqrt(3000)
    assert (np.abs(error) < 4.5 * spread).all()
    with pytest.raises(DataError, match="only documents of counts"):
        trained.generate(1, length=5)
    with pytest.raises(DataError, match="perplexity is defined for counts; the link is 'boxes'"):
        trained.perplexity(X)


# ---- the estimators, the command line, the report -------------------------------------


def test_the_estimators_take_it(tmp_path):
    pytest.importorskip("sklearn")
    settings = {"burn_in": 6, "sweeps": 4, "transform_burn_in": 5, "transform_draws": 10}
    model = pgbn.PGBN(6, 2, link="boxes", min_width=1, random_state=0, **settings).fit(X)
    assert model.link_ == "boxes"
    assert model.transform(X).shape == (40, model.widths_[0])
    units = model.training_.infer(X, layers=1, **model._chain())["theta1"]
    expected = mean_log_density(model.training_.deepest, X, units)
    assert model.score(X) == pytest.approx(expected)
    assert model.generate(3)["x"].shape == (3, 12)
    model.report(tmp_path / "page.html", X)
    assert pgbn.PGBN(6, 1, random_state=0, **settings).fit(X).link_ == "poisson"


def test_auto_asks_links_in_turn(table):
    pytest.importorskip("sklearn")
    register_link(replace(BOXES, suits=lambda values: values.max() <= 3))
    settings = {"burn_in": 2, "sweeps": 2, "random_state": 0}
    assert pgbn.PFA(3, **settings).fit(np.minimum(X, 3)).link_ == "boxes"
    assert pgbn.PFA(3, **settings).fit(5 * X).link_ == "poisson"


# ---- what is wrong, and what it costs -------------------------------------------------


def test_wrong_names_list_the_known_links():
    known = r"'poisson' \(counts\), 'bernoulli' \(0 and 1\), 'gamma' \(reals ≥ 0\).*'boxes' \(boxes"
    for run in (
        lambda: zoo.pgbn([2], link="boxs"),
        lambda: pgbn.train_layerwise(X, 3, 1, link="boxs", **FEW),
        lambda: pgbn.PGBN(3, 1, link="boxs").fit(X),
    ):
        with pytest.raises(NetworkError, match=rf"link='boxs': must be {known}.*mean 'boxes'"):
            run()


def test_a_model_of_a_link_that_is_not_registered(table, trained, tmp_path):
    pgbn.save(trained, tmp_path / "model")
    del links._links["boxes"]
    with pytest.raises(StorageError, match=r"link='boxes' must be one of.*import the module that"):
        pgbn.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("latent", "error", "message"),
    [
        (lambda rng, value: 1, DataError, "numba cannot compile it as a function of"),
        (lambda rng, value, rate, noise: "1", DataError, "numba cannot compile"),
        ("tobit", DataError, "latent='tobit': give a function.*'truncated_poisson', 'bessel'"),
        (lambda rng, value, rate, noise: -1, ValueError, "drew a negative count"),
    ],
)
def test_a_wrong_draw_of_counts_is_told(table, latent, error, message):
    register_link(replace(BOXES, name="wrong", latent=latent))
    with pytest.raises(error, match=message):
        model_of("wrong").infer(X[:, :TERMS] + 1, burn_in=1, draws=1)
