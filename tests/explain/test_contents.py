"""What a derivation says: the equations of the paper, and those of many other compositions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

import pgbn as pg
from pgbn.explain.first_layer import token_lines
from pgbn.explain.notation import Notation
from pgbn.explain.render import FORMATS
from pgbn.explain.sampler import sampler_of
from tests.helpers.compositions import COMPOSITIONS
from tests.helpers.first_layer_variants import VARIANTS
from tests.helpers.kernel_networks import SLICED
from tests.helpers.normal_networks import belief, log_linear, regression
from tests.helpers.own_edges import Carried
from tests.same_bits.networks import small_zoo

SHAPE = r"\sum_{k_2} \phi^{(2)}_{k_1 k_2}\, \theta^{(2)}_{k_2 j}"


def section(text: str, start: str, end: str) -> str:
    """From one phrase up to another."""
    place = text.index(start)
    return text[place : text.index(end, place)]


def words(text: str) -> str:
    return " ".join(text.split())


@cache
def two_layers() -> str:
    """The derivation of a belief network in LaTeX, with all values given."""
    return pg.zoo.pgbn([3, 2]).explain("latex", "blocked")


# ---- the belief network of the paper ------------------------------------------------------------

MODEL = ("The generative model", "The lemmas")
AUGMENTATION = ("The augmentation", "One sweep")
EXPOSURES = ("All exposures", "One sweep")
LINES = {
    MODEL: [
        r"(\phi^{(1)}_{v k_1})_{v} &\sim \mathrm{Dir}(0.05, \ldots, 0.05)",
        r"\gamma_{0} &\sim \mathrm{Gam}(0.01,\ 0.01)",
        r"r_{k_2} &\sim \mathrm{Gam}(\gamma_{0} / 2,\ c_{0})",
        r"\theta^{(2)}_{k_2 j} &\sim \mathrm{Gam}(r_{k_2},\ c^{(3)}_{j})",
        r"p^{(2)}_{j} &\sim \mathrm{Beta}(0.01,\ 0.01)",
        r"c^{(2)}_{j} &:= (1 - p^{(2)}_{j}) / p^{(2)}_{j}",
        rf"\theta^{{(1)}}_{{k_1 j}} &\sim \mathrm{{Gam}}({SHAPE},\ c^{{(2)}}_{{j}})",
        r"x_{v j} &\sim \mathrm{Pois}(\sum_{k_1} \phi^{(1)}_{v k_1}\, \theta^{(1)}_{k_1 j})",
    ],
    # Lemma 1 of the paper: at every layer a Poisson likelihood with exposure q
    AUGMENTATION: [
        r"x_{v j k_1} &\sim \mathrm{Pois}\bigl(\phi^{(1)}_{v k_1}\, \theta^{(1)}_{k_1 j}\bigr)",
        r"m^{(1)}_{k_1 j} &= x_{\cdot j k_1}",
        r"(m^{(1)}_{k_1 j} \mid \theta^{(1)}_{k_1 j}) &\sim "
        r"\mathrm{Pois}(q^{(1)}\, \theta^{(1)}_{k_1 j})",
        rf"m^{{(1)}}_{{k_1 j}} &\sim \mathrm{{NB}}\bigl({SHAPE},\ "
        r"q^{(1)} / (c^{(2)}_{j} + q^{(1)})\bigr)",
        r"\ell^{(1)}_{k_1 j k_2} &\sim \mathrm{Pois}\bigl(\ln(1 + q^{(1)} / c^{(2)}_{j})\, "
        r"\phi^{(2)}_{k_1 k_2}\, \theta^{(2)}_{k_2 j}\bigr)",
        r"m^{(2)}_{k_2 j} &= \ell^{(1)}_{\cdot j k_2}",
    ],
    EXPOSURES: [
        "q^{(1)} &= 1",
        r"q^{(2)}_{j} &= \ln(1 + q^{(1)} / c^{(2)}_{j})",
        r"q^{(r)} &= \sum_{j} \ln(1 + q^{(2)}_{j} / c^{(3)}_{j})",
        r"q^{(\gamma_{0})} &= \ln(1 + q^{(r)} / c_{0})",
        r"q^{(c_{0})} &= r_{\cdot}",
        r"q^{(c^{(3)})}_{j} &= \theta^{(2)}_{\cdot j}",
    ],
}


@pytest.mark.parametrize(("place", "line"), [(p, line) for p in LINES for line in LINES[p]])
def test_the_model_and_its_augmentation(place: tuple[str, str], line: str) -> None:
    assert line in section(two_layers(), *place)


@pytest.mark.parametrize(
    ("step", "line"),
    [
        # Corollary 2 of the paper
        (
            "counts(x)",
            r"\bigl(x_{v j k_1}\bigr)_{k_1} &\sim \mathrm{Mult}\left(x_{v j};\ "
            r"\frac{\phi^{(1)}_{v k_1}\, \theta^{(1)}_{k_1 j}}"
            r"{\sum_{k_1'} \phi^{(1)}_{v k_1'}\, \theta^{(1)}_{k_1' j}}\right)",
        ),
        (
            "counts(theta1)",
            r"\ell^{(1)}_{k_1 j} &\sim \mathrm{CRT}\bigl(m^{(1)}_{k_1 j},\ " + SHAPE + r"\bigr)",
        ),
        ("counts(r)", r"\mathrm{CRT}\bigl(m^{(r)}_{k_2},\ \gamma_{0} / 2\bigr)"),
        # the updates
        ("phi1", r"\mathrm{Dir}((0.05 + x_{v \cdot k_1})_{v})"),
        ("phi2", r"\mathrm{Dir}((0.05 + \ell^{(1)}_{k_1 \cdot k_2})_{k_1})"),
        ("c0", r"\mathrm{Gam}(1 + \gamma_{0},\ 1 + r_{\cdot})"),
        ("c3", r"\mathrm{Gam}(1 + r_{\cdot},\ 1 + \theta^{(2)}_{\cdot j})"),
        (
            "p2",
            r"(p^{(2)}_{j} \mid -) &\sim "
            r"\mathrm{Beta}(0.01 + m^{(1)}_{\cdot j},\ 0.01 + \theta^{(2)}_{\cdot j})",
        ),
        ("gamma0", r"\mathrm{Gam}(0.01 + \ell^{(r)}_{\cdot},\ 0.01 + \ln(1 + q^{(r)} / c_{0}))"),
        ("r", r"\mathrm{Gam}(\gamma_{0} / 2 + m^{(r)}_{k_2},\ c_{0} + q^{(r)})"),
        ("theta2", r"\mathrm{Gam}(r_{k_2} + m^{(2)}_{k_2 j},\ c^{(3)}_{j} + q^{(2)}_{j})"),
        ("theta1", rf"\mathrm{{Gam}}({SHAPE} + m^{{(1)}}_{{k_1 j}},\ c^{{(2)}}_{{j}} + q^{{(1)}})"),
    ],
)
def test_the_conditionals(step: str, line: str) -> None:
    number = pg.zoo.pgbn([3, 2]).schedule.names.index(step) + 1
    end = rf"\subsection*{{Step {number + 1}: " if number < 13 else "Why the order is valid"
    assert line in section(two_layers(), rf"\subsection*{{Step {number}: \texttt{{{step}", end)


# ---- other compositions -------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_every_node_is_declared_and_drawn(name: str) -> None:
    network = COMPOSITIONS[name]()
    names = section(network.explain(), "Notation", "The generative model")
    for node in network:
        shown = node.name.replace("`", "'")
        assert f"is {shown}, " in names
    assert set(network.latent) <= set(network.schedule.names)


LAYER = "Σ_k₁ φ⁽¹⁾[v k₁] θ⁽¹⁾[k₁ j]"
EVENT = pg.Gamma("event", 1.0, 1.0, dims="day")
MONTHLY = pg.Gamma("event", 1.0, 1.0, dims="month")
MONTH = pg.Categories("month_of", dims="day", of="month", values=[0, 0, 1])


def rate_of(expression: object) -> Callable[[], pg.Network]:
    return lambda: pg.Network(pg.Poisson("x", expression, dims="day"))


CONTENTS: dict[str, tuple[Callable[[], pg.Network], list[str]]] = {
    "pgds": (COMPOSITIONS["pgds"], [
        "q^(θ)ₜ = δₜ + 2 ζ^(θ)[t+1]",
        "ζ^(θ)ₜ = ln(1 + q^(θ)ₜ / 2)",
        "m^(θ)[k t] = x[· t k] + ℓ^(θ)[·, t+1, k]",
        "CRT(m^(θ)[k t], Σ_k' 2 π[k k'] θ[k', t-1])",
        "(νₖ | -) ∼ Gam(1 + ℓ^(θ)[k 1], β + 2 ζ^(θ)₁)",
        "((π[k k'])ₖ | -) ∼ Dir((0.1 + ℓ^(θ)[k · k'])ₖ)",
        "(δₜ | -) ∼ Gam(1 + x[· t ·], 1 + θ[· t])",
        "ζ^(θ)[T+1] = 0",  # nothing comes from beyond the last row
        "ℓ^(θ)[k, T+1] = 0",
    ]),
    "gamma_markov_chain": (COMPOSITIONS["gamma_markov_chain"], [
        "q^(θ)[k t] = λₖ + ζ^(θ)[k, t+1]",
        "(start | -) ∼ Gam(1 + ℓ^(θ)[· 1], 1 + ζ^(θ)[· 1])",
        "(cₜ | -) ∼ Gam(1 + θ[·, t-1] + K start · 1(t = 1), 1 + θ[· t])",
        "(θ[k t] | -) ∼ Gam(θ[k, t-1] + m^(θ)[k t], cₜ + q^(θ)[k t]), t > 1",
    ]),
    "lda": (COMPOSITIONS["lda"], [
        "(x[v j])ᵥ ∼ Mult(Nⱼ, (Σₖ φ[v k] θ[k j])ᵥ)",
        "ℓ^(θ)[k j] ∼ CRT(m^(θ)[k j], α πₖ)",
        "q̂^(θ)ⱼ = -ln s^(θ)ⱼ, s^(θ)ⱼ ∼ Beta(α, m^(θ)[· j])",
        "(α | -) ∼ Gam(1 + ℓ^(θ)[· ·], 1 + Σⱼ q̂^(θ)ⱼ)",
        "((θ[k j])ₖ | -) ∼ Dir((α πₖ + m^(θ)[k j])ₖ)",
    ]),
    "gates": (COMPOSITIONS["gates"], [
        "(πₖ | -) ∼ Beta(1 + h[k ·], 1 + Σⱼ (1 - h[k j]))",
        "{ 1 if ℓ^(θ)[k j] > 0;",
        "(pⱼ | -) ∼ Beta(1 + m^(θ)[· j], 1 + Σₖ rₖ h[k j])",
    ]),
    "multimodal": (COMPOSITIONS["multimodal"], [
        "q⁽¹⁾ = 1 + 1 + 1",
        "∼ Pois₊(Σ_k₁ φ⁽ᵗᵃᵍˢ⁾[v_tags k₁] θ⁽¹⁾[k₁ j])",
        "∼ Bessel[-1](2 √(noise reals[v_reals j] (Σ_k₁",
        "(noise | -) ∼ Gam(1 + n⁽ʳᵉᵃˡˢ⁾[· ·], 1 + reals[· ·])",
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
    # links: the counts behind data
    "bernoulli": (lambda: pg.zoo.pgbn([3], link="bernoulli"), [
        f"(n[v j] | x[v j] = 1) ∼ Pois₊({LAYER})",
        "Binary data as thresholded counts",
    ]),
    "gamma": (lambda: pg.zoo.pgbn([3], link="gamma"), [
        f"(n[v j] | x[v j] > 0) ∼ Bessel[-1](2 √(noise x[v j] ({LAYER})))",
        "Positive reals as randomised gammas",
    ]),
    # which rows read an entry: by categories, by a lag, through an operation of a user's own
    "plain factor": (rate_of(2.0 * EVENT), ["(event_d | -) ∼ Gam(1 + x_d, 1 + 2)"]),
    "categories": (rate_of(MONTHLY[MONTH]), ["Σ_(d : month_of(d) = m) x_d"]),
    "lag": (rate_of(pg.Shift(EVENT, along="day", initial=1.0, lag=2)), ["Gam(1 + x^[1][d+2], 1 + 1(d+2 ≤ N_day))"]),
    "operation": (rate_of(Carried(EVENT, axis=1, weights=(1.0, 0.5))), ["Σ_d' x^[event_d]_d'", "Σ_d' (∂ Carried(event)_d')/(∂ event_d)"]),
    # linear predictors and logistic gates
    "belief": (belief, ["PG(1, ψ)", "Pólya", "Polson"]),
    "log linear": (log_linear, ["Σⱼ (Σₖ 0.5)", "The precision of a normal"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTENTS)
def test_contents(name: str) -> None:
    make, lines = CONTENTS[name]
    text = make().explain()
    for line in lines:
        assert line in text, line


def test_quadratic_forms_are_written_out() -> None:
    text = regression().explain("latex")
    const = r"\mathrm{const}"
    assert rf"\hat{{A}}_{{f\, f'}} &= \sum_{{j}} \tau\, {const}_{{f j}}\, {const}_{{f' j}}" in text
    assert r"(\tau\, y_{k j} - \tau\, 2" in text.replace(r" \cdot ", r"\, ")
    assert r"\hat{A} &= \sum_{j} \tau\, (2)^{2}" in text or r"2^{2}" in text
    assert "Mult" not in section(belief().explain(), "Step 3: counts(h)", "Step 4")
    assert "- 0)" not in log_linear().explain()


def test_what_a_kernel_leaves_invariant() -> None:
    network = SLICED["beside_conjugate"]()
    text = network.explain("latex")
    assert r"p(a_{k} \mid -) &\propto p\bigl(a_{k} : \mathrm{Gam}(2,\ 2)\bigr)" in text
    assert r"\prod p\bigl(\theta_{k i} : \mathrm{Gam}(a_{k}\, r,\ 2)\bigr)" in text
    assert "leaves the conditional invariant: it begins from the current value" in words(text)
    assert "beginning from a current value, leaves it invariant" in words(text)
    assert "Neal 2003" in words(text)
    assert "invariant: it begins" not in network.holding("a").explain()


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
    assert r"\Gamma(0.05 + x_{v \cdot k_1})" in text
    assert r"x_{v j k_1} &= \sum_{i} 1(v_{j i} = v,\ z_{j i} = k_1)" in text


def test_with_topics_given() -> None:
    text = pg.zoo.pgbn([3, 2]).explain("latex", "partial")
    assert r"P(z_{j i} = k_1 \mid -) &\propto \phi^{(1)}_{v k_1}\, \left(" in text
    assert r"\bigl(\phi^{(1)}_{v k_1}\bigr)^{x_{v \cdot k_1}}" in text
    assert r"\Gamma(0.05" not in text


def test_of_dirichlet_scores_no_rate_is_left() -> None:
    text = pg.zoo.lda(3).explain()
    assert "∫ … dθ ∝ Π[k, j] (Γ(16.6667 + x[· j k]))/(Γ(16.6667))\n" in text
    assert "The power of the rate" not in text


@pytest.mark.parametrize("layer1", ["blocked", "composed"])
def test_cells_have_no_tokens(layer1: str) -> None:
    assert "token" not in pg.zoo.pgbn([3, 2]).explain(layer1=layer1)


def test_a_letter_that_a_node_has_is_marked() -> None:
    z = pg.Gamma("z", 1, 1, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.1, over="term", dims="topic")
    net = pg.Network(pg.Poisson("x", phi @ z, dims=("doc", "term")), sizes={"topic": 2})
    assert r"P(\tilde{z}_{j i} = k \mid -)" in net.explain("latex", "collapsed")


GROUP = r"\mathrm{group}"
LABELS = [
    # variant, which labelled step, which of its lines, what it holds
    ("background and size", 0, 0,
     r"P(z_{j i} = k \mid -) &\propto s_{j}\, \frac{0.5 + x^{[1]-}_{v \cdot k}}{V / 2 + "
     r"x^{[1]-}_{\cdot \cdot k}}\, \left(r_{k} + x^{[1]-}_{\cdot j k}\right) / "
     r"(c_{j} + q^{(\theta)}_{j})"),
    # further terms have labels of their own, and so have the entries of a summed one
    ("background and size", 0, 1, r"P(z_{j i} = (2) \mid -) &\propto b_{v}"),
    ("background and size", 0, 2, r"P(z_{j i} = (3) \mid -) &\propto 0.1"),
    ("background and size", 0, 4, r"x^{[2]}_{v j} &= \sum_{i} 1(v_{j i} = v,\ z_{j i} = (2))"),
    ("two mixtures", 0, 1, r"P(z_{j i} = (2, t) \mid -) &\propto \psi_{v t}\, w_{t j}"),
    # data or rows that share scores are received together
    ("two kinds of data", 0, 0, r"r_{k} + y^{-}_{\cdot j k} + x_{\cdot j k}"),
    ("two kinds of data", 1, 0, r"r_{k} + x^{-}_{\cdot j k} + y_{\cdot j k}"),
    ("scores of authors, tags of authors", 0, 0,
     rf"r_{{k}} + y^{{-}}_{{\cdot t k}} + \sum_{{j : {GROUP}(j) = t}} x_{{\cdot j k}}"),
    ("scores of authors, tags of authors", 1, 0,
     rf"r_{{k}} + \sum_{{j' : {GROUP}(j') = {GROUP}(j)}} x^{{-}}_{{\cdot j' k}} + "
     rf"y_{{\cdot, {GROUP}(j), k}}"),
    # the counts of a row are shared out among sets, whose sizes are the same for all topics
    ("size of groups", 0, -1, r"\mathrm{Mult}\left(x_{\cdot j \cdot \cdot};\ \propto"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "step", "number", "line"), LABELS)
def test_labels_of_wider_first_layers(name: str, step: int, number: int, line: str) -> None:
    network = VARIANTS[name]()
    sampler, notation = sampler_of(network), Notation(network)
    labelled = [each for each in sampler.schedule if sampler.labels(each)]
    found = token_lines(notation, sampler, labelled[step])
    assert line in found[number]
    assert name != "size of groups" or "s_{g}" not in found[0]


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
    text = words(pg.zoo.pgbn([3, 2]).explain(layer1="blocked", brief=True))
    assert "Steps 2 to 4: counts(theta1), counts(theta2) and counts(r)." in text
    assert "Steps 7 and 8: c0 and c3." in text
    assert "Steps 10 to 13: gamma0, r, theta2 and theta1, with r, θ⁽²⁾ and θ⁽¹⁾ integrated" in text
    assert "m⁽¹⁾[k₁ j] = x[· j k₁]" in text
    for format in FORMATS:
        assert pg.zoo.pgbn([3, 2]).explain(format, brief=True)
