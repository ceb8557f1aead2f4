"""Kernels on the graph: which entries move together, and what is refused."""

from __future__ import annotations

import pytest

from pgbn import Gamma, MissingRuleError, Network, Poisson, Self, Shift, StaleReadError
from pgbn.network.kernels import coupled_dims, factors_of, names_in
from tests.helpers.kernel_networks import SLICED


@pytest.mark.parametrize(
    ("name", "node", "dims"),
    [
        ("shape_of_gammas", "a", ()),
        ("beside_conjugate", "a", ()),
        ("concentrations", "e", ("v",)),
        ("scores", "theta", ("k",)),
    ],
)
def test_which_entries_depend_on_each_other(name: str, node: str, dims: tuple[str, ...]) -> None:
    net = SLICED[name]()
    assert coupled_dims(net.wiring.connections, net[node]) == dims


def test_names_of_dims_in_a_child() -> None:
    a = Gamma("a", 1, 1, dims="k", update="slice")
    net = Network(Poisson("x", Gamma("t", a.rename(k="i"), 1, dims="i"), dims="i"))
    (factor,) = factors_of(net.wiring.connections, "a", net["t"])
    assert names_in(factor) == {"k": "i"}
    assert net.wiring.connections.by_density == {"a"}
    assert net.wiring.connections.uncollapsed == {"a"}


def test_a_chain_is_refused() -> None:
    theta = Gamma("theta", Shift(Self(), along="t", initial=1.0), 1, dims="t", update="slice")
    with pytest.raises(
        MissingRuleError, match=r"theta is drawn by a kernel.*but shape holds a Shift"
    ):
        Network(Poisson("x", theta, dims="t"))


def test_different_dims_in_one_child_are_refused() -> None:
    a = Gamma("a", 1, 1, dims="k", update="slice")
    theta = Gamma("t", a.rename(k="i") + a.rename(k="j"), 1, dims=("i", "j"))
    with pytest.raises(MissingRuleError, match="a: update='slice', but t reads it with different"):
        Network(Poisson("x", theta, dims=("i", "j")))


def test_the_schedule_knows_what_a_kernel_reads() -> None:
    """r leaves theta stale, which a reads; a leaves the tables stale, which r reads."""
    net = SLICED["beside_conjugate"]()
    assert net.schedule.names == ["counts(x)", "counts(theta)", "r", "theta", "a"]
    step = net.schedule[-1]
    assert {read.name for read in step.reads} == {"a", "r", "theta"}
    assert set(step.marginalises) == {"counts(theta)"}
    assert step.local("k")
    assert not step.on_demand
    for order in (["r", "a", "theta"], ["a", "r", "theta"]):
        with pytest.raises(StaleReadError):
            net.with_order(["counts(x)", "counts(theta)", *order])


@pytest.mark.parametrize(
    ("build", "line"),
    [
        # a gamma in the shape and rate of another; a sum in a rate; a rate with other exposure
        (lambda a: Gamma("t", a, a, dims="i"), "pgbn.Gamma('a', ..., update=\"slice\")"),
        (lambda a: Gamma("t", 1.0, a + 1.0, dims="i"), "pgbn.Gamma('a', ..., update=\"slice\")"),
    ],
)
def test_a_refused_scalar_is_told_the_line_to_write(build, line) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(MissingRuleError) as told:
        Network(Poisson("x", build(Gamma("a", 1, 1)), dims="i"))
    assert line in str(told.value)
    Network(Poisson("x", build(Gamma("a", 1, 1, update="slice")), dims="i"))
