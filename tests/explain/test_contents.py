"""What a derivation says where the snapshots have no example.

tests/snapshots fixes the texts of eleven models, and test_printed evaluates what is printed.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pgbn as pg
from pgbn.explain.render import FORMATS
from tests.helpers.compositions import COMPOSITIONS
from tests.helpers.kernel_networks import SLICED
from tests.helpers.language import all_cells
from tests.helpers.normal_networks import belief, log_linear, regression
from tests.helpers.own_edges import Carried
from tests.helpers.own_types import Unread, Waiting
from tests.same_bits.networks import small_zoo

SHAPE = r"\sum_{k_2} \phi^{(2)}_{k_1 k_2}\, \theta^{(2)}_{k_2 j}"


def section(text: str, start: str, end: str) -> str:
    """From one phrase up to another."""
    place = text.index(start)
    return text[place : text.index(end, place)]


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_every_node_is_declared_and_drawn(name: str) -> None:
    network = COMPOSITIONS[name]()
    names = section(network.explain(), "Notation", "The generative model")
    for node in network:
        shown = node.name.replace("`", "'")
        assert f"is {shown}, " in names
    assert set(network.latent) <= set(network.schedule.names)


EVENT = pg.Gamma("event", 1.0, 1.0, dims="day")
MONTHLY = pg.Gamma("event", 1.0, 1.0, dims="month")
MONTH = pg.Categories("month_of", dims="day", of="month", values=[0, 0, 1])


def rate_of(expression: object) -> Callable[[], pg.Network]:
    return lambda: pg.Network(pg.Poisson("x", expression, dims="day"))


CONTENTS: dict[str, tuple[Callable[[], pg.Network], list[str]]] = {
    "gamma_markov_chain": (COMPOSITIONS["gamma_markov_chain"], ["Gam(θ[k, t-1] + m^(θ)[k t], "]),
    "gates": (COMPOSITIONS["gates"], [
        "(πₖ | -) ∼ Beta(1 + h[k ·], 1 + Σⱼ (1 - h[k j]))",
        "{ 1 if ℓ^(θ)[k j] > 0;",
    ]),
    "plugins": (COMPOSITIONS["plugins"], [
        "ℓ⁽ʸ⁾[i j] : ℓ ∼ CRT(x, s)",
        "exposure = -ln(1 - 0.25)",
        "(wⱼ | -) ∼ Wob(s + m, q)",
        "count = ℓ⁽ʸ⁾[· j]",
        "exposure = -3 N_item ln(1 - 0.25)",
        "Somebody 2001",
        "Nobody 1999",
    ]),
    "filled in": (lambda: pg.Network(Waiting("y", EVENT, dims="day")), ["Gam(1 + 1, 1 + y_d)"]),
    "not to be read": (lambda: pg.Network(Unread("y", EVENT, dims="day")), ["(event_d | -) ∼ Gam(1 + m'⁽ʸ⁾_d, 1 + y_d)", "(m'⁽ʸ⁾_d, y_d) : (1, y)"]),
    "zeros": (all_cells, ["latent counts behind the data, (a registered link), also where"]),
    "nothing to draw": (rate_of(2.0 * EVENT), ["x_d : the data themselves Nothing is drawn. Nothing"]),
    # which rows read an entry: by categories, by a lag, through an operation of a user's own
    "plain factor": (rate_of(2.0 * EVENT), ["(event_d | -) ∼ Gam(1 + x_d, 1 + 2)"]),
    "categories": (rate_of(MONTHLY[MONTH]), ["Σ_(d : month_of(d) = m) x_d"]),
    "lag": (rate_of(pg.Shift(EVENT, along="day", initial=1.0, lag=2)), ["Gam(1 + x^[1][d+2], 1 + 1(d+2 ≤ N_day))"]),
    "operation": (rate_of(Carried(EVENT, axis=1, weights=(1.0, 0.5))), ["Σ_d' x^[event_d]_d'", "Σ_d' (∂ Carried(event)_d')/(∂ event_d)"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTENTS)
def test_contents(name: str) -> None:
    make, lines = CONTENTS[name]
    text = words(make().explain())
    for line in lines:
        assert words(line) in text, line


def test_a_node_drawn_by_a_kernel_receives_nothing() -> None:
    theta = pg.Gamma("theta", 2, 1, dims="doc", update="slice")
    text = pg.Network(pg.Poisson("x", 3 * theta, dims="doc")).explain()
    assert "exposures, from" not in text
    assert "q^" not in text


def test_quadratic_forms_are_written_out() -> None:
    text = regression().explain("latex")
    const = r"\mathrm{const}"
    assert rf"\hat{{A}}_{{f\, f'}} &= \sum_{{j}} \tau\, {const}_{{f j}}\, {const}_{{f' j}}" in text
    assert "Mult" not in section(belief().explain(), "Step 3: counts(h)", "Step 4")
    assert "- 0)" not in log_linear().explain()


def test_what_a_kernel_leaves_invariant() -> None:
    network = SLICED["beside_conjugate"]()
    text = words(network.explain("latex"))
    assert r"p(a_{k} \mid -) &\propto p\bigl(a_{k} : \mathrm{Gam}(2,\ 2)\bigr)" in text
    assert r"\prod p\bigl(\theta_{k i} : \mathrm{Gam}(a_{k}\, r,\ 2)\bigr)" in text
    assert "leaves the conditional invariant: it begins from the current value" in text
    assert "Neal 2003" in text
    assert "invariant: it begins" not in network.with_given("a").explain()


def test_no_two_nodes_have_one_symbol() -> None:
    text = pg.zoo.multimodal([3, 2], {"a": "poisson", "b": "poisson"}).explain("latex", brief=True)
    lines = [line.split(" &= ")[0] for line in text.splitlines() if line.startswith("q^")]
    assert len(lines) == len(set(lines)) > 4


# ---- the first layer, token by token ------------------------------------------------------------


def test_the_equation_of_the_paper() -> None:
    text = pg.zoo.pgbn([3, 2]).explain("latex")
    paper = (
        r"P(z_{j i} = k_1 \mid -) &\propto \frac{0.05 + x^{-}_{v \cdot k_1}}{V / 20 + "
        rf"x^{{-}}_{{\cdot \cdot k_1}}}}\, \left({SHAPE} + x^{{-}}_{{\cdot j k_1}}\right)"
    )
    assert text.count(paper) == 2  # derived, and as the step
    given = pg.zoo.pgbn([3, 2]).explain("latex", "partial")
    assert r"P(z_{j i} = k_1 \mid -) &\propto \phi^{(1)}_{v k_1}\, \left(" in given
    assert r"\bigl(\phi^{(1)}_{v k_1}\bigr)^{x_{v \cdot k_1}}" in given
    assert r"\Gamma(0.05" not in given


def test_of_dirichlet_scores_no_rate_is_left() -> None:
    text = pg.zoo.lda(3).explain()
    assert "∫ … dθ ∝ Π[k, j] (Γ(16.6667 + x[· j k]))/(Γ(16.6667))\n" in text
    assert "The power of the rate" not in text


@pytest.mark.parametrize("sampler", ["blocked", "composed"])
def test_cells_have_no_tokens(sampler: str) -> None:
    assert "token" not in pg.zoo.pgbn([3, 2]).explain(sampler=sampler)


def test_a_letter_that_a_node_has_is_marked() -> None:
    z = pg.Gamma("z", 1, 1, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.1, over="term", dims="topic")
    net = pg.Network(pg.Poisson("x", phi @ z, dims=("doc", "term")), sizes={"topic": 2})
    assert r"P(\tilde{z}_{j i} = k \mid -)" in net.explain("latex", "collapsed")


# ---- the short form -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", small_zoo())
def test_every_step_is_in_the_short_form_and_no_lemma(name: str) -> None:
    network = small_zoo()[name]
    text = network.explain(brief=True)
    assert "Lemma" not in text
    for step in network.schedule:
        assert step.name in text
    assert len(text) < 0.45 * len(network.explain())


def test_like_steps_stand_together() -> None:
    text = words(pg.zoo.pgbn([3, 2]).explain(sampler="blocked", brief=True))
    assert "Steps 2 to 4: counts(theta1), counts(theta2) and counts(r)." in text
    assert "Steps 10 to 13: gamma0, r, theta2 and theta1, with r, θ⁽²⁾ and θ⁽¹⁾ integrated" in text
    for format in FORMATS:
        assert pg.zoo.pgbn([3, 2]).explain(format, brief=True)
