"""Draw rules and kernel rules: what they may read, how they are found, what they return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import pgbn
from pgbn import DataError, Gamma, MissingRuleError, Network, NetworkError, Poisson
from pgbn.nodes.base import Array
from pgbn.nodes.rules import begins_from_value, find_draw
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import geweke


def metropolis(
    stream: Stream, value: Array, count: Array, exposure: Array, shape: Array, rate: Array
) -> Array:
    """A random walk of ln θ that leaves Gam(shape + count, rate + exposure) invariant."""
    proposed = value * np.exp(vectorised.normal(stream, 0.0, 0.7))
    a, c = shape + count, rate + exposure
    log_ratio = a * np.log(proposed / value) - c * (proposed - value)
    accepted = np.log(vectorised.uniform(stream.child("accept"))) < log_ratio
    return np.where(accepted, proposed, value)


def walking(kernel: Callable[..., Array] = metropolis) -> type[Gamma]:
    class Walking(Gamma):
        pass

    pgbn.extend.kernel_rule(Walking)(kernel)
    return Walking


def test_a_kernel_passes_the_joint_distribution_test() -> None:
    theta = walking()("theta", 2.0, Gamma("c", 3, 2), dims="i")
    net = Network(Poisson("x", theta, dims="i"))
    assert {read.name for read in net.schedule[-1].reads} >= {"theta"} - {"c"}
    assert not any(step.on_demand for step in net.schedule)
    result = geweke(net, {"i": 3}, 2000, 6)
    assert result.worst < 4, result


def test_a_kernel_for_another_law_fails() -> None:
    def wrong(stream, value, count, exposure, shape, rate):  # type: ignore[no-untyped-def]
        return metropolis(stream, value, count + 1, exposure, shape, rate)

    net = Network(Poisson("x", walking(wrong)("theta", 2.0, 2.0, dims="i"), dims="i"))
    assert geweke(net, {"i": 3}, 2000, 6).worst > 4


def drawing_from_its_value(**slots: Any) -> Gamma:
    """A draw rule that reads the value: its new parameters depend on the old value."""

    class Sly(Gamma):
        pass

    pgbn.extend.draw_rule(Sly)(lambda value, count, shape: {"shape": shape + count + 0.0 * value})
    return Sly("theta", **slots)


@pytest.mark.parametrize("build", [lambda **slots: walking()("theta", **slots),
                                   drawing_from_its_value])  # fmt: skip
def test_what_begins_from_its_value_is_not_integrated_out(build: Callable[..., Gamma]) -> None:
    """Drawn from a stale value, the chain was wrong by |z| = 34."""
    theta = build(shape=Gamma("a", 2, 2), rate=2.0, dims="i")
    assert begins_from_value(theta)
    with pytest.raises(MissingRuleError, match=r"cannot be integrated out.*update=\"slice\""):
        Network(Poisson("x", theta, dims="i"))
    theta = build(shape=Gamma("a", 2, 2, update="slice"), rate=2.0, dims="i")
    names = Network(Poisson("x", theta, dims="i")).schedule.names
    assert sorted(names) == ["a", "counts(x)", "theta"]


@pytest.mark.parametrize(
    ("register", "words"),
    [
        (
            lambda: pgbn.extend.draw_rule(Gamma)(lambda stream, count: {}),
            "names 'stream'.*kernel_rule",
        ),
        (lambda: pgbn.extend.kernel_rule(Gamma)(lambda noise: 1.0), "names 'noise'"),
        (
            lambda: pgbn.extend.kernel_rule(Gamma)(lambda count, log_conditional: 1.0),
            "remove count",
        ),
    ],
)
def test_wrong_rules_are_refused(register: Callable[[], Any], words: str) -> None:
    with pytest.raises(NetworkError, match=words):
        register()


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            lambda value: value[..., :1],
            r"shape \(1, 1, 1, 1\).*numbers of the shape \(1, 1, 1, 3\)",
        ),
        (lambda value: value * np.nan, "NaN"),
        (lambda value: -value, "has the value -.*at least 0"),
        (lambda value: "two", "the type <U3"),
    ],
)
def test_wrong_values_are_refused(result: Callable[[Array], Any], words: str) -> None:
    chain = Network(Poisson("x", walking(result)("g", 1, 1, dims="i"), dims="i")).chain(
        {"x": np.ones(3, int)}
    )
    with pytest.raises(DataError, match=f"g: the kernel rule of Walking returned .*{words}"):
        chain.sweep()


def test_a_type_without_a_draw_rule_is_told_so() -> None:
    class Silent(pgbn.extend.Latent):
        a: pgbn.extend.Slot

        def generate(self, stream: Stream, **slots: Any) -> Array:
            return vectorised.gamma(stream, slots["a"], 1.0)

    with pytest.raises(
        MissingRuleError, match=r"g \(Silent\) has no draw rule.*pgbn.extend.draw_rule"
    ):
        Network(Poisson("x", Silent("g", a=1.0)))


def test_a_class_that_is_defined_again_keeps_its_rules() -> None:
    """As when only the cell of the class is run again in a notebook."""
    cell = """
class Again(pgbn.Gamma):
    tag: ClassVar[str] = "tests.again"
"""
    names: dict[str, Any] = {"pgbn": pgbn, "ClassVar": ClassVar, "__name__": "notebook"}
    exec(cell, names)
    former = names["Again"]
    pgbn.extend.draw_rule(former)(lambda count, shape: {"shape": 7 + shape + count})
    exec(cell, names)
    assert names["Again"] is not former
    assert find_draw(names["Again"]("g", 1, 1)).node is former
    pgbn.extend.draw_rule(names["Again"])(lambda count, shape: {"shape": shape + count})
    assert find_draw(names["Again"]("g", 1, 1)).node is names["Again"]
