"""Expressions that are kept beside nodes."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.engine.run.run_plan import free_dims
from tests.helpers.refusals import check_refused

THETA = pg.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
PHI = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
BASE = pg.Gamma("base", 1.0, 1.0, dims="term")
NET = pg.Network(pg.Poisson("x", PHI @ THETA + BASE, dims=("doc", "term")), sizes={"topic": 2})
COUNTS = np.array([[1, 0, 2], [0, 3, 1]])


def sample(keep):
    return NET.sample({"x": COUNTS}, burn_in=2, draws=3, chains=2, keep=keep, progress=False)


def test_values_and_dims() -> None:
    draws = sample({
        "theta": THETA, "phi": PHI, "base": BASE,
        "rate": PHI @ THETA + BASE,
        "total": pg.Mix(factors=(THETA,), over="topic"),
        "twice": 2.0 * BASE,
    })  # fmt: skip
    rate = np.einsum("cdjk,cdkv->cdjv", draws["theta"], draws["phi"]) + draws["base"][:, :, None]
    assert set(draws.dims["rate"]) == {"chain", "draw", "doc", "term"}
    order = [draws.dims["rate"].index(dim) for dim in ("chain", "draw", "doc", "term")]
    np.testing.assert_allclose(draws["rate"].transpose(order), rate)
    np.testing.assert_allclose(draws["total"], draws["theta"].sum(axis=-1))
    assert draws.dims["total"] == ("chain", "draw", "doc")
    np.testing.assert_allclose(draws["twice"], 2 * draws["base"])


def test_the_chain_is_the_same() -> None:
    plain = sample(["theta"])
    np.testing.assert_array_equal(
        sample({"theta": THETA, "rate": PHI @ THETA})["theta"], plain["theta"]
    )


def test_free_dims() -> None:
    assert free_dims(PHI @ THETA) == ("term", "doc")
    assert free_dims(THETA.rename(topic="other") * BASE) == ("doc", "other", "term")
    assert free_dims(pg.Constant(3.0)) == ()
    assert free_dims(pg.same(BASE, "term", "other")) == ("term", "other")


OTHER = pg.Gamma("other", 1.0, 1.0)
REFUSED = {
    "number": (lambda: sample({"rate": 3}), ["keep: 'rate'", "expression"]),
    "another node": (lambda: sample({"rate": OTHER * BASE}), ["'other' is not a latent node"]),
    "twice": (lambda: sample({"square": BASE * BASE}), ["square", "twice"]),
    "self": (lambda: sample({"a": pg.Self()}), ["Self", "no value of its own"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    check_refused(build, (pg.PgbnError,), words)
