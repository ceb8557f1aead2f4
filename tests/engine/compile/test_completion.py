"""Proportions whose exposure varies from entry to entry: pseudo-counts keep the draws exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn.engine.compile import products
from pgbn.engine.compile.composed import draw_step
from pgbn.engine.plan import Draw
from pgbn.errors import StaleReadError
from pgbn.testing import check_conjugacy, geweke

SIZES = {"doc": 3, "term": 4}
MASK = pg.Constant(np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1.0]]), dims=("doc", "term"))
SIZE = pg.Constant(np.array([1.0, 0.3, 2.0, 0.5]), dims="term")


def network(factor: Any) -> pg.Network:
    """x ~ Pois(factor · Φθ)."""
    r, c = pg.Gamma("r", 4, 4, dims="topic"), pg.Gamma("c", 4, 4, dims="doc")
    theta = pg.Gamma("theta", r, c, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.7, over="term", dims="topic")
    return pg.Network(pg.Poisson("x", factor * (phi @ theta), dims=("doc", "term")),
                      sizes={"topic": 2})  # fmt: skip


def gates() -> pg.Network:
    """Zero inflation."""
    pi = pg.Beta("pi", 3, 2, dims="term")
    return network(4.0 * pg.Bernoulli("h", pi, dims=("doc", "term")))


def rates_of_units() -> pg.Network:
    """The exposure of phi2 is ln(1 + 1/c_v), with theta1 integrated out."""
    above = pg.Gamma("theta2", 2.0, 1.0, dims=("doc", "above"))
    phi2 = pg.Dirichlet("phi2", 0.7, over="topic", dims="above")
    c = pg.Gamma("c", 4, 4, dims="topic")
    theta = pg.Gamma("theta1", phi2 @ above, c, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.7, over="term", dims="topic")
    return pg.Network(pg.Poisson("x", phi @ theta, dims=("doc", "term")),
                      sizes={"topic": 2, "above": 2})  # fmt: skip


def indexed() -> pg.Network:
    """Writers share out what is written; some have more documents than others."""
    author = pg.Categories("author", dims="doc", of="writer", values=[0, 0, 1])
    share = pg.Dirichlet("phi", 0.7, over="writer", dims="topic")
    weight = pg.Gamma("w", 4, 1, dims=("topic", "term"))
    return pg.Network(pg.Poisson("x", share[author] @ weight, dims=("doc", "term")),
                      sizes={"topic": 2, "writer": 3})  # fmt: skip


NETWORKS = {
    "mask": (lambda: network(MASK), "phi"),
    "known and latent sizes": (
        lambda: network(3.0 * SIZE * pg.Gamma("b", 4, 4, dims="doc") * pg.Gamma("w", 4, 4, dims="term")),
        "phi",
    ),
    "zero inflation": (gates, "phi"),
    "rates of units": (rates_of_units, "phi2"),
    "indexed": (indexed, "phi"),
}  # fmt: skip

MAKES = {name: make for name, (make, _) in NETWORKS.items()}  # tests/evidence has their law


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_completed(name: str) -> None:
    make, completed = NETWORKS[name]
    assert make().wiring.completed == {completed}


def test_without_pseudo_counts_the_draws_are_wrong() -> None:
    def forget(chain: pg.Chain) -> None:
        at = [turn.step.name for turn in chain._turns].index("phi")
        run = draw_step(chain.program, Draw(chain.network["phi"]))
        chain._turns[at] = type(chain._turns[at])(chain._turns[at].step, 1, run)

    result = geweke(network(3.0 * SIZE), SIZES, 2000, 8, seed=4, broken=forget)
    assert result.worst > 6, result


def test_the_conditional_is_that_of_quadrature() -> None:
    """φ of two entries, counts 3 and 1, exposures 6 and 1: p(φ) ∝ φ^{2.7} (1 − φ)^{0.7} e^{−5φ}."""
    u = pg.Constant(np.array([6.0, 1.0]), dims="term")
    net = pg.Network(pg.Poisson("x", u * pg.Dirichlet("phi", 0.7, over="term"), dims="term"))
    assert not net.schedule[-1].on_demand
    draws = net.sample({"x": np.array([3, 1])}, burn_in=50, draws=5_000, chains=1, seed=0)
    p = (np.arange(20_000) + 0.5) / 20_000
    weight = p**2.7 * (1 - p) ** -0.3 * np.exp(-5 * p) * (1 - p)
    exact = [(p**k * weight).sum() / weight.sum() for k in (1, 2)]
    found = draws.values["phi"][..., 0]
    np.testing.assert_allclose([found.mean(), (found**2).mean()], exact, atol=0.012)


def test_schedule_and_derivation_show_it() -> None:
    net = network(SIZE)
    step = next(step for step in net.schedule if step.name == "phi")
    assert step.method == "completed"
    assert {"phi", "theta"} <= {read.name for read in step.reads}
    assert "phi [completed]: y" in repr(net.schedule)
    text = str(net.explain("text"))
    assert "Pseudo-counts complete an exposure" in text
    assert "leaves it invariant" in text
    assert "q^(φ)[v k] = constᵥ θ[k ·]" in text
    assert "phi" not in check_conjugacy(net, SIZES).errors


def test_scores_must_be_current() -> None:
    with pytest.raises(StaleReadError, match="phi conditions on theta"):
        network(SIZE).with_order(["counts(x)", "counts(theta)", "c", "r", "phi", "theta"])


def test_exposures_of_rows_and_terms_never_cost_their_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Σ_j s_j t_v θ_jk is t_v Σ_j s_j θ_jk: no sum runs over documents × terms × topics."""
    rows, terms, sizes = 300, 320, {"doc": 300, "term": 320, "topic": 2}
    at_once, worked = products._einsum, list[int]()

    def einsum(parts: Any, summed: Any) -> Any:
        found = at_once(parts, summed)
        work = np.prod([sizes[dim] for dim in {d for part in parts for d in part.dims}])
        return replace(found, get=lambda: worked.append(work) or found.get())

    monkeypatch.setattr(products, "_einsum", einsum)
    known = pg.Constant(np.linspace(0.5, 1.5, terms), dims="term")
    chain = network(pg.Gamma("s", 4, 4, dims="doc") * known).chain(
        {"x": np.eye(rows, terms, dtype=int)}
    )
    values = chain.values
    for name in ("phi", "theta", "s"):
        assert np.isfinite(chain.program.exposure(name).get()).all()
    wanted = np.outer(known.value, values["s"] @ values["theta"])
    np.testing.assert_allclose(chain.program.exposure("phi").get().reshape(terms, 2), wanted)
    assert worked
    assert max(worked) <= 2 * max(rows, terms)
