"""Steps with θ integrated out: what they read, and where θ has to stay."""

from __future__ import annotations

import pytest

import pgbn
from pgbn.engine.first_layer.pattern import cannot_marginalise, find_patterns, without_scores
from pgbn.network.steps import steps_of
from tests.helpers.first_layer_variants import VARIANTS


@pytest.mark.parametrize(("loadings", "reads"), [(True, {"r", "phi1"}), (False, {"r"})])
def test_a_step_with_the_scores_integrated_out(loadings: bool, reads: set[str]) -> None:
    wiring = pgbn.zoo.pfa(2).wiring
    (pattern,) = find_patterns(wiring)
    step = without_scores(
        wiring, pattern, steps_of(wiring)["counts(x)"], "mine", "equation", loadings
    )
    assert {read.name for read in step.reads} == reads
    assert set(step.marginalises) >= ({"theta1"} if loadings else {"theta1", "phi1"})
    assert ("phi1" in step.marginalises) is not loadings
    assert (step.method, step.equation) == ("mine", "equation")


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("inferred eta", {"r", "eta"}),
        ("size factor", {"r", "s"}),
        ("background of documents", {"r", "p", "beta", "g"}),
        ("background and size", {"r", "c", "s", "b"}),
        ("two kinds of data", {"r"}),
    ],
)
def test_what_stands_beside_the_topics_is_read(name: str, reads: set[str]) -> None:
    """Further terms are weighed against θ, whose rate they need; a factor of rows cancels."""
    steps = {step.name: step for step in VARIANTS[name]().schedule_for("collapsed")}
    assert {read.name for read in steps["counts(x)"].reads} == reads
    assert {"phi", "theta"} <= set(steps["counts(x)"].marginalises)


def test_a_size_factor_is_drawn_after_the_scores_that_it_reads() -> None:
    names = VARIANTS["size factor"]().schedule_for("collapsed").names
    assert names.index("counts(x)") < names.index("theta") < names.index("s")


def test_scores_with_children_of_another_kind_stay() -> None:
    wiring = VARIANTS["counts and binary data"]().wiring
    patterns = find_patterns(wiring)
    assert [cannot_marginalise(wiring, pattern, patterns) for pattern in patterns] == [
        "", "the data of BernoulliPoisson are not counts"
    ]  # fmt: skip
    assert cannot_marginalise(wiring, patterns[0], patterns[:1]) == "theta has other children"
