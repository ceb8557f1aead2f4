"""Fused kernels of gamma layers, in place of the composed rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn import Gamma, HiddenPoisson, Network, Poisson, zoo
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw, SlotCounts
from pgbn.engine.steps.gamma_layers import (
    SharedTables,
    SplitTables,
    draws_as,
    fused_tables,
    hidden_draw,
    layer_draw,
)


@pytest.mark.parametrize("sampler", ["auto", "blocked"])
def test_a_single_gamma_may_have_a_sum_as_its_shape(sampler: str) -> None:
    w, u = (pg.Gamma(name, 2, 2, dims="k") for name in "wu")
    network = pg.Network(pg.Poisson("x", pg.Gamma("s", w @ u, 1.0), dims="d"), sizes={"k": 2})
    chains = [network.chain({"x": [1, 2]}, sampler=each).sweep(3) for each in (sampler, "composed")]
    assert chains[0].values["s"] == chains[1].values["s"]


def test_a_subclass_with_its_own_law_is_left_alone() -> None:
    class Own(pg.Gamma):
        def generate(self, stream: Any, **slots: Any) -> Any:
            return super().generate(stream, **slots)

    own, ours = Own("a", 1, 1, dims=("i", "j")), pg.Gamma("b", 1, 1, dims=("i", "j"))
    network = pg.Network(pg.Poisson("x", own * ours, dims=("i", "j")))
    assert draws_as(network.wiring, ours, pg.Gamma)
    assert not draws_as(network.wiring, own, pg.Gamma)


@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_vague_rates_of_empty_documents_do_not_overflow(sampler):
    """Gam(0.01, 0.01) draws rates such as 1e-200: shapes and exposures leave single precision."""
    x = np.zeros((200, 3), int)
    x[0] = [3, 2, 1]
    network = zoo.pgbn([2, 2, 2, 2], c_prior=(0.01, 0.01))
    values = network.chain({"x": x}, seed=0, sampler=sampler).sweep(60).values
    assert all(np.isfinite(value).all() for value in values.values())
    assert max(value.max() for value in values.values()) > 1e38


# ---- where they fit -------------------------------------------------------------------------


def layers(shape: Any, rate: Any = 1.0) -> pg.Network:
    """x ~ Pois(θ), θ ~ Gam(shape, rate)."""
    theta = pg.Gamma("theta", shape, rate, dims=("doc", "topic"))
    return pg.Network(pg.Poisson("x", theta, dims=("doc", "topic")))


def program_of(network: pg.Network) -> Program:
    sizes = {dim: 2 if dim == "above" else 3 for dim in network.dims}
    network = network.with_sizes(**sizes)
    return network.chain({"x": network.generate(1)["x"]}, sampler="blocked")._program


PHI = pg.Dirichlet("phi", 1, over="topic", dims="above")


UP = pg.Gamma("up", 1, 1, dims=("doc", "above"))


R = pg.Gamma("r", 1, 1, dims="topic")


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        (PHI @ UP, SplitTables),
        (R * 1.0, SharedTables),
        (R * 2.0, None),
        (PHI @ UP + 0.5, None),
        (pg.Gamma("s", 1, 1, dims="doc") * 1.0, None),
    ],
    ids=["a mix", "rows that share their shape", "scaled", "a sum", "shapes of rows"],
)
def test_tables_are_found(shape: Any, kind: type | None) -> None:
    program = program_of(layers(shape))
    found = fused_tables(program, SlotCounts(program.network["theta"], "shape"))
    assert found is None if kind is None else isinstance(found, kind)


@pytest.mark.parametrize(
    ("shape", "rate", "fits"),
    [
        (PHI @ UP, 1.0, True),
        (R * 2.0, 1.0, True),
        (1.5, pg.Gamma("c", 1, 1, dims="doc"), True),
        (R * 2.0, pg.Gamma("c", 1, 1, dims="topic"), False),
        (pg.Gamma("s", 1, 1, dims="doc") * 1.0, 1.0, False),
    ],
    ids=["a mix", "shared", "a number", "rates along the last dim", "shapes of rows"],
)
def test_draws_are_found(shape: Any, rate: Any, fits: bool) -> None:
    program = program_of(layers(shape, rate))
    assert (layer_draw(program, program.network["theta"]) is not None) is fits


H = HiddenPoisson("h", 2.0, dims=("i", "k"))


LINE = HiddenPoisson("h", 2.0, dims="i")


CASES: dict[str, tuple[Any, Any, bool]] = {
    "alone": (H, 0.5 + H, True),
    "beside a node": (H, Gamma("b", 1, 1, dims="k") + H, True),
    "half of it": (H, 0.5 + 0.5 * H, False),
    "in a product": (H, 0.5 + Gamma("b", 1, 1, dims=("i", "k")) * H, False),
    "read by several": (LINE, 0.5 + LINE, False),
}


@pytest.mark.parametrize("case", CASES)
def test_what_fits(case: str) -> None:
    h, shape, fits = CASES[case]
    theta = Gamma("theta", shape, 1.0, dims=("i", "k"))
    network = Network(Poisson("x", theta, dims=("i", "k")))
    program = Program(network, {}, {"i": 2, "k": 2}, 1)
    assert (hidden_draw(program, Draw(h)) is not None) == fits
