"""The names of a belief network, made and read in one place."""

from __future__ import annotations

import re
from pathlib import Path

import pgbn
from pgbn import zoo
from pgbn.zoo import layers

PACKAGE = Path(pgbn.__file__).parent
SPELT = re.compile(r"""f["'](theta|phi|topic)\{|["'](theta1|phi1|topic1|p2|gamma0)["']""")


def test_a_network_has_these_names() -> None:
    network = zoo.pgbn([4, 3, 2], link="gamma")
    every = [layers.theta, layers.phi]
    names = {name(t) for name in every for t in (1, 2, 3)} | {layers.rate(t) for t in (2, 3, 4)}
    names |= {layers.DATA, layers.TOP_SHAPE, layers.TOP_RATE, layers.GAMMA0, layers.NOISE}
    assert set(network.nodes) == names
    dims = {layers.topic(t) for t in (0, 1, 2, 3)} | {layers.DOCUMENT}
    assert set(network.dims) == dims


def test_they_are_spelt_nowhere_else() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name != "zoo":
            assert SPELT.search(path.read_text("utf-8")) is None, path
