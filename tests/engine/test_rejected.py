"""Data, given values and expressions that are rejected: rejected.txt has calls and their errors.

``python -m tests.engine.test_rejected`` writes the errors of all calls again; read the difference
before you commit it. ``[...]`` stands for words of other packages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import pgbn as pg
from pgbn.engine.data import reading
from pgbn.evaluation import HeldOut
from tests.helpers import language, normal_networks, small_data, small_networks, weighted
from tests.helpers.own_edges import Carried
from tests.helpers.small_data import NET
from tests.network.test_rejected import NAMES, error_of, fits, rejected, write

FILE = Path(__file__).with_name("rejected.txt")

# ---- coordinates, labels and categories ----------------------------------------------------------

MODES = tuple(pg.Gamma(f"theta{m}", 1.5, 1.0, dims=(m, "k")) for m in "abcd")
TENSOR = pg.Network(pg.Poisson("y", pg.extend.Mix(factors=MODES), dims=tuple("abcd")),
                    sizes={"a": 2, "b": 3, "c": 2, "d": 2, "k": 2})  # fmt: skip
COO = {"a": np.array([0, 1]), "b": np.array([2, 0]), "c": np.array([1, 1]), "d": np.array([0, 1]),
       "values": np.array([2, 1])}  # fmt: skip

FRAME = pd.DataFrame([[1, 0, 2], [0, 3, 1]], index=["u", "v"], columns=list("abc"))
TURNED = FRAME[list("cba")]
PHI = pd.DataFrame([[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]], columns=list("abc"))
KEPT = pg.Draws({"phi1": PHI.to_numpy()[None, None]}, {"phi1": ("chain", "draw", "topic1", "term")},
                coords={"term": list("abc"), "doc": ["old", "older"]}, network=NET)  # fmt: skip
MASKED = np.ma.masked_array(np.arange(12).reshape(3, 4), np.arange(12).reshape(3, 4) == 5)
TOPICS, VALUE = small_networks.phi(), np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
AUTHORS = pg.zoo.author_topic(2)
WRITTEN = {"x": np.ones((5, 3), int), "author": [2, 0, 0, 2, 1]}

# ---- sparse constants, edges and rows of time ----------------------------------------------------

SHARES = weighted.SHARES
EVENT = pg.Gamma("event", 1.5, 2.0, dims=("day", "place"))
LEVEL = pg.Gamma("level", 1.0, 1.0)


def sample(network: pg.Network = NET, **options: Any) -> pg.Draws:
    return network.sample({"x": FRAME.to_numpy()}, burn_in=1, draws=1, progress=False, **options)


def written(**data: Any) -> pg.Draws:
    return AUTHORS.sample({"x": WRITTEN["x"]} | data, burn_in=1, draws=1, progress=False)


def shares(first: str = "doc", second: str = "author", matrix: Any = SHARES) -> pg.Constant:
    return pg.Constant(matrix, dims=(first, second))


def damaged(kind: str) -> Any:
    broken = sp.csr_array(np.eye(2)).asformat(kind)
    (broken.coords[0] if kind == "coo" else broken.indices)[0] = 99  # scipy would follow it
    return broken


def late(of: Any, **weights: Any) -> Carried:
    return Carried(of, axis=1, weights=(1.0, 0.5))


def places(rate: Any) -> pg.Network:
    return small_networks.poisson(rate, dims=("day", "place"))


def shifted(of: Any, **options: Any) -> pg.Shift:
    return pg.Shift(of, along="time", **options)


def self_loop() -> pg.Network:
    phi = pg.Gamma("phi", 1, 1, dims="vertex")
    source = pg.Categories("source", dims="edge", of="vertex", values=[0, 1, 2])
    target = pg.Categories("target", dims="edge", of="vertex", values=[1, 1, 0])
    return small_networks.poisson(phi[source] * phi[target], dims="edge")


MODULES = (language, normal_networks, reading, small_data, weighted, small_networks)
OWN = {name: value for module in MODULES for name, value in vars(module).items()}
OWN |= NAMES | {"HeldOut": HeldOut, "sp": sp} | globals()


@pytest.mark.parametrize("expression", rejected(FILE))
def test_rejected(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if expression.startswith("sample("):
        monkeypatch.setattr(pg.Chain, "sweep", lambda *_: pytest.fail("a sweep was run"))
    expected, error = rejected(FILE)[expression], error_of(expression, OWN)
    assert fits(expected, error), f"{error}\n\nexpected:\n{expected}"


if __name__ == "__main__":
    write(FILE, OWN)
