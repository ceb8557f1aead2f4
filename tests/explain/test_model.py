"""The notation and the generative model."""

from __future__ import annotations

import pytest

import pgbn as pg
from tests.helpers.compositions import COMPOSITIONS
from tests.helpers.derivations import SHAPE, section, two_layers


@pytest.fixture(scope="module", params=COMPOSITIONS)
def network(request: pytest.FixtureRequest) -> pg.Network:
    return COMPOSITIONS[request.param]()


def test_every_node_is_declared_and_drawn(network: pg.Network) -> None:
    text = network.explain()
    names = text[text.index("Notation") : text.index("The generative model")]
    for node in network:
        shown = node.name.replace("`", "'")
        assert f"is {shown}, " in names
    steps = set(network.schedule.names)
    assert set(network.latent) <= steps


@pytest.mark.parametrize(
    "line",
    [
        r"(\phi^{(1)}_{v k_1})_{v} &\sim \mathrm{Dir}(0.05, \ldots, 0.05)",
        r"\gamma_{0} &\sim \mathrm{Gam}(0.01,\ 0.01)",
        r"r_{k_2} &\sim \mathrm{Gam}(\gamma_{0} / 2,\ c_{0})",
        r"\theta^{(2)}_{k_2 j} &\sim \mathrm{Gam}(r_{k_2},\ c^{(3)}_{j})",
        r"p^{(2)}_{j} &\sim \mathrm{Beta}(0.01,\ 0.01)",
        r"c^{(2)}_{j} &:= (1 - p^{(2)}_{j}) / p^{(2)}_{j}",
        rf"\theta^{{(1)}}_{{k_1 j}} &\sim \mathrm{{Gam}}({SHAPE},\ c^{{(2)}}_{{j}})",
        r"x_{v j} &\sim \mathrm{Pois}(\sum_{k_1} \phi^{(1)}_{v k_1}\, \theta^{(1)}_{k_1 j})",
    ],
)
def test_the_generative_model(line: str) -> None:
    assert line in section(two_layers(), "The generative model", "The lemmas")
