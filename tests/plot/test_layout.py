"""Where nodes stand: nothing overlaps, and the plate holds its nodes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

import pgbn as pg
from pgbn.plot.layout import HEIGHT, Box, find_plate, make_boxes, make_edges, place
from tests.helpers.compositions import COMPOSITIONS

SPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module", params=COMPOSITIONS)
def network(request: pytest.FixtureRequest) -> pg.Network:
    return COMPOSITIONS[request.param]()


def placed(network: pg.Network) -> dict[str, Box]:
    boxes = make_boxes(network, find_plate(network))
    edges = make_edges(network, boxes)
    place(list(dict.fromkeys([*boxes.values(), *(box for edge in edges for box in edge.boxes)])))
    return boxes


def test_nodes_do_not_overlap_and_parents_stand_above(network: pg.Network) -> None:
    boxes = placed(network)
    every = list(boxes.values())
    for number, one in enumerate(every):
        for other in every[:number]:
            apart = abs(one.x - other.x) >= (one.width + other.width) / 2
            assert apart or abs(one.y - other.y) > HEIGHT
    for parent, child in network.graph.edges:
        assert boxes[parent].y + HEIGHT < boxes[child].y


def test_the_plate_holds_its_nodes_and_no_others(network: pg.Network) -> None:
    plate = find_plate(network)
    root = ElementTree.fromstring(str(network.plot()))
    frame = next(r for r in root.iter(f"{SPACE}rect") if r.get("class") == "plate")
    left, width = float(frame.get("x", 0)), float(frame.get("width", 0))
    for box in placed(network).values():
        assert box.node is not None
        assert (left < box.x < left + width) is (plate in box.node.axes)


def test_the_plate_is_that_of_the_documents() -> None:
    assert find_plate(pg.zoo.pgbn([3, 2])) == "doc"
    assert find_plate(COMPOSITIONS["multimodal"]()) == "doc"


def test_what_stands_in_the_first_row_only_says_so() -> None:
    picture = str(pg.zoo.gamma_markov_chain(2).plot())
    assert ">shape at time = 1</text>" in picture
    assert ">shape at time = 1</text>" not in str(pg.zoo.pgbn([2]).plot())
