"""What belongs to the units of a layer, seen from two networks."""

from __future__ import annotations

from typing import Any

import pytest

import pgbn as pg
from pgbn.network.layers import Units, compare, global_nodes, nodes_above, summed_nodes
from tests.helpers.own_family import MULTIMODAL, own_family


def top_of(family: Any, *widths: int) -> tuple[pg.Network, Units]:
    network = family(widths)
    return network, compare(network, family((*widths[:-1], widths[-1] + 1)), widths[-1])


@pytest.mark.parametrize(
    ("family", "widths", "dims", "masses", "scores", "loadings"),
    [
        (pg.zoo.pgbn, (4,), ("topic1",), ("gamma0",), ["theta1"], ["phi1"]),
        (pg.zoo.pgbn, (4, 3), ("topic2",), ("gamma0",), ["theta2"], ["phi2"]),
        (MULTIMODAL, (4,), ("topic1",), ("gamma0",), ["theta1"], ["phi1_words", "phi1_labels"]),
        (MULTIMODAL, (4, 4), ("topic2",), ("gamma0",), ["theta2"], ["phi2"]),
        (own_family, (1,), ("level1",), ("mass",), ["scores1"], ["topics", "effects"]),
        (own_family, (5, 2), ("level2",), ("mass",), ["scores2"], ["links2"]),
    ],
)
def test_the_units_of_the_top_layer(
    family: Any, widths: Any, dims: Any, masses: Any, scores: Any, loadings: Any
) -> None:
    network, units = top_of(family, *widths)
    assert (units.dims, units.masses) == (dims, masses)
    found = summed_nodes(network, units)
    assert (found[0], sorted(found[1])) == (scores, sorted(loadings))


def test_a_dim_under_two_names_counts_the_same_units() -> None:
    """In a dynamical system the transitions go from factor to factor."""
    _, units = top_of(lambda widths: pg.zoo.pgds(widths[0]), 3)
    assert len(units.dims) == 2
    assert units.dim == units.dims[0]
    assert units.among(("time", units.dims[1]))
    assert not units.among(("time",))


def test_what_stands_above_and_what_rows_share() -> None:
    network, _ = top_of(own_family, 5, 2)
    above = nodes_above(network, ["scores2"])
    assert above == {"scores2", "weight", "rate2", "mass", "slowness"}
    assert set(global_nodes(network, ["doc"])) == {
        "mass", "slowness", "weight", "links2", "eta", "topics", "background", "effects",
    }  # fmt: skip
