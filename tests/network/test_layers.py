"""Layers are found from the graph, whatever their nodes are called."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pgbn as pg
from pgbn import zoo
from pgbn.network.layers import Layer, layers_above


def test_a_belief_network_has_its_layers_from_the_data_up() -> None:
    assert layers_above(zoo.pgbn([6, 4, 3]), "x") == (
        Layer("theta1", "phi1", "topic1"),
        Layer("theta2", "phi2", "topic2"),
        Layer("theta3", "phi3", "topic3"),
    )


@pytest.mark.parametrize("model", [zoo.lda, zoo.hdp_lda, zoo.bnbp, zoo.gated_pfa])
def test_models_of_one_layer_have_one(model: Callable[[int], pg.Network]) -> None:
    assert layers_above(model(3), "x") == (Layer("theta", "phi", "topic"),)


def test_every_kind_of_data_stands_under_the_same_layers() -> None:
    network = zoo.multimodal([4, 3], {"words": "poisson", "tags": "bernoulli"})
    words, tags = (layers_above(network, name) for name in ("words", "tags"))
    assert [layer.scores for layer in words] == ["theta1", "theta2"]
    assert words[1:] == tags[1:]
    assert (words[0].loadings, tags[0].loadings) == ("phi1_words", "phi1_tags")


def own_network(dims: tuple[str, str]) -> pg.Network:
    """Two layers with names of somebody's own; the data may have the documents last."""
    top = pg.Gamma("top", 1.0, 1.0, dims=("person", "taste"))
    mixed = pg.Dirichlet("mixed", 0.5, over="habit", dims="taste") @ top
    habits = pg.Gamma("habits", mixed, 1.0, dims=("person", "habit"))
    goods = pg.Dirichlet("goods", 0.5, over="item", dims="habit")
    return pg.Network(pg.Poisson("buys", goods @ habits, dims=dims), sizes={"habit": 4, "taste": 2})


@pytest.mark.parametrize("dims", [("person", "item"), ("item", "person")])
def test_names_and_the_order_of_dims_do_not_matter(dims: tuple[str, str]) -> None:
    network = own_network(dims)
    assert layers_above(network, "buys") == (
        Layer("habits", "goods", "habit"),
        Layer("top", "mixed", "taste"),
    )


def test_a_rate_of_another_form_is_no_layer() -> None:
    assert layers_above(zoo.pgds(2), "x") == ()
    plain = pg.Network(pg.Poisson("y", pg.Gamma("rate", 1.0, 1.0, dims="row"), dims="row"))
    assert layers_above(plain, "y") == ()
    given = pg.Gamma("units", 1.0, 1.0, dims=("row", "part"))
    fixed = pg.Constant(value=np.ones((2, 3)), dims=("part", "column"))
    held = pg.Network(pg.Poisson("y", fixed @ given, dims=("row", "column")))
    assert layers_above(held, "y") == ()
