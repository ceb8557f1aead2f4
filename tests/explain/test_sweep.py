"""The sweep: every step in its order, and why what it reads is current."""

from __future__ import annotations

import pytest

import pgbn as pg
from pgbn.explain.render import FORMATS
from tests.helpers.compositions import COMPOSITIONS
from tests.helpers.derivations import SHAPE, section, two_layers


@pytest.fixture(scope="module", params=COMPOSITIONS)
def network(request: pytest.FixtureRequest) -> pg.Network:
    return COMPOSITIONS[request.param]()


@pytest.mark.parametrize("format", FORMATS)
def test_every_step_occurs_in_order(network: pg.Network, format: str) -> None:
    """The headings of the steps follow the schedule, whatever it is."""
    text = network.explain(format)
    places = [text.index(f"Step {number}: ") for number in range(1, len(network.schedule) + 1)]
    assert places == sorted(places)
    assert f"Step {len(network.schedule) + 1}: " not in text
    if format == "text":
        for place, step in zip(places, network.schedule, strict=True):
            heading = text[place : text.index("\n", place)]
            assert step.node.replace("`", "'") in heading


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


def test_what_is_marginalised_and_when_it_is_redrawn() -> None:
    text = " ".join(pg.zoo.pgbn([3, 2]).explain().split())
    assert (
        "It integrates out r, θ⁽²⁾ and θ⁽¹⁾: they are stale until drawn anew in steps 11, 12"
        in text
    )
    assert "At the end nothing is stale" in text


def test_a_users_order_is_explained_with_the_sum_exemption() -> None:
    """Algorithm 1 draws phi2 before p2, so theta1 is stale, and c3 after phi3 reads a sum."""
    order = ["counts(x)", "counts(theta1)", "counts(theta2)", "counts(theta3)", "counts(r)",
             "phi1", "phi2", "phi3", "p2", "c3", "c4", "c0", "gamma0", "r",
             "theta3", "theta2", "theta1"]  # fmt: skip
    network = pg.zoo.pgbn([4, 3, 2])
    text = " ".join(network.with_order(order).explain().split())
    assert "The order below was given by the user" in text
    exempt = "theta2 is stale since step 8, but only its sum over k₂ is read"
    assert exempt in text
    assert "Sums stay current" in text
    derived = " ".join(network.explain().split())
    assert "was derived from the graph" in derived
    assert exempt not in derived
