"""Models of tensors, authors and ratings: the law of their samplers, what they find, how they read."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import NetworkError, zoo
from tests.helpers.refusals import Case, check_refused

MILD = (4.0, 4.0)


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
