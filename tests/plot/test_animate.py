"""A sweep as a page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import pgbn as pg
from pgbn.plot.animate import running_means
from tests.same_bits.networks import SMALL_SIZES, data_for, small_zoo

COUNTS = {"x": np.array([[3, 0, 1], [0, 2, 2]])}


def two_layers() -> pg.Network:
    return small_zoo()["pgbn poisson 2"]


def wrong_order(network: pg.Network) -> list[str]:
    names = [name for name in network.schedule.names if name != "c3"]
    return [*names[:-2], "c3", *names[-2:]]


def runs(page: str) -> list[dict]:
    found = re.search(r'<script id="runs" type="application/json">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1].replace("<\\/", "</"))


@pytest.mark.parametrize("name", small_zoo())
def test_every_network_has_a_page_that_asks_for_nothing(name: str) -> None:
    network = small_zoo()[name]
    page = str(network.animate(data_for(network, SMALL_SIZES, 2.0)))
    assert not re.search(r'(?:src|href)="|@import|url\((?!#)|fetch\(', page)
    (run,) = runs(page)
    assert [event["name"] for event in run["events"]] == network.schedule.names
    for node in network.nodes:
        assert page.count(f'data-node="{node}"') == 1
    edges = re.findall(r'data-parent="(.*?)" data-child="(.*?)"', page)
    assert edges == list(network.graph.edges)


def test_the_numbers_are_those_of_the_chain() -> None:
    network = two_layers()
    (run,) = runs(str(network.animate(COUNTS, seed=4)))
    chain = network.chain(COUNTS, seed=4, sampler="composed").sweep(2)
    events = {event["name"]: event for event in run["events"]}
    assert events["gamma0"]["numbers"][-1] == f"gamma0 = {float(chain.values['gamma0']):.3g}"
    assert (
        sum(map(int, events["counts(x)"]["numbers"][0].split("← ")[1].split(" (")[0].split())) == 8
    )
    p, odds = events["p2"]["numbers"][-2:]
    value = np.ravel(chain.values["p2"])[0]
    assert p.startswith(f"p2 = {1 / (1 + value):.3g}")
    assert odds.startswith(f"(1 − p2) / p2 = {value:.3g}")
    assert events["gamma0"]["stale"] >= ["r"]
    assert "<math" in events["c3"]["equation"]


def test_two_orders_side_by_side() -> None:
    network = two_layers()
    page = str(network.animate(COUNTS, order=wrong_order(network), sweeps=20))
    right, wrong = runs(page)
    assert not any(event["why"] for event in right["events"])
    (fault,) = [event for event in wrong["events"] if event["why"]]
    assert fault["name"] == "c3"
    assert "c3 reads theta2, which belongs to the old state" in fault["why"]
    assert page.count("<polyline") == 2  # the running means of both
    assert "which is wrong" in page


def test_what_is_refused_and_what_a_notebook_shows(tmp_path: Path) -> None:
    network = two_layers()
    with pytest.raises(pg.DataError, match="order='c3'"):
        network.animate(COUNTS, order="c3")
    with pytest.raises(pg.NetworkError, match="there is no step 'c4'"):
        network.animate(COUNTS, order=["c4"])
    with pytest.raises(pg.PgbnError, match="sweeps"):
        network.animate(COUNTS, sweeps=0)
    page = network.animate(COUNTS)
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE')
    page.save(tmp_path / "sweep.html")
    assert (tmp_path / "sweep.html").read_text("utf-8") == str(page)


def test_running_means_of_the_values() -> None:
    network = pg.zoo.pfa(2)
    data = {"x": np.ones((2, 3), int)}
    means = running_means([network.chain(data, seed=seed, threads=1) for seed in (0, 1)], 4)
    chain = network.chain(data, seed=1, threads=1)
    kept = [float(np.log1p(chain.sweep().values["c0"])) for _ in range(4)]
    assert np.allclose(means["c0"][1], np.cumsum(kept) / np.arange(1, 5))
    assert "phi1" not in means  # its mean is known
