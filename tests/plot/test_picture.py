"""A picture: well-formed SVG, nothing overlaps, plates hold their nodes, all is drawn and spoken."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import pgbn as pg
from pgbn.plot import Picture
from pgbn.plot.picture import HEIGHT, Box, find_plate, make_boxes, make_edges, place
from pgbn.plot.ranks import rank_histograms
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
        upper, lower = (child, parent) if boxes[parent].below else (parent, child)
        assert boxes[upper].y + HEIGHT < boxes[lower].y


def frames(network: pg.Network) -> dict[str, tuple[float, float, float, float]]:
    """The rectangle of every plate that is drawn: left, top, right, bottom."""
    root, found = ElementTree.fromstring(str(network.plot())), {}
    for each in root.iter(f"{SPACE}rect"):
        if (each.get("class") or "").startswith("plate"):
            x, y, width, height = (float(each.get(n, 0)) for n in ("x", "y", "width", "height"))
            title = each.findtext(f"{SPACE}title") or ""
            found[title.removeprefix("plate ")] = (x, y, x + width, y + height)
    return found


def test_plates_hold_their_nodes_and_no_others(network: pg.Network) -> None:
    found = frames(network)
    assert find_plate(network) in found
    for plate, (left, top, right, bottom) in found.items():
        for box in placed(network).values():
            assert box.node is not None
            inside = left < box.x < right and top < box.y + HEIGHT / 2 < bottom
            assert inside is (plate in box.node.axes)


def test_every_plate_that_a_rectangle_can_hold_is_drawn() -> None:
    topics = {"dims": "topic"}
    rates = [pg.Gamma(name, 1.0, 1.0, dims=(name, "topic")) for name in ("doc", "user")]
    loads = [pg.Dirichlet(f"{name}s", 0.1, over=name, **topics) for name in ("term", "item")]
    x = pg.Poisson("x", loads[0] @ rates[0], dims=("doc", "term"))
    y = pg.Poisson("y", loads[1] @ rates[1], dims=("user", "item"))
    assert set(frames(pg.Network(x, y, sizes={"topic": 3}))) == {"topic"}
    assert frames(pg.Network(pg.Poisson("x", pg.Gamma("rate", 1, 1)))) == {}
    theta = pg.Gamma("theta", 1, pg.Gamma("c", 2, 2, dims="doc"), dims=("doc", "topic"))
    kinds = [pg.Poisson(f"x{over}", pg.Dirichlet(over, 0.5, over=over, **topics) @ theta,
                        dims=("doc", over)) for over in ("term", "pixel")]  # fmt: skip
    kinds.append(pg.BernoulliPoisson(
        "z", pg.Gamma("w", 2, 2, dims=("label", "topic")) @ theta, dims=("doc", "label")
    ))  # fmt: skip
    assert set(frames(pg.Network(*kinds, sizes={"topic": 3}))) >= {"doc", "term", "pixel", "label"}
    deep = pg.Gamma("deep", 1.0, 1.0, dims="user")
    z = pg.Poisson("z", deep, dims="user")
    assert set(frames(pg.Network(pg.Poisson("x", 1.0 * rates[0], dims=("doc", "topic")), z,
                                 sizes={"topic": 3}))) == {"doc", "user", "topic"}  # fmt: skip


def points(path: str) -> list[tuple[float, float]]:
    """A curve of cubic pieces, as a line of many points."""
    numbers = [float(word) for word in path.replace("M", " ").replace("C", " ").split()]
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    out = []
    for start in range(0, len(pairs) - 1, 3):
        a, b, c, d = pairs[start : start + 4]
        for t in (step / 24 for step in range(25)):
            w = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            out.append(tuple(sum(wi * p[i] for wi, p in zip(w, (a, b, c, d), strict=True))
                             for i in (0, 1)))  # fmt: skip
    return out


def crosses(one: list[tuple[float, float]], other: list[tuple[float, float]]) -> bool:
    def side(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return any(
        side(p, q, r) * side(p, q, s) < 0 and side(r, s, p) * side(r, s, q) < 0
        for p, q in pairwise(one)
        for r, s in pairwise(other)
    )


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda: pg.zoo.pgbn([9, 8, 7, 6, 5]), id="five layers"),
        pytest.param(lambda: pg.zoo.multimodal([9, 5], {"words": "poisson", "tags": "bernoulli",
                                                        "image": "gamma"}), id="modalities"),
        pytest.param(lambda: pg.zoo.pgds(5), id="time"),
    ],
)  # fmt: skip
def test_arrows_do_not_cross(build) -> None:
    root = ElementTree.fromstring(str(build().plot()))
    paths = [each.get("d") for each in root.iter(f"{SPACE}path") if each.get("class") == "edge"]
    curves = [points(path) for path in paths if " c " not in path]  # the loop of a node in time
    for number, one in enumerate(curves):
        for other in curves[:number]:
            assert not crosses(one, other)


def test_what_stands_in_the_first_row_only_says_so() -> None:
    assert "previous time" in texts(COMPOSITIONS["pgds"]().plot(), "label")
    assert "previous time" not in texts(COMPOSITIONS["pfa"]().plot(), "label")
    picture = str(pg.zoo.gp_dpfa(2).plot())
    assert ">shape at time = 1</text>" in picture
    assert ">shape at time = 1</text>" not in str(pg.zoo.pgbn([2]).plot())


def texts(picture: Picture, kind: str) -> list[str]:
    root = ElementTree.fromstring(str(picture))
    return [t.text or "" for t in root.iter(f"{SPACE}text") if t.get("class") == kind]


def test_every_node_and_role_is_drawn_spoken_and_inside(network: pg.Network) -> None:
    picture = network.plot()
    titles, labels = texts(picture, "title"), texts(picture, "label")
    assert len(titles) == len(network)
    assert all(any(title.endswith(name) for title in titles) for name in network.nodes)
    for _, _, data in network.graph.edges(data=True):
        slots = ", ".join(dict.fromkeys(data["slots"]))
        assert slots in [label.split(" at ")[0] for label in labels]
    root = ElementTree.fromstring(str(picture))
    rects = list(root.iter(f"{SPACE}rect"))
    assert [rect.get("class") for rect in rects].count("node observed") == len(network.observed)
    assert root.get("aria-label")
    assert sum(bool(g.get("aria-label")) for g in root.iter(f"{SPACE}g")) == len(network)
    for rect in rects:
        x, y, wide, tall = (float(rect.get(n, 0)) for n in ("x", "y", "width", "height"))
        assert min(x, y) >= 0
        assert x + wide <= float(root.get("width", 0))
        assert y + tall <= float(root.get("height", 0))


def test_bars_outside_of_the_band_are_red() -> None:
    share = np.full(4, 0.25)
    counts = {"good <a>": np.array([26, 25, 24, 25]), "bad": np.array([70, 10, 10, 10])}
    picture = str(rank_histograms(counts, dict.fromkeys(counts, share)))
    ElementTree.fromstring(picture)
    assert picture.count("#b3261e") == 4
    assert "good &lt;a&gt;: 26, 25, 24, 25" in picture


def test_a_picture_is_saved_and_shown(tmp_path: Path) -> None:
    picture = pg.zoo.pgbn([3]).plot()
    picture.save(tmp_path / "net.svg")
    assert (tmp_path / "net.svg").read_text("utf-8") == str(picture) == picture._repr_svg_()
    assert len(repr(picture)) < 80
    for path in ("", "."):
        with pytest.raises(pg.PgbnError, match=r"path=.*: give the name of a file for the picture"):
            picture.save(path)
