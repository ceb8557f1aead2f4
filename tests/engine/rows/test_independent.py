"""What belongs to the rows, what is held, and what couples rows."""

from __future__ import annotations

import pytest

import pgbn
from pgbn.engine.rows.independent import check_independent, row_network
from pgbn.errors import NetworkError
from tests.helpers.models import zoo_models

MODELS = zoo_models()


@pytest.mark.parametrize("case", [n for n in MODELS if "doc" in MODELS[n].dims])
def test_all_steps_of_new_rows_are_local(case: str) -> None:
    assert all(step.local("doc") for step in row_network(MODELS[case], "doc").schedule)


def test_a_sum_over_the_rows_couples_them() -> None:
    weight = pgbn.Gamma("weight", 1.0, 1.0, dims=("doc", "topic"))
    phi = pgbn.Dirichlet("phi", 0.5, over="term", dims="topic")
    mixed = pgbn.extend.Mix(factors=(weight, phi), over=("doc", "topic"))
    network = pgbn.Network(pgbn.Poisson("x", mixed, dims="term"), sizes={"topic": 2})
    with pytest.raises(NetworkError, match="in the rate of x, 'doc' is summed over"):
        check_independent(network, "doc")
