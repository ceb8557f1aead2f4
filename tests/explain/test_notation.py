"""Slots, counts and exposures in symbols, for many compositions."""

from __future__ import annotations

import pytest

from tests.helpers.compositions import COMPOSITIONS


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "pgds",
            [
                "q^(θ)ₜ = δₜ + 2 ζ^(θ)[t+1]",
                "ζ^(θ)ₜ = ln(1 + q^(θ)ₜ / 2)",
                "m^(θ)[k t] = x[· t k] + ℓ^(θ)[·, t+1, k]",
                "CRT(m^(θ)[k t], Σ_k' 2 π[k k'] θ[k', t-1])",
                "(νₖ | -) ∼ Gam(1 + ℓ^(θ)[k 1], β + 2 ζ^(θ)₁)",
                "((π[k k'])ₖ | -) ∼ Dir((0.1 + ℓ^(θ)[k · k'])ₖ)",
                "(δₜ | -) ∼ Gam(1 + x[· t ·], 1 + θ[· t])",
            ],
        ),
        (
            "gamma_markov_chain",
            [
                "q^(θ)[k t] = λₖ + ζ^(θ)[k, t+1]",
                "(start | -) ∼ Gam(1 + ℓ^(θ)[· 1], 1 + ζ^(θ)[· 1])",
                "(cₜ | -) ∼ Gam(1 + θ[·, t-1] + K start · 1(t = 1), 1 + θ[· t])",
                "(θ[k t] | -) ∼ Gam(θ[k, t-1] + m^(θ)[k t], cₜ + q^(θ)[k t]), t > 1",
            ],
        ),
        (
            "lda",
            [
                "(x[v j])ᵥ ∼ Mult(Nⱼ, (Σₖ φ[v k] θ[k j])ᵥ)",
                "ℓ^(θ)[k j] ∼ CRT(m^(θ)[k j], α πₖ)",
                "q̂^(θ)ⱼ = -ln s^(θ)ⱼ, s^(θ)ⱼ ∼ Beta(α, m^(θ)[· j])",
                "(α | -) ∼ Gam(1 + ℓ^(θ)[· ·], 1 + Σⱼ q̂^(θ)ⱼ)",
                "((θ[k j])ₖ | -) ∼ Dir((α πₖ + m^(θ)[k j])ₖ)",
            ],
        ),
        (
            "gates",
            [
                "(πₖ | -) ∼ Beta(1 + h[k ·], 1 + Σⱼ (1 - h[k j]))",
                "{ 1 if ℓ^(θ)[k j] > 0;",
                "(pⱼ | -) ∼ Beta(1 + m^(θ)[· j], 1 + Σₖ rₖ h[k j])",
            ],
        ),
        (
            "multimodal",
            [
                "q⁽¹⁾ = 1 + 1 + 1",
                "∼ Pois₊(Σ_k₁ φ^(tags)[v_tags k₁] θ⁽¹⁾[k₁ j])",
                "∼ Bessel[-1](2 √(noise reals[v_reals j] (Σ_k₁",
                "(noise | -) ∼ Gam(1 + n⁽ʳᵉᵃˡˢ⁾[· ·], 1 + reals[· ·])",
            ],
        ),
        (
            "plugins",
            [
                "ℓ^(y)[i j] : ℓ ∼ CRT(x, s)",
                "exposure = -ln(1 - 0.25)",
                "(wⱼ | -) ∼ Wob(s + m, q)",
                "count = ℓ^(y)[· j]",
                "exposure = -3 N_item ln(1 - 0.25)",
                "Somebody 2001",
                "Nobody 1999",
            ],
        ),
    ],
)
def test_contents(name: str, lines: list[str]) -> None:
    text = COMPOSITIONS[name]().explain().replace("ʸ", "y")
    for line in lines:
        assert line.replace("^(tags)", "⁽ᵗᵃᵍˢ⁾").replace("^(y)", "⁽y⁾") in text, line
