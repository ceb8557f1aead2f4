"""The tree of a formula, which both writers read."""

from __future__ import annotations

import pytest

from pgbn.explain import formulas
from pgbn.explain.formulas import Blank, Char, Command, Environment, Group, Row, Script, parse

A, B = Char("a"), Char("b")


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        ("a := 0.05", (A, Blank(), Char(":="), Blank(), Char("0.05"))),
        (r"\theta_{a}^b", (Command("theta"), Script("_", (A,)), Script("^", (B,)))),
        ("{a}b", (Group((A,)), B)),
        (r"\frac{a}b", (Command("frac", ((A,), (B,))),)),
        (r"\frac 12", (Command("frac", ((Char("1"),), (Char("2"),))),)),
        (r"\bigl(a", (Command("bigl", ((Char("("),),)), A)),
        (r"\frac{a", (Command("frac", ((A,),)),)),
        (r"a_", (A, Script("_", ()))),
        (r"\_\,~", (Command("_"), Command(","), Command(" "))),
        (r"\begin{cases}a&b\\b\end{cases}a",
         (Environment("cases", (((A,), (B,)), ((B,),))), A)),
        (r"\begin{cases}a", (Environment("cases", (((A,),),)),)),
        ("a}b", (A,)),
        ("a\\", (A, Blank())),
        ("", ()),
    ],
)  # fmt: skip
def test_trees(latex: str, tree: Row) -> None:
    assert parse(latex) == tree


def test_every_sign_has_one_command() -> None:
    """Unicode that others write in an equation comes back as a command that is known."""
    known = {**formulas.LETTERS, **formulas.OPERATORS} | {
        n: s for n, (s, _) in formulas.LARGE.items()
    }
    assert all(known[name] == sign for sign, name in formulas.NAMES.items())
    kinds = [
        formulas.LETTERS, formulas.OPERATORS, formulas.LARGE, formulas.WORDS, formulas.SPACES, formulas.ACCENTS,
        formulas.FONTS, formulas.FRACTIONS, formulas.SIZES, formulas.SILENT,
    ]  # fmt: skip
    names = [name for kind in kinds for name in kind]
    assert len(names) == len(set(names))
