"""Steps by kernels in a derivation."""

from __future__ import annotations

from tests.helpers.kernel_networks import SLICED


def test_what_is_left_invariant() -> None:
    text = SLICED["beside_conjugate"]().explain("latex")
    assert r"p(a_{k} \mid -) &\propto p\bigl(a_{k} : \mathrm{Gam}(2,\ 2)\bigr)" in text
    assert r"\prod p\bigl(\theta_{k i} : \mathrm{Gam}(a_{k}\, r,\ 2)\bigr)" in text
    words = " ".join(text.split())
    assert "leaves the conditional invariant: it begins from the current value" in words
    assert "beginning from a current value, leaves it invariant" in words
    assert "Neal 2003" in words


def test_a_sweep_without_kernels_says_nothing_of_them() -> None:
    net = SLICED["beside_conjugate"]()
    held = net.holding("a").explain()
    assert "invariant: it begins" not in held
