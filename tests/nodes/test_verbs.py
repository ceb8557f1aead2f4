"""Formulas in plain text."""

from __future__ import annotations

import pgbn as pg
from pgbn.nodes.rules.registry import plain_formula


def test_plain_formulas() -> None:
    assert plain_formula(r"\mathrm{Gam}(a + m,\ c + q)") == "Gam(a + m, c + q)"


def test_the_table_of_rules_has_no_latex() -> None:
    table = pg.rules()
    assert "\\" not in table
    shown = table._repr_markdown_()  # type: ignore[attr-defined]
    assert r"| `Gamma.shape` | collapsed | poisson | $\ell \sim \mathrm{CRT}(m, a)" in shown
    rows = [line for line in shown.splitlines() if line.startswith("| `")]
    assert all(line.count("|") == 5 for line in rows)
