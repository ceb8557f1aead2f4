"""Links that must see zeros: counts behind data of 0, `link_rule(…, all_cells=True)`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn as pg
from pgbn.nodes import rules as registry
from pgbn.storage import read_limits
from pgbn.testing import geweke
from pgbn.zoo.links import Link, register_link
from tests.helpers.language import CELLS, Flipped, Unseen, all_cells


@pytest.mark.parametrize(("kind", "node"), [("unseen", Unseen), ("flipped", Flipped)])
def test_without_the_zeros_it_is_seen(
    kind: str, node: type[pg.extend.Observed], monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = registry._links[node]
    monkeypatch.setitem(registry._links, node, replace(rule, all_cells=False))
    assert geweke(all_cells(kind), CELLS, replicates=3_000, sweeps=5).worst > 6


X = np.array([[2, 0, 1], [0, 0, 3]])


def test_all_forms_of_data_are_the_same() -> None:
    net = all_cells()
    given = [X, sp.csr_array(X), sp.coo_array((X[X > 0], np.nonzero(X)), shape=X.shape)]
    draws = [net.sample({"x": x}, burn_in=2, draws=2, progress=False)["theta"] for x in given]
    assert all(np.array_equal(draws[0], other) for other in draws[1:])
    chain = net.chain({"x": X})
    assert chain._program.cells["x"].values.size == X.size
    assert chain.sampler == "composed"


def test_masked_cells_say_nothing() -> None:
    net = all_cells()
    masked = np.ma.masked_array(X, X == 3)
    chain = net.chain({"x": masked}).sweep(3)
    assert chain._program.cells["x"].missing.sum() == 1
    assert np.isfinite(chain.log_joint())


def test_the_density_counts_every_zero() -> None:
    net = all_cells()
    chain = net.chain({"x": X}, seed=3).sweep(2)
    values = chain.values
    rate = np.einsum("kv,jk->jv", values["phi"], values["theta"]) + values["noise"]
    wanted = net["x"].log_density(X, rate=rate, seen=0.6).sum()
    assert chain.log_likelihood() == pytest.approx(wanted)


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    net = all_cells()
    monkeypatch.setattr(read_limits, "memory", lambda: 20_000_000)
    large = sp.csr_array(([1], ([0], [0])), shape=(1_000, 1_000))
    with pytest.raises(pg.DataError, match="of which Unseen needs every one"):
        net.chain({"x": large})


def test_links_of_the_table_are_refused() -> None:
    with pytest.raises(pg.NetworkError, match="looks at every cell"):
        register_link(Link("flipped", takes="bits", node=Flipped, latent="truncated_poisson"))
