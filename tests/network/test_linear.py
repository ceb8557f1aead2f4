"""Which dims are drawn jointly, and what a linear predictor reads."""

from __future__ import annotations

import pgbn
from pgbn.network.connections import joint_dims
from tests.helpers.normal_networks import belief, features, regression


def test_what_a_predictor_sums_over_is_joint() -> None:
    for net, expected in ((regression(), {"w": ("feature",), "b": (), "mu": ()}),
                          (belief(), {"w": ("unit",), "g": ("unit",), "b": ()})):  # fmt: skip
        for name, dims in expected.items():
            assert joint_dims(net[name], net.wiring.sources[name]) == dims


def test_all_else_in_a_predictor_is_read() -> None:
    reads = {step.name: {read.name for read in step.reads} for step in belief().schedule}
    assert reads["w"] == {"b", "counts(h)", "g"}
    assert reads["b"] == {"w", "counts(h)", "g"}
    assert reads["g"] == {"w", "b", "counts(h)", "g", "pi"}  # bits begin from their value
    assert reads["counts(h)"] == {"w", "b", "g", "h"}


def test_joint_draws_are_local_along_their_other_dims() -> None:
    steps = {step.name: step for step in belief().schedule}
    assert steps["g"].local("doc")
    assert not steps["w"].local("doc")
    assert steps["w"].local("topic")


def test_read_back_from_json() -> None:
    for net in (regression(), belief()):
        again = pgbn.Network.from_json(net.to_json())
        assert again.schedule.names == net.schedule.names
        assert again.to_json() == net.to_json()


def test_a_mean_may_hold_several_terms_of_one_node() -> None:
    w = pgbn.Normal("w", 0.0, 1.0, dims="feature")
    y = pgbn.ObservedNormal("y", features() @ w + 0.5 * (features() @ w), 1.0, dims="doc")
    net = pgbn.Network(y)
    assert len(net.wiring.sources["w"]) == 2
