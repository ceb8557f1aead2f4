"""The joint-distribution test of the variants of the first layer that have kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pgbn.engine.run.chain import Chain
from pgbn.testing import geweke
from tests.helpers.first_layer_variants import VARIANT_SIZES, VARIANTS

LONG = pytest.mark.long


def sizes_of(name: str) -> dict[str, int]:
    dims = VARIANTS[name]().dims
    return {dim: size for dim, size in VARIANT_SIZES.items() if dim in dims}


# ---- what is done wrong must be seen ------------------------------------------------------------


def _weights_without_the_rate(chain: Chain) -> None:
    """b_jv beside φ (m + a), as if θ were held: the factor (c + q) / s is forgotten."""
    sampler = chain.sampler
    assert sampler is not None
    right = sampler.pseudo
    sampler.pseudo = lambda held: right(True)  # type: ignore[method-assign]


def _counts_of_one_node(chain: Chain) -> None:
    """The labels of the one kind of data drawn as if the other had told θ nothing."""
    for sampler in chain.samplers:
        sampler.other_counts = lambda: None  # type: ignore[method-assign]


def _old_eta(chain: Chain) -> None:
    """η as a number: the labels are drawn given another one than the tables."""
    sampler: Any = chain.sampler
    sampler.__class__ = type("Wrong", (type(sampler),), {"eta": 0.3})


def _counts_without_a_scale(chain: Chain) -> None:
    """The rates of binary data without the size of the row."""
    sampler: Any = chain.sampler
    sampler.row_scale.get = lambda: np.ones(sampler.rows)


@pytest.mark.parametrize(
    ("name", "layer1", "broken", "replicates"),
    [
        ("background and size", "collapsed", _weights_without_the_rate, 6000),
        ("background of documents", "partial", _weights_without_the_rate, 6000),
        pytest.param("two kinds of data", "collapsed", _counts_of_one_node, 36_000, marks=LONG),
        ("inferred eta", "collapsed", _old_eta, 6000),
        pytest.param(
            "binary data, background", "blocked", _counts_without_a_scale, 60_000, marks=LONG
        ),
    ],
)
def test_mistakes_are_seen(
    name: str, layer1: str, broken: Callable[[Chain], None], replicates: int
) -> None:
    result = geweke(VARIANTS[name](), sizes_of(name), replicates, 6, 1, layer1, broken=broken)
    assert result.worst > 5, result
