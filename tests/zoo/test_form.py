"""Every model of the zoo is short, says where it comes from, and stands in docs/zoo.md."""

from __future__ import annotations

import ast
import inspect

import pytest

from pgbn import zoo
from tests.helpers.repository import ROOT

MODELS = [name for name in zoo.__all__ if inspect.isfunction(getattr(zoo, name))
          and getattr(zoo, name).__annotations__.get("return") == "Network"]  # fmt: skip


def test_there_are_models() -> None:
    assert len(MODELS) > 20


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_short_and_says_where_it_comes_from(name: str) -> None:
    model = getattr(zoo, name)
    (function,) = ast.parse(inspect.getsource(model)).body
    assert isinstance(function, ast.FunctionDef)
    _, *body = function.body
    assert function.end_lineno is not None
    assert function.end_lineno - body[0].lineno + 1 <= 25
    text = inspect.getdoc(model) or ""
    assert "~" in text.splitlines()[0]  # an equation
    assert "Reference" in text
    assert any(
        word in text for word in ("default", "ours", "released", "priors are")
    )  # whose they are
    assert f"`{name}`" in (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8")
