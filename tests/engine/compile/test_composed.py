"""Steps as compositions of rules: their laws, pseudo-counts, and what a draw rule may return."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import pgbn as pg
from pgbn import Gamma, NetworkError
from pgbn.engine.compile import products
from pgbn.engine.plan import check_posterior
from pgbn.errors import StaleReadError
from tests.helpers.language import SIZE, weighted_topics

# ---- completion: proportions whose exposure varies from entry to entry ---------------------------


def test_scores_must_be_current() -> None:
    with pytest.raises(StaleReadError, match="phi conditions on theta"):
        weighted_topics(SIZE).with_order(["counts(x)", "counts(theta)", "c", "r", "phi", "theta"])


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
    chain = weighted_topics(pg.Gamma("s", 4, 4, dims="doc") * known).chain(
        {"x": np.eye(rows, terms, dtype=int)}
    )
    values = chain.values
    for name in ("phi", "theta", "s"):
        assert np.isfinite(chain._program.exposure(name).get()).all()
    wanted = np.outer(known.value, values["s"] @ values["theta"])
    np.testing.assert_allclose(chain._program.exposure("phi").get().reshape(terms, 2), wanted)
    assert worked
    assert max(worked) <= 2 * max(rows, terms)


# ---- what a draw rule may return: new values of the slots of its node ----------------------------


def test_slots_that_may_be_negative() -> None:
    class Shifted(Gamma):
        real_slots: ClassVar[tuple[str, ...]] = ("shape",)

    node = Shifted("g", 1, 1)
    check_posterior(node, node.slots(), {"shape": -1.0})
    with pytest.raises(NetworkError, match=r"wrong sign\? \(a slot .* real_slots = \('rate',\)\)"):
        check_posterior(node, node.slots(), {"rate": -1.0})
