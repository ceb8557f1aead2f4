"""What explain returns."""

from __future__ import annotations

import copy
import pickle

import pgbn as pg
from pgbn.explain import Explanation


def test_it_is_a_string_that_notebooks_show_with_formulas() -> None:
    network = pg.zoo.pfa(3)
    text = network.explain()
    assert isinstance(text, str)
    assert repr(text) == str(text)
    assert text._repr_markdown_() == network.explain("markdown")
    assert network.explain("latex")._repr_markdown_() == text._repr_markdown_()


def test_it_can_be_copied() -> None:
    text = pg.zoo.pfa(3).explain()
    for again in (copy.copy(text), pickle.loads(pickle.dumps(text))):
        assert isinstance(again, Explanation)
        assert str(again) == str(text)
        assert again.blocks == text.blocks
