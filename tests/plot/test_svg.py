"""The text of a picture: well-formed SVG that draws and speaks every node, with names escaped."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import pgbn as pg
from pgbn.plot import Picture
from pgbn.plot.ranks import rank_histograms
from tests.helpers.compositions import COMPOSITIONS

SPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module", params=COMPOSITIONS)
def network(request: pytest.FixtureRequest) -> pg.Network:
    return COMPOSITIONS[request.param]()


def texts(picture: Picture, kind: str) -> list[str]:
    root = ElementTree.fromstring(str(picture))
    return [t.text or "" for t in root.iter(f"{SPACE}text") if t.get("class") == kind]


def test_every_node_and_role_is_drawn(network: pg.Network) -> None:
    picture = network.plot()
    titles = texts(picture, "title")
    assert len(titles) == len(network)
    for name in network.nodes:
        assert any(title.endswith(name) for title in titles)
    labels = texts(picture, "label")
    for _, _, data in network.graph.edges(data=True):
        assert ", ".join(dict.fromkeys(data["slots"])) in [
            label.split(" at ")[0] for label in labels
        ]


def test_observed_nodes_are_shaded_and_all_are_spoken(network: pg.Network) -> None:
    root = ElementTree.fromstring(str(network.plot()))
    kinds = [r.get("class") for r in root.iter(f"{SPACE}rect")]
    assert kinds.count("node observed") == len(network.observed)
    assert root.get("aria-label")
    assert root.find(f"{SPACE}title") is not None
    spoken = [g for g in root.iter(f"{SPACE}g") if g.get("aria-label")]
    assert len(spoken) == len(network)


def test_everything_stays_inside_the_picture(network: pg.Network) -> None:
    root = ElementTree.fromstring(str(network.plot()))
    wide, tall = float(root.get("width", 0)), float(root.get("height", 0))
    for rect in root.iter(f"{SPACE}rect"):
        x, y = float(rect.get("x", 0)), float(rect.get("y", 0))
        assert x >= 0
        assert y >= 0
        assert x + float(rect.get("width", 0)) <= wide
        assert y + float(rect.get("height", 0)) <= tall


def test_chains_point_to_themselves() -> None:
    assert "previous time" in texts(COMPOSITIONS["pgds"]().plot(), "label")
    assert "previous time" not in texts(COMPOSITIONS["pfa"]().plot(), "label")


def test_a_network_without_dims_has_no_plate() -> None:
    network = pg.Network(pg.Poisson("x", pg.Gamma("rate", 1, 1)))
    assert "plate" not in [
        r.get("class") for r in ElementTree.fromstring(str(network.plot())).iter(f"{SPACE}rect")
    ]


def test_names_are_escaped() -> None:
    text = str(COMPOSITIONS["odd_names"]().plot())
    assert "<b>" not in text
    assert "50%_&amp;&lt;b&gt;" in text


def test_kinds_of_data_side_by_side_have_a_plate_each() -> None:
    theta = pg.Gamma("theta", 1, pg.Gamma("c", 2, 2, dims="doc"), dims=("doc", "topic"))
    phi, psi = (pg.Dirichlet(name, 0.5, over=over, dims="topic")
                for name, over in (("phi", "term"), ("psi", "pixel")))  # fmt: skip
    w = pg.Gamma("w", 2, 2, dims=("label", "topic"))
    network = pg.Network(
        pg.Poisson("x", phi @ theta, dims=("doc", "term")),
        pg.Poisson("y", psi @ theta, dims=("doc", "pixel")),
        pg.BernoulliPoisson("z", w @ theta, dims=("doc", "label")),
        sizes={"topic": 3},
    )
    root = ElementTree.fromstring(str(network.plot()))
    frames = [r for r in root.iter(f"{SPACE}rect") if "plate" in (r.get("class") or "")]
    names = {(r.findtext(f"{SPACE}title") or "").split()[-1] for r in frames}
    assert names >= {"doc", "term", "pixel", "label"}


def test_bars_outside_of_the_band_are_red() -> None:
    share = np.full(4, 0.25)
    counts = {"good <a>": np.array([26, 25, 24, 25]), "bad": np.array([70, 10, 10, 10])}
    picture = str(rank_histograms(counts, dict.fromkeys(counts, share)))
    ElementTree.fromstring(picture)
    assert picture.count("#b3261e") == 4
    assert "good &lt;a&gt;: 26, 25, 24, 25" in picture


# ---- files --------------------------------------------------------------------------------------


def test_picture_shows_in_jupyter_and_saves(tmp_path: Path) -> None:
    picture = pg.zoo.pgbn([3, 2]).plot()
    assert picture._repr_svg_() == str(picture)
    target = tmp_path / "net.svg"
    target.write_text("old")
    picture.save(target)
    assert target.read_text(encoding="utf-8") == str(picture)
    assert list(tmp_path.iterdir()) == [target]  # no temporary file is left


@pytest.mark.parametrize("path", ["", "."])
def test_a_picture_needs_the_name_of_a_file(path: str) -> None:
    with pytest.raises(pg.PgbnError, match=r"path=.*: give the name of a file for the picture"):
        pg.zoo.pgbn([3]).plot().save(path)


def test_a_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "net.svg"
    target.write_text("old")

    def refuse(self: Path, other: Path) -> None:
        raise OSError("disk is full")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(pg.PgbnError, match=r"net.svg: could not be written .disk is full"):
        pg.zoo.pgbn([3]).plot().save(target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(pg.PgbnError, match=r"nowhere.net.svg: could not be written"):
        pg.zoo.pgbn([3]).plot().save(tmp_path / "nowhere" / "net.svg")
