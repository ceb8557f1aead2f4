"""What the functions of a user's rules return is checked; what ours return is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pgbn import DataError, Evidence, Gamma, Poisson
from pgbn.nodes.gamma import posterior_of_gamma, tables_of_gamma
from pgbn.nodes.rules.registry import checked_rule, drawn_counts, find_evidence, whole_counts

NODE = Gamma("g", 1, 1, dims="i")
SHAPE = (1, 1, 1, 2)
SIZES = {"i": 2}
RULE = find_evidence(NODE, "shape", Gamma("r", 1, 1))


def test_own_functions_are_checked_and_ours_are_left_alone() -> None:
    assert checked_rule(posterior_of_gamma, NODE, "shape", SHAPE) is posterior_of_gamma
    own = checked_rule(lambda value: value, NODE, "shape", SHAPE)
    assert own(value=np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    with pytest.raises(DataError, match=r"g: the rule of Gamma for 'shape', .*\(3,\)"):
        own(value=np.ones(3))


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ([1, 2], None),
        (np.array([[0.0], [3.0]]), None),
        ([1, 2.5], "drew the count 2.5"),
        ([1, -1], "drew the count -1"),
        ([1, 2.0**53 * 2], "drew the count"),
        ([1, 2, 3], "it must return an array of the shape"),
        (None, "returned None"),
        (["a", "b"], "it must return"),
        (Evidence([1, 2], 1.0), "returned an Evidence; return the counts alone"),
    ],
)
def test_counts(result: Any, words: str | None) -> None:
    rule = replace(RULE, count=tables_of_gamma)
    if words is None:
        found = drawn_counts(NODE, "shape", rule, result, SHAPE, SIZES)
        assert found.dtype == np.int64
        assert found.shape == SHAPE
        assert np.array_equal(found, whole_counts(NODE, "shape", tables_of_gamma, result, SHAPE))
    else:
        with pytest.raises(DataError, match=words):
            drawn_counts(NODE, "shape", rule, result, SHAPE, SIZES)


def test_counts_of_other_kinds_may_be_any_numbers() -> None:
    rule = replace(RULE, kind="normal")
    found = drawn_counts(NODE, "shape", rule, [-1.5, 2.5], SHAPE, SIZES)
    assert found.reshape(-1).tolist() == [-1.5, 2.5]


def test_a_random_exposure_has_the_dims_that_the_rule_names() -> None:
    rule = replace(RULE, drawn=lambda node: node.dims)
    evidence = drawn_counts(NODE, "shape", rule, Evidence([1, 2], [0.5, 0.25]), SHAPE, SIZES)
    assert evidence.count.shape == SHAPE
    assert evidence.exposure.tolist() == [0.5, 0.25]
    with pytest.raises(DataError, match=r"must return pgbn\.Evidence"):
        drawn_counts(NODE, "shape", rule, [1, 2], SHAPE, SIZES)
    with pytest.raises(DataError, match="returned as exposure"):
        drawn_counts(NODE, "shape", rule, Evidence([1, 2], [0.5]), SHAPE, SIZES)


def test_the_counts_behind_data_are_whole() -> None:
    node = Poisson("x", 1.0, dims="i")
    with pytest.raises(DataError, match=r"x: .* drew the count 1\.5"):
        whole_counts(node, "rate", tables_of_gamma, [1, 1.5], SHAPE)
