"""Normal nodes: density, refusals, and the joint-distribution test of all that they do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import pgbn
from pgbn import MissingRuleError, NetworkError
from pgbn.testing import geweke
from tests.helpers.normal_networks import NETWORKS, SIZES, features


def test_density() -> None:
    value, mean, precision = np.array([-1.0, 0.3]), 0.5, 4.0
    ours = pgbn.Normal("w", 0, 1).log_density(value, mean=mean, precision=precision)
    assert np.allclose(ours, stats.norm(mean, 0.5).logpdf(value))


def doc(name: str = "w") -> pgbn.Normal:
    return pgbn.Normal(name, 0.0, 1.0, dims="doc")


def shifted() -> pgbn.Normal:
    return pgbn.Normal("w", pgbn.Shift(pgbn.Self(), along="doc", initial=0.0), 1.0, dims="doc")


group = pgbn.Categories("group", dims="doc", of="kind", values=[0, 0, 1, 1])
REFUSED: dict[str, tuple[Callable[[], object], type[Exception], list[str]]] = {
    "shape": (
        lambda: pgbn.Network(pgbn.Poisson("x", pgbn.Gamma("g", doc(), 1.0, dims="doc"),
                                          dims="doc")),
        NetworkError,
        ["g: shape: w is a Normal", "may be negative", "pgbn.LogNormal('exp_w', w"],
    ),
    "rate of data": (
        lambda: pgbn.Network(pgbn.Poisson("x", features() @ doc("w").rename(doc="feature"),
                                          dims="doc")),
        NetworkError,
        ["x: rate: w is a Normal", "LogNormal"],
    ),
    "precision": (lambda: pgbn.Normal("w", 0.0, -1.0), NetworkError, ["precision", "positive"]),
    "square": (
        lambda: pgbn.Network(pgbn.ObservedNormal("y", (w := doc()) * w, 1.0, dims="doc")),
        NetworkError,
        ["w"],
    ),
    "categories": (
        lambda: pgbn.Network(pgbn.ObservedNormal(
            "y", pgbn.Normal("w", 0, 1, dims="kind")[group], 1.0, dims="doc")),
        MissingRuleError,
        ["read through group", "pgbn.Constant(…) @ w"],
    ),
    "time": (
        lambda: pgbn.Network(pgbn.ObservedNormal("y", shifted(), 1.0, dims="doc")),
        NetworkError,
        ["w", "Shift"],
    ),
    "a gamma in a mean": (
        lambda: pgbn.Network(pgbn.ObservedNormal("y", pgbn.Gamma("g", 1, 1), 1.0, dims="doc")),
        MissingRuleError,
        ["g (Gamma) stands in the mean of y", 'update="slice"'],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_the_way_out(case: str) -> None:
    build, kind, words = REFUSED[case]
    with pytest.raises(kind) as caught:
        build()
    for word in words:
        assert word in str(caught.value)


def test_a_positive_node_in_a_mean_by_slices() -> None:
    scale = pgbn.Gamma("g", 3.0, 3.0, update="slice")
    w = pgbn.Normal("w", 0.5, 1.0, dims="feature")
    y = pgbn.ObservedNormal("y", scale * (features() @ w), 2.0, dims="doc")
    net = pgbn.Network(y, sizes={"doc": 4, "feature": 2})
    result = geweke(net, {}, 1000, 4, seed=3)
    assert result.worst < 4, result


def test_what_is_not_finite_is_refused() -> None:
    net = NETWORKS["regression"]()
    data = {"y": np.zeros((4, 2))}
    with pytest.raises(pgbn.DataError, match="'b' has the value nan"):
        net.chain(data, given={"b": [0.0, np.nan]})
    chain = net.chain(data, given={"b": [-1.0, 2.0]})
    chain.sweep(2)
    assert (np.asarray(chain.program.values["b"]) == [[-1.0, 2.0]]).all()
    assert SIZES["topic"] == 2
