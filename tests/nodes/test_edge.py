"""Operations of a user's own: expanded, checked, saved by their tag."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import pgbn as pg
from pgbn.nodes.edge import edge_types


class Doubled(pg.extend.Edge):
    """2 · of."""

    tag: ClassVar[str] = "tests.doubled"

    of: pg.extend.Slot
    times: int = 1

    def expand(self) -> Any:
        return 2.0**self.times * self.of


class Grouped(pg.extend.Edge):
    """of[group], with categories that the edge makes itself."""

    tag: ClassVar[str] = "tests.grouped"
    of: pg.extend.Slot
    numbers: tuple[int, ...]

    def expand(self) -> Any:
        return self.of[pg.Categories("group", dims="doc", of="team", values=self.numbers)]


class Nothing(pg.extend.Edge):
    tag: ClassVar[str] = "tests.nothing"
    of: pg.extend.Slot


class Wrong(pg.extend.Edge):
    tag: ClassVar[str] = "tests.wrong"
    of: pg.extend.Slot

    def expand(self) -> Any:
        return "of"


def test_an_edge_is_what_it_stands_for() -> None:
    theta = pg.Gamma("theta", 1.0, 1.0, dims="doc")
    net = pg.Network(pg.Poisson("x", Doubled(theta, times=2), dims="doc"))
    plain = pg.Network(pg.Poisson("x", 4.0 * theta, dims="doc"))
    data = {"x": [3, 0, 2]}
    found, wanted = (n.sample(data, burn_in=2, draws=3, progress=False) for n in (net, plain))
    assert np.array_equal(found["theta"], wanted["theta"])
    assert str(net["x"].rate) == "Doubled(theta, times=2)"
    assert "Pois(4 θⱼ)" in str(net.explain())
    kept = net.sample(data, burn_in=0, draws=1, keep={"twice": Doubled(theta)}, progress=False)
    assert kept["twice"].shape == (1, 1, 3)


def test_edges_are_saved_by_their_tag() -> None:
    assert edge_types()["tests.doubled"] is Doubled
    rate = pg.Gamma("rate", 1.0, 1.0, dims="team")
    net = pg.Network(pg.Poisson("x", Doubled(Grouped(of=rate, numbers=(0, 1, 0))), dims="doc"))
    text = net.to_json()
    assert '"edge": "tests.grouped"' in text
    again = pg.Network.from_json(text)
    assert again.to_json() == text
    assert again.categories["group"].values.tolist() == [0, 1, 0]
    with pytest.raises(pg.NetworkError, match=r"unknown edge 'tests.doubledd'.*import the module"):
        pg.Network.from_json(text.replace("tests.doubled", "tests.doubledd"))


def test_edges_that_are_not_complete_are_refused() -> None:
    theta = pg.Gamma("theta", 1.0, 1.0, dims="doc")
    with pytest.raises(pg.NetworkError, match=r"Nothing: does not define expand\(self\)"):
        Nothing(of=theta)
    with pytest.raises(pg.NetworkError, match=r"Wrong: expand\(\) returned got 'of'"):
        Wrong(of=theta)
    with pytest.raises(pg.NetworkError, match=r"Doubled: of: is missing"):
        Doubled()
    with pytest.raises(pg.NetworkError, match="has no tag"):
        type("Untagged", (pg.extend.Edge,), {"__annotations__": {"of": pg.extend.Slot}})
    with pytest.raises(
        pg.NetworkError, match=r"the tag 'tests.doubled' of the edge type .* is that of"
    ):
        type(
            "Other",
            (pg.extend.Edge,),
            {"__annotations__": {"tag": ClassVar[str]}, "tag": "tests.doubled"},
        )
    with pytest.raises(pg.NetworkError, match="sum it out with @"):
        pg.Network(pg.Poisson("x", Doubled(theta), dims="term"))


class Endless(pg.extend.Edge):
    tag: ClassVar[str] = "tests.endless"
    of: pg.extend.Slot

    def expand(self) -> Any:
        return Endless(of=self.of)


def test_an_edge_without_end_is_refused() -> None:
    g = pg.Gamma("g", 1.0, 1.0, dims="doc")
    with pytest.raises(pg.NetworkError, match=r"Endless: expand\(\) returns edges that expand"):
        Endless(of=g)
