"""The augmentation, from the data up."""

from __future__ import annotations

import pytest

from tests.helpers.derivations import SHAPE, section, two_layers


@pytest.mark.parametrize(
    "line",
    [
        # Lemma 1 of the paper: at every layer a Poisson likelihood with exposure q
        r"x_{v j k_1} &\sim \mathrm{Pois}\bigl(\phi^{(1)}_{v k_1}\, \theta^{(1)}_{k_1 j}\bigr)",
        r"m^{(1)}_{k_1 j} &= x_{\cdot j k_1}",
        r"(m^{(1)}_{k_1 j} \mid \theta^{(1)}_{k_1 j}) &\sim "
        r"\mathrm{Pois}(q^{(1)}\, \theta^{(1)}_{k_1 j})",
        rf"m^{{(1)}}_{{k_1 j}} &\sim \mathrm{{NB}}\bigl({SHAPE},\ "
        r"q^{(1)} / (c^{(2)}_{j} + q^{(1)})\bigr)",
        r"\ell^{(1)}_{k_1 j k_2} &\sim \mathrm{Pois}\bigl(\ln(1 + q^{(1)} / c^{(2)}_{j})\, "
        r"\phi^{(2)}_{k_1 k_2}\, \theta^{(2)}_{k_2 j}\bigr)",
        r"m^{(2)}_{k_2 j} &= \ell^{(1)}_{\cdot j k_2}",
        # the recursion of the exposures
        "q^{(1)} &= 1",
        r"q^{(2)}_{j} &= \ln(1 + q^{(1)} / c^{(2)}_{j})",
        r"q^{(r)} &= \sum_{j} \ln(1 + q^{(2)}_{j} / c^{(3)}_{j})",
    ],
)
def test_the_augmentation(line: str) -> None:
    assert line in section(two_layers(), "The augmentation", "One sweep")
