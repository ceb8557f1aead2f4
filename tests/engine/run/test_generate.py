"""Draws of the joint distribution, and values that are given: the rest is drawn given them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn import DataError, NetworkError, zoo
from pgbn.errors import MissingRuleError, StaleReadError
from pgbn.network.schedule import Schedule
from pgbn.testing import geweke
from tests.helpers.models import MILD
from tests.helpers.refusals import check_refused
from tests.helpers.small_data import NET, X, draw

Cases = dict[str, tuple[Callable[[], Any], list[str]]]

REFUSED: Cases = {
    "generate: size": (lambda: NET.generate(), ["sizes of some dims", "sizes={"]),
    "generate: name": (lambda: draw(given={"thet": 1}), ["given", "'thet'", "theta1"]),
    "generate: shape": (lambda: draw(given={"theta1": X}), ["theta1", "size 3"]),
    "generate: ndim": (lambda: draw(given={"theta1": [1.0]}), ["theta1", "(1,)"]),
    "generate: str": (lambda: draw(given={"theta1": "a"}), ["'theta1'", "array of numbers"]),
    "generate: ragged": (lambda: draw(given={"theta1": [[1], [1, 2]]}), ["unequal"]),
    "generate: negative": (lambda: draw(given={"theta1": -np.ones((2, 2))}), ["-1", "at least 0"]),
    "generate: sum": (lambda: draw(given={"phi1": np.full((2, 3), 0.5)}), [r"'phi1' sums to 1.5"]),
    "generate: data": (lambda: draw(given={"x": np.full((2, 3), 0.5)}), ["'x'", "0.5"]),
    "generate: seed": (lambda: NET.generate(seed=-1), ["seed=-1"]),
    "generate: sizes": (lambda: NET.generate(sizes=3), ["sizes=3", "dict"]),
    "generate: given": (lambda: draw(given=3), ["given=3", "dict"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    check_refused(build, (DataError, NetworkError), words)


def test_a_node_has_streams_of_its_own_name() -> None:
    """What else is in the network does not change its draws."""
    g = pg.Gamma("g", 2, 3, dims="i")
    alone = pg.Network(pg.Poisson("x", g, dims="i"))
    beside = pg.Network(pg.Poisson("x", pg.Gamma("a", 1, 1) * g, dims="i"))
    one, two = (network.generate(seed=1, sizes={"i": 5})["g"] for network in (alone, beside))
    assert np.array_equal(one, two)


# ---- given nodes keep their value and have no step ----

PHI = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]])
PFA = zoo.pfa(2)
DRAWS = np.stack([PHI, PHI[::-1], PHI[:, ::-1]])


@pytest.fixture(scope="module")
def x() -> Any:
    return np.random.default_rng(1).poisson(1.5, (6, 4))


@pytest.mark.parametrize("sampler", ["partial", "blocked", "composed"])
def test_a_given_node_keeps_its_value_and_has_no_step(x: Any, sampler: str) -> None:
    chain = PFA.chain({"x": x}, given={"phi1": PHI}, sampler=sampler).sweep(3)
    assert chain.sampler == sampler
    assert np.array_equal(chain.values["phi1"], PHI)
    assert "phi1" not in chain.schedule.names
    assert chain.network.given == ("phi1",)
    assert "phi1" not in chain.counts


def test_what_is_given_is_shown(x: Any) -> None:
    held = PFA.with_given("phi1")
    assert str(held.schedule).startswith("Given: phi1\n")
    assert held.role("phi1") == "given"
    assert held.free == [name for name in PFA.latent if name != "phi1"]
    assert "given Dirichlet" in held.explain()
    assert "given Dirichlet" not in PFA.explain()
    again = pg.Network.from_json(held.to_json())
    assert again.given == held.given
    assert str(again.schedule) == str(held.schedule)
    assert "given" not in PFA.to_json()
    ordered = PFA.with_order(PFA.schedule.names).with_given("phi1")
    assert ordered.order == tuple(name for name in PFA.schedule.names if name != "phi1")


def test_topics_that_are_given_are_never_collapsed(x: Any) -> None:
    assert PFA.chain({"x": x}, given={"phi1": PHI}).sampler == "partial"
    with pytest.raises(StaleReadError, match=r"integrates phi1 out, but phi1 is given"):
        PFA.chain({"x": x}, given={"phi1": PHI}, sampler="collapsed")


@pytest.mark.parametrize("sampler", ["partial", "blocked", "composed"])
def test_draws_are_taken_one_after_another(x: Any, sampler: str) -> None:
    chain = PFA.chain({"x": x}, given={"phi1": DRAWS}, sampler=sampler)
    assert np.array_equal(chain.values["phi1"], PHI)
    for sweep in range(1, 6):
        chain.sweep()
        assert np.array_equal(chain.values["phi1"], DRAWS[(sweep - 1) % 3])
    first = PFA.chain({"x": x}, given={"phi1": DRAWS[:2]}, sampler=sampler).sweep(2)
    other = PFA.chain({"x": x}, given={"phi1": np.stack([PHI, PHI])}, sampler=sampler).sweep(2)
    assert not np.array_equal(first.values["theta1"], other.values["theta1"])
    single = PFA.chain({"x": x}, given={"phi1": PHI}, sampler=sampler).sweep(2)
    assert np.array_equal(single.values["theta1"], other.values["theta1"])


def test_sampling_keeps_what_is_free_unless_asked(x: Any) -> None:
    draws = PFA.sample({"x": x}, 2, 4, given={"phi1": DRAWS[None]}, progress=False)
    assert "phi1" not in draws
    assert draws.attributes["given"] == ["phi1"]
    both = PFA.sample({"x": x}, 2, 4, given={"phi1": DRAWS}, progress=False, keep=["phi1", "r"])
    assert np.array_equal(both["phi1"][0], DRAWS[[2, 0, 1, 2]])
    again = PFA.with_given("phi1").sample({"x": x}, 2, 4, given=both, progress=False)
    assert list(again) == list(draws)


NOT_GIVEN: dict[str, tuple[Any, list[str]]] = {
    "unknown": ({"phi": PHI}, ["no node 'phi'", "Did you mean 'phi1'"]),
    "observed": ({"x": PHI}, ["'x' is observed", "data"]),
    "shape": ({"phi1": PHI[0]}, ["'phi1'", "(4,)", "('topic1', 'term')"]),
    "size": ({"phi1": PHI[:, :3] / PHI[:, :3].sum(1, keepdims=True)}, ["'term'", "3", "4"]),
    "negative": ({"phi1": -PHI}, ["'phi1'", "-0.5", "at least 0"]),
    "sum": ({"phi1": 2 * PHI}, ["'phi1'", "sums to 2", "divide by the sum"]),
    "not a number": ({"phi1": PHI * np.nan}, ["'phi1'", "nan"]),
    "text": ({"phi1": "topics"}, ["'phi1'", "numbers"]),
    "one draw is bad": ({"phi1": np.stack([PHI, 2 * PHI])}, ["sums to 2"]),
    "not a dict": (PHI, ["given=", "give a dict"]),
    "shape parent": ({"theta1": np.ones((6, 2))}, ["r (Gamma)", "shape", "Give r too"]),
    "odds": (
        {"theta1": np.ones((6, 2)), "r": np.ones(2), "gamma0": 1.0},
        ["p2 (BetaOdds)", "rate", "Give p2 too"],
    ),
    "zeros": (
        {"theta1": np.ones((6, 2)), "p2": np.zeros(6), "r": np.ones(2), "gamma0": 1.0},
        ["p2 has zeros", "rate of theta1"],
    ),
    "lengths": ({"phi1": DRAWS, "c0": np.ones(2)}, ["3 draws of 'phi1'", "2 of 'c0'"]),
}  # fmt: skip


def test_draws_know_what_was_given(x: Any, tmp_path: Any) -> None:
    """Predictions and new rows need the topics that were held, also from a folder; where draws of
    them were taken one after another, each draw has its own."""
    net = zoo.pfa(3)
    topics = net.sample({"x": x}, 2, 3, keep=["phi1", "r"], threads=1)
    for given in ({"phi1": topics.mean("phi1")}, {"phi1": topics["phi1"]}):
        draws = net.sample({"x": x}, 2, 4, thin=2, chains=2, given=given, threads=1)
        saved = net.sample({"x": x}, 2, 4, thin=2, chains=2, given=given, threads=1,
                           save=tmp_path / str(len(given["phi1"])))  # fmt: skip
        draws.save(tmp_path / f"copy{len(given['phi1'])}")
        for other in (saved, pg.load(tmp_path / f"copy{len(given['phi1'])}")):
            assert np.array_equal(other.given_value("phi1"), draws.given_value("phi1"))
            assert np.array_equal(other.predict("x"), draws.predict("x"))
            one, two = (
                net.infer({"x": x[:5]}, each, burn_in=2, draws=8) for each in (other, draws)
            )
            np.testing.assert_array_equal(one["theta1"], two["theta1"])
    which = [(2 + 2 * (draw + 1) - 1) % 3 for draw in range(4)]
    np.testing.assert_array_equal(draws.given_value("phi1")[1], topics["phi1"][0, which])


@pytest.mark.parametrize("case", NOT_GIVEN)
def test_what_cannot_be_given_is_refused_at_once(x: Any, case: str) -> None:
    given, words = NOT_GIVEN[case]
    with pytest.raises((DataError, NetworkError)) as error:
        PFA.chain({"x": x}, given=given)
    for word in words:
        assert word in str(error.value), error.value


def test_values_are_needed_for_all_that_is_held(x: Any) -> None:
    with pytest.raises(DataError, match="no value of 'phi1'"):
        PFA.with_given("phi1").chain({"x": x})
    with pytest.raises(DataError, match="no value of 'phi1'"):
        PFA.with_given("phi1").generate()
    with pytest.raises(DataError, match="'phi1' is given"):
        PFA.chain({"x": x}, given={"phi1": PHI}, start={"phi1": PHI})
    with pytest.raises(DataError, match="leave nothing to draw"):
        PFA.sample({"x": x}, given=PFA.chain({"x": x}).values, progress=False)


def test_a_concentration_of_a_given_dirichlet_is_refused() -> None:
    eta = pg.Gamma("eta", 1, 1)
    phi = pg.Dirichlet("phi", eta, over="term", dims="topic")
    theta = pg.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    net = pg.Network(pg.Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": 2})
    with pytest.raises(MissingRuleError, match=r"eta \(Gamma\) stands in its concentration"):
        net.with_given("phi")
    assert net.with_given("phi", above=False).left_out == ("eta",)
    assert set(net.with_given("phi", "eta").free) == {"theta"}


def test_generated_draws_have_the_dims_of_those_given() -> None:
    small = zoo.pfa(2, p_prior=(2, 4), gamma0_prior=(2, 2))
    drawn = small.generate(given={"phi1": DRAWS[None]}, sizes={"doc": 3})
    assert drawn["x"].shape == (1, 3, 3, 4)
    assert drawn["c0"].shape == (1, 3)
    assert np.array_equal(drawn["phi1"][0], DRAWS)
    with pytest.raises(DataError, match="draws of the shape"):
        small.generate(given={"phi1": DRAWS, "c0": np.ones(2)}, sizes={"doc": 3})


# ---- the law ----------------------------------------------------------------------------

LIGHT = {"p_prior": (2, 4), "gamma0_prior": (2, 2), "c0_prior": (2, 2)}
SMALL = {"doc": 2, "term": 3}
SIZES = {**SMALL, "time": 3}


def rates() -> pg.Network:
    """c hears of the given θ, d of c."""
    d = pg.Gamma("d", 2, 2)
    c = pg.Gamma("c", 3, d, dims="doc")
    theta = pg.Gamma("theta", 1.5, c, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
    return pg.Network(pg.Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": 2})


LAWS: dict[str, tuple[Any, tuple[str, ...], str]] = {
    "pfa blocked": (lambda: zoo.pfa(2, 0.5, **LIGHT), ("phi1",), "blocked"),
    "pfa partial": (lambda: zoo.pfa(2, 0.5, **LIGHT), ("phi1",), "partial"),
    "pgbn 3": (lambda: zoo.pgbn([2, 2, 2], 0.5, **LIGHT), ("phi1", "phi2", "phi3"), "blocked"),
    "pgbn inner": (lambda: zoo.pgbn([2, 2], 0.5, **LIGHT), ("phi2",), "collapsed"),
    "rates": (rates, ("theta",), "blocked"),
    "lda partial": (lambda: zoo.lda(2, 0.5, 0.5, total=4), ("phi",), "partial"),
    "pgds": (lambda: zoo.pgds(2, 0.5, 0.5, 1.0, 2.0, MILD, MILD), ("pi",), "blocked"),
}


@pytest.mark.parametrize("case", LAWS)
def test_geweke_with_held_nodes(case: str) -> None:
    make, names, sampler = LAWS[case]
    network = make().with_given(*names)
    sizes = {dim: SIZES[dim] for dim in SIZES if dim in network.dims}
    result = geweke(network, sizes, 4000, 6, sampler=sampler, threads=1)
    assert result.worst < 4, result
    assert all(result.z[name] == 0 for name in result.z if name.rstrip("²") in names)


def test_geweke_with_a_fixed_value() -> None:
    sizes, given = {"doc": 2}, {"phi1": PHI}
    result = geweke(zoo.pfa(2, 0.5, **LIGHT), sizes, 4000, 6, sampler="partial", given=given)
    assert result.worst < 4, result
    with pytest.raises(DataError, match="c has a posterior then"):
        geweke(rates(), SMALL, 10, given={"theta": np.ones((2, 2))})


def test_geweke_sees_topics_that_are_integrated_out(monkeypatch: Any) -> None:
    """The collapsed sampler, which the schedule refuses where topics are given."""

    def unchecked(self: Schedule, steps: Any, given: Any = ()) -> None:
        self.steps, self.given = tuple(steps), tuple(given)

    monkeypatch.setattr(Schedule, "__init__", unchecked)
    given = {"phi1": np.array([[0.94, 0.02, 0.02, 0.02], [0.02, 0.32, 0.33, 0.33]])}
    network = zoo.pfa(2, 0.1, **LIGHT)
    result = geweke(network, {"doc": 6}, 15_000, 8, sampler="collapsed", given=given)
    assert result.worst > 5, result
