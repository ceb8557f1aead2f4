"""Normal nodes: a slice beside them, and what is rejected."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn import DataError
from pgbn.testing import geweke
from tests.helpers.normal_networks import NETWORKS, features


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
    assert (np.asarray(chain._program.values["b"]) == [[-1.0, 2.0]]).all()


# ---- real data ------------------------------------------------------------------------------------


def observed() -> pgbn.Network:
    w = pgbn.Normal("w", 0.2, 0.5, dims="feature")
    y = pgbn.ObservedNormal("y", features() @ w, 4.0, dims="doc")
    return pgbn.Network(y, sizes={"doc": 4, "feature": 2})


def test_masked_cells_are_refused() -> None:
    y = np.ma.masked_array(np.zeros(4), mask=[True, False, False, False])
    with pytest.raises(DataError, match="masked cells, which cannot be imputed"):
        observed().sample({"y": y}, burn_in=1, draws=1)
