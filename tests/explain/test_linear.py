"""Linear predictors in a derivation: the printed form is the one that is computed."""

from __future__ import annotations

from tests.helpers.normal_networks import belief, log_linear, regression


def test_forms_are_written_out() -> None:
    text = regression().explain("latex")
    const = r"\mathrm{const}"
    assert rf"\hat{{A}}_{{f\, f'}} &= \sum_{{j}} \tau\, {const}_{{f j}}\, {const}_{{f' j}}" in text
    assert r"(\tau\, y_{k j} - \tau\, 2" in text.replace(r" \cdot ", r"\, ")
    assert r"\hat{A} &= \sum_{j} \tau\, (2)^{2}" in text or r"2^{2}" in text


def test_logistic_gates() -> None:
    text = belief().explain()
    assert "PG(1, ψ)" in text
    assert "Pólya" in text
    assert "Polson" in text
    step = text[text.index("Step 3: counts(h)") : text.index("Step 4")]
    assert "Mult" not in step


def test_precisions_hear_halves() -> None:
    text = log_linear().explain()
    assert "Σⱼ (Σₖ 0.5)" in text
    assert "The precision of a normal" in text
    assert "- 0)" not in text
