"""Kernels on the graph: which entries move together, and what is refused."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from pgbn import Categories, Gamma, MissingRuleError, Network, Poisson, StaleReadError, distinct
from pgbn.extend import kernel_rule
from pgbn.network.wiring import coupled_dims
from pgbn.samplers import vectorised
from pgbn.testing import geweke
from tests.helpers.kernel_networks import SLICED


class Redrawn(Gamma):
    """A gamma with a kernel from what it hears."""

    tag: ClassVar[str] = "tests.redrawn"


@kernel_rule(Redrawn)
def redraw(stream: Any, count: Any, exposure: Any, shape: Any, rate: Any) -> Any:
    return vectorised.gamma(stream, shape + count, rate + exposure)


@pytest.mark.parametrize(
    ("name", "node", "dims"),
    [
        ("shape_of_gammas", "a", ()),
        ("beside_conjugate", "a", ()),
        ("concentrations", "e", ("v",)),
        ("scores", "theta", ("k",)),
        ("squares", "a", ()),
        ("self_loops", "phi", ("v",)),
    ],
)
def test_which_entries_depend_on_each_other(name: str, node: str, dims: tuple[str, ...]) -> None:
    net = SLICED[name]()
    assert coupled_dims(net.wiring.connections, net[node]) == dims


def test_a_kernel_for_all_entries_at_once_is_refused_where_they_are_drawn_in_turn() -> None:
    phi = Redrawn("phi", 2, 1, dims="v")
    pairs = distinct(phi.rename(v="i") * phi.rename(v="j"), "i", "j")
    with pytest.raises(MissingRuleError, match=r"phi is drawn by a kernel rule.*log_conditional"):
        Network(Poisson("x", pairs, dims=("i", "j")))


def test_pairs_by_categories_may_be_loops_if_a_slice_moves_them() -> None:
    phi = Gamma("phi", 2, 1, dims="v", update="slice")
    ends = [Categories(name, dims="e", of="v", values=values)
            for name, values in (("s", [0, 1, 2]), ("t", [1, 1, 0]))]  # fmt: skip
    net = Network(Poisson("x", phi[ends[0]] * phi[ends[1]], dims="e"), sizes={"v": 3})
    assert coupled_dims(net.wiring.connections, net["phi"]) == ("v",)
    assert geweke(net, {"e": 3}, 1000, 4).worst < 4


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
