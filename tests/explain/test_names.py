"""From names to LaTeX."""

from __future__ import annotations

import pytest

from pgbn.explain.names import clean_math, indices_of, symbols_of


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("theta2", r"\theta^{(2)}_{j}"),
        ("gamma0", r"\gamma_{0, j}"),
        ("phi_image", r"\phi^{(\mathrm{image})}_{j}"),
        ("θ", r"\theta_{j}"),
        ("noise", r"\mathrm{noise}_{j}"),
        ("50%", r"\mathrm{50\%}_{j}"),
    ],
)
def test_symbols(name: str, latex: str) -> None:
    assert symbols_of([name])[name].at(["j"]) == latex


def test_names_with_one_symbol_are_written_out() -> None:
    found = symbols_of(["theta", "θ"])
    assert [symbol.base for symbol in found.values()] == [r"\mathrm{theta}", r"\mathrm{\theta }"]


def test_indices_are_told_apart() -> None:
    assert indices_of(["doc", "topic1", "topic2", "k"], {"k": "topic1"}) == {
        "doc": "j", "topic1": "k_1", "topic2": "k_2", "k": "k_1'",
    }  # fmt: skip


def test_long_words_below_an_index_are_their_first_letter() -> None:
    assert indices_of(["term_words", "user_community", "user_groups", "user_collection"], {}) == {
        "term_words": r"v_{\mathrm{words}}", "user_community": r"u_{\mathrm{c}}",
        "user_groups": r"u_{\mathrm{groups}}", "user_collection": r"u_{\mathrm{c}}'",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        ("a − b", "a - b"),
        ("x ∼ Γ′", r"x \sim  \Gamma '"),
        ("a ≥ ∑ b", r"a \ge  \sum  b"),
        ("a ≠ b × c", r"a \ne  b \times  c"),
        ("ö中", r"\text{ö}U4E2D"),
        (r"\ell", r"\ell"),
    ],
)
def test_unicode_in_formulas_of_others(written: str, clean: str) -> None:
    assert clean_math(written) == clean
