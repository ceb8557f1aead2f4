"""Models of tensors, authors and ratings: the law of their samplers, what they find, how they read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pgbn import Network, NetworkError, zoo
from pgbn.testing import geweke
from tests.helpers.refusals import Case, check_refused

MILD = (4.0, 4.0)
MODELS: dict[str, tuple[Callable[[], Network], dict[str, int]]] = {
    "bptf": (
        lambda: zoo.bptf(2, ("a", "b", "c", "d"), 1.5, MILD), {"a": 2, "b": 2, "c": 2, "d": 2}
    ),
    "tucker": (
        lambda: zoo.tucker({"a": 2, "b": 2, "c": 2}, 1.5, MILD, MILD), {"a": 2, "b": 3, "c": 2}
    ),
    "author_topic": (
        lambda: zoo.author_topic(2, 0.8, 0.8, MILD).with_indexes(author=[0, 2, 0]),
        {"writer": 3, "term": 3},
    ),
    "hpf": (lambda: zoo.hpf(2, 1.5, MILD, MILD), {"user": 3, "item": 2}),
    "hpf, cells": (lambda: zoo.hpf(2, 1.5, MILD, MILD, [1.0, 2.0, 0.5]), {"item": 2}),
}  # fmt: skip


@pytest.mark.parametrize("case", MODELS)
def test_the_joint_distribution_does_not_change(case: str) -> None:
    make, sizes = MODELS[case]
    assert geweke(make(), sizes, replicates=1500, sweeps=4).worst < 4


@pytest.mark.long
@pytest.mark.parametrize("case", MODELS)
def test_the_joint_distribution_does_not_change_at_full_power(
    case: str, record_property: Callable[[str, str], None]
) -> None:
    make, sizes = MODELS[case]
    result = geweke(make(), sizes, replicates=25_000, sweeps=12, seed=1)
    record_property("geweke", f"{result.worst:.2f} of {len(result.z)}")
    assert result.worst < 4, result


def test_a_tensor_is_read_from_coordinates() -> None:
    network = zoo.bptf(3)
    rng = np.random.default_rng(0)
    modes = network[network.observed[0]].axes
    events = {mode: rng.integers(0, 50, 40) for mode in modes}
    draws = network.sample({"y": events}, burn_in=2, draws=2, progress=False, threads=1)
    assert draws["theta_sender"].shape[2:] == (events["sender"].max() + 1, 3)


def test_derivations_read_well() -> None:
    text = str(zoo.author_topic(5).explain(brief=True))
    assert "θ[k, author(j)]" in text
    assert "Σ_(j : author(j) = w) x[· j k]" in text
    text = str(zoo.bptf(5).explain(brief=True))
    assert "y[" in text
    assert "θ⁽ˢᵉⁿᵈᵉʳ⁾" in text or "θ^(sender)" in text


REFUSED: dict[str, Case] = {
    "modes": (lambda: zoo.bptf(3, "abc"), NetworkError, ["modes='abc'", "'sender'"]),
    "one mode": (lambda: zoo.bptf(3, ["a"]), NetworkError, ["two modes or more"]),
    "a mode twice": (lambda: zoo.bptf(3, ["a", "a"]), NetworkError, ["each once"]),
    "widths": (lambda: zoo.tucker([3, 2]), NetworkError, ["widths=[3, 2]", "from modes to widths"]),
    "width": (lambda: zoo.tucker({"a": 0, "b": 2}), NetworkError, ["widths['a']=0"]),
    "size factors": (lambda: zoo.hpf(2, size_factors=[-1.0]), NetworkError, ["negative number -1"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    check_refused(*REFUSED[case])
