"""The plan: who makes the function of each step."""

from __future__ import annotations

from pgbn import zoo
from pgbn.engine.fused.gamma_layers import LayerTables
from tests.helpers.small_data import corpus


def test_the_kernels_are_used_where_they_fit():
    chain = zoo.pgbn([4, 3, 2]).chain({"x": corpus(documents=20)}, layer1="blocked")
    fused = [turn.run for turn in chain._turns if "fused" in getattr(turn.run, "__module__", "")]
    assert [run for run in fused if not isinstance(run, LayerTables)]
    composed = zoo.pgbn([4, 3, 2]).chain({"x": corpus(documents=20)}, layer1="composed")
    assert not any(
        "fused" in getattr(run, "__module__", "") for run in (turn.run for turn in composed._turns)
    )
