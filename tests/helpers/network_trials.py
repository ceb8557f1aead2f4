"""Random networks examined: refused in words, or right by the joint-distribution test.

What passes |z| 4 is repeated with another seed and four times the replicates, and is a finding if it
passes again. `python -m tests.evidence` examines the first thousand cases.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pgbn
from pgbn.testing import GewekeResult, geweke, mutants
from tests.helpers.random_networks import Case, draft

__all__ = ["check_refusal", "examine", "is_seen", "outcome"]

MOST = 4.0  # |z|
SWEEPS = 5


def examine(case: Case, replicates: int, sweeps: int = SWEEPS) -> float:
    """The largest |z| of a case in the derived order and in its random one; an `AssertionError`
    is a finding."""
    assert case.network is not None
    orders = [None] if case.order == case.network.schedule.names else [None, case.order]
    return max(_examine(case, order, replicates, sweeps) for order in orders)


def _examine(case: Case, order: list[str] | None, replicates: int, sweeps: int) -> float:
    try:
        result = _result(case, order, replicates, sweeps, 1)
    except pgbn.StaleReadError:  # a sampler that integrates θ out accepts fewer orders
        assert order is not None, case.number
        assert case.layer1 in ("collapsed", "partial"), case.number
        return 0.0
    if result.worst < MOST:
        return result.worst
    result = _result(case, order, 4 * replicates, sweeps, 2)
    assert result.worst < MOST, f"case {case.number}, {case.layer1}, order {order}: {result}"
    return result.worst


def _result(
    case: Case,
    order: list[str] | None,
    replicates: int,
    sweeps: int,
    seed: int,
    layer1: str | None = None,
    broken: Callable[[pgbn.Chain], None] | None = None,
) -> GewekeResult:
    """A warning of numpy, about a number that is none, is a finding too."""
    assert case.network is not None
    layer1 = layer1 or case.layer1
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return geweke(case.network, None, replicates, sweeps, seed, layer1, 1, broken, order=order)


def check_refusal(case: Case) -> None:
    """A refusal names a node, and says what to do in more than a few words."""
    words = str(case.refusal)
    assert len(words) > 60, f"case {case.number}: {words}"
    assert any(name in words for name in case.names), f"case {case.number}: {words}"


def is_seen(case: Case, mutant: str, replicates: int) -> bool | None:
    """Whether a network notices that its sampler is broken; None if it has no such part."""
    assert case.network is not None
    broken = mutants(case.network).get(mutant)
    if broken is None:
        return None
    return _result(case, None, replicates, SWEEPS, 1, broken.layer1, broken).worst > MOST


def outcome(number: int, replicates: int) -> tuple[str, float, str]:
    """What became of a case: its kind, its largest |z| and, of a finding, its words."""
    try:
        case = draft(number)
        if case.network is None:
            check_refusal(case)
            return "refused", 0.0, ""
        return "accepted", examine(case, replicates), ""
    except Exception as error:  # whatever it is, it is a finding
        return "found", 0.0, " ".join(f"{type(error).__name__}: {error}".split())[:1500]
