"""Orders of the steps that are wrong, some of them of released programs: each is refused in words."""

from __future__ import annotations

import pytest

from pgbn import Network, StaleReadError
from pgbn.testing import geweke
from tests.evidence.networks import models_of_the_zoo


def moved(network: Network, name: str, before: str | None = None) -> list[str]:
    """The derived order with one step moved before another, or to the end."""
    names = [other for other in network.schedule.names if other != name]
    names.insert(names.index(before) if before else len(names), name)
    return names


DIRBN = ["counts(x)", "counts(theta)", "counts(phi1)", "counts(beta2)", "counts(g2)"]
WRONG: dict[str, tuple[str, tuple[str, str | None] | list[str], str]] = {
    "dirbn: rates after the roots, as released": (
        "dirbn",
        [*DIRBN, "phi2", "g2", "gamma0_2", "c0_2", "c2", "beta2", "phi1", "r", "p", "theta"],
        r"c0_2 conditions on g2.*gamma0_2 was drawn",
    ),
    "dirbn: its rate after beta is integrated out": (
        "dirbn",
        [*DIRBN, "c0_2", "gamma0_2", "phi2", "g2", "c2", "beta2", "phi1", "r", "p", "theta"],
        r"c2 conditions on beta2.*g2 was drawn with beta2",
    ),
    "nbfa: lam before its shape": ("nbfa", ("lam", "phi"), "lam"),
    "prgds: transitions after the chain": ("prgds", ("pi", None), r"pi.*counts\(theta\)"),
    "dpfa_sbn: weights after new gates": (
        "dpfa_sbn", ("w1", None), r"w1 conditions on counts\(h1\)",
    ),
    "dynamic_topics: topics before their concentration": (
        "dynamic_topics", ("phi", "kappa"), "kappa was drawn with phi integrated out",
    ),
    "gp_dpfa: theta before its beginning": (
        "gp_dpfa, bernoulli", ("theta", "a1"), "a1 was drawn with theta integrated out",
    ),
    "deep_pgds: theta before what integrates it out": (
        "deep_pgds",
        ["counts(x)", "counts(theta1)", "counts(theta2)", "delta", "phi1", "theta2", "theta1",
         "phi2", "pi1", "pi2", "beta", "nu"],
        "theta1 is stale",
    ),
}  # fmt: skip


def order_of(case: str) -> tuple[Network, dict[str, int], list[str]]:
    model, order, _ = WRONG[case]
    network, sizes = models_of_the_zoo()[model]
    return network, dict(sizes), order if isinstance(order, list) else moved(network, *order)


@pytest.mark.parametrize("case", WRONG)
def test_an_order_that_reads_what_is_stale_is_refused(case: str) -> None:
    network, _, order = order_of(case)
    with pytest.raises(StaleReadError, match=WRONG[case][2]):
        network.with_order(order)


@pytest.mark.parametrize("case", [case for case in WRONG if case.startswith(("deep_pgds", "gp_"))])
def test_the_joint_distribution_test_sees_it(case: str) -> None:
    """Others have a bias that takes more replicates."""
    network, sizes, order = order_of(case)
    wrong = geweke(network, sizes, 6000, 8, seed=1, order=order, unchecked=True)
    assert wrong.worst > 5, wrong


@pytest.mark.long
def test_the_released_order_of_dirbn_is_seen() -> None:
    network, _, order = order_of("dirbn: rates after the roots, as released")
    sizes = {"doc": 4, "term": 3}
    wrong = geweke(network, sizes, 60_000, 10, 1, order=order, unchecked=True)
    assert wrong.worst > 6, wrong
