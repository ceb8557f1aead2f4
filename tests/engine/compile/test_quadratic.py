"""Joint draws as they run: forms of every layout, threads, folders, new rows."""

from __future__ import annotations

from typing import Any

import numpy as np

import pgbn
from tests.helpers.normal_networks import belief, features, log_linear


def data_of(net: pgbn.Network) -> dict[str, Any]:
    made = net.generate(seed=1)
    return {name: made[name] for name in net.observed}


def test_expressions_of_any_sign_are_kept() -> None:
    net = log_linear()
    w = net["w"]
    draws = net.sample(data_of(net), burn_in=1, draws=3, keep={"w": w, "psi": features() @ w})
    by_hand = np.einsum("jf,cdkf->cdjk", features().value, draws["w"])
    assert np.allclose(draws["psi"], by_hand)


def test_new_rows_of_a_belief_network_alone_and_together() -> None:
    net = belief()
    data = data_of(net)
    draws = net.sample(data, burn_in=5, draws=3, seed=0)
    rows = {"x": np.array([[3, 0, 1], [0, 2, 5], [1, 1, 0]])}
    whole = net.infer(rows, given=draws, rows="doc", burn_in=5, draws=9)
    alone = net.infer({"x": rows["x"][1:2]}, given=draws, rows="doc", burn_in=5, draws=9)
    for name in ("g", "h", "theta"):
        assert np.array_equal(whole[name][1], alone[name][0])
