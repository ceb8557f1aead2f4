"""The table of links: what each row says, and what is said of wrong names."""

from typing import ClassVar

import numpy as np
import pytest

import pgbn as pg
from pgbn import zoo
from pgbn.errors import NetworkError
from pgbn.nodes.rules import find_link
from pgbn.zoo import links
from pgbn.zoo.links import Link, get_link, link_names, register_link, suitable_link


class Dense(pg.extend.Observed):
    """Data without counts behind them."""

    tag: ClassVar[str] = "tests.dense"
    rate: pg.extend.Slot


@pytest.mark.parametrize("link", ["poison", "Poisson", "", None, 3])
def test_wrong_link(link):
    with pytest.raises(NetworkError, match="link="):
        zoo.pgbn([2], link=link)
    with pytest.raises(NetworkError, match="link="):
        zoo.pfa(2, link=link)
    with pytest.raises(NetworkError, match=r"modalities\['words'\]"):
        zoo.multimodal([2], {"words": link})


def test_the_table_says_what_the_nodes_say():
    assert link_names()[:3] == ("poisson", "bernoulli", "gamma")
    for name in link_names():
        link, node = get_link(name), get_link(name).data_node("x")
        assert link.name == name
        assert link.is_counts == (find_link(node).counts is None)
        assert link.noise == ("noise" in node.slots())
        assert (node.name, node.dims) == ("x", ("doc", "term"))


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (np.array([1, 2, 3]), "poisson"),
        (np.array([1.0, 7.0]), "poisson"),
        (np.array([0.5, 2.0]), "gamma"),
        (np.array([]), "poisson"),
    ],
)
def test_auto_goes_by_the_data(values, name):
    assert suitable_link(values) == name


def test_auto_without_a_link_that_suits(monkeypatch):
    monkeypatch.setattr(links, "_links", {"bernoulli": get_link("bernoulli"), "none": get_link("bernoulli")})  # fmt: skip
    with pytest.raises(NetworkError, match=r"link='auto': no link suits .*'bernoulli' \(0 and 1\)"):
        suitable_link(np.array([1, 2]))


def test_only_links_with_noise_have_the_node():
    assert "noise" in zoo.pgbn([2], link="gamma").nodes
    for link in ("poisson", "bernoulli"):
        assert "noise" not in zoo.pgbn([2], link=link, noise_prior=(2.0, 2.0)).nodes
        with pytest.raises(NetworkError, match="noise_prior='wrong'"):
            zoo.pgbn([2], link=link, noise_prior="wrong")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "auto"}, "other than 'auto'"),
        ({"name": ""}, "a link with the name ''"),
        ({"name": 3}, "a link with the name 3"),
        ({"name": "poisson"}, "link 'poisson' exists already, for data that are counts"),
        ({"latent": None}, "BernoulliPoisson are drawn by its link rule; give how .* latent="),
        ({"node": pg.Poisson}, "Poisson are its data; give latent=None"),
        ({"node": Dense}, "Dense has no counts behind its rate; .*link_rule"),
    ],
)
def test_links_that_cannot_be(monkeypatch, fields, message):
    monkeypatch.setattr(links, "_links", dict(links._links))
    row = {
        "name": "new",
        "takes": "0 and 1",
        "node": pg.BernoulliPoisson,
        "latent": "truncated_poisson",
    }
    with pytest.raises(NetworkError, match=message):
        register_link(Link(**row | fields))
    assert "new" not in link_names()


def test_the_rule_for_the_rate_is_that_of_poisson_counts(monkeypatch):
    class Twice(pg.BernoulliPoisson):
        tag = "tests.twice"

    pg.extend.evidence_rule(Twice, "rate", relation="given", count="count", exposure=2.0)
    with pytest.raises(NetworkError, match="must be that of Poisson counts"):
        register_link(Link("twice", "0 and 1", Twice, latent="truncated_poisson"))


def test_a_cell_of_a_notebook_may_be_run_again(monkeypatch):
    monkeypatch.setattr(links, "_links", dict(links._links))
    for takes in ("0 and 1", "yes and no"):
        register_link(Link("new", takes, pg.BernoulliPoisson, latent="truncated_poisson"))
    assert get_link("new").takes == "yes and no"
