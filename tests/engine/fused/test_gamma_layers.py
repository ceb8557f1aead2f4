"""Fused kernels of gamma layers, in place of the composed rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import pgbn as pg
from pgbn import zoo
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import SlotCounts
from pgbn.engine.steps.gamma_layers import (
    LayerMix,
    LayerTables,
    SharedTables,
    SplitTables,
    draws_as,
    find_mix,
    fused_tables,
    layer_draw,
)
from pgbn.network.sumproduct import NodeValue, reduce_product
from tests.helpers.small_data import corpus


@pytest.mark.parametrize("layer1", ["auto", "collapsed", "partial", "blocked", "composed"])
def test_bits_do_not_depend_on_the_threads(layer1):
    network, x = zoo.pgbn([24, 20, 17]), corpus()
    chains = [network.chain({"x": x}, seed=3, layer1=layer1, threads=t).sweep(3) for t in (1, 2, 5)]
    first = chains[0].values
    assert chains[0].layer1 == chains[1].layer1 == ("collapsed" if layer1 == "auto" else layer1)
    for chain in chains[1:]:
        assert all(np.array_equal(first[name], v) for name, v in chain.values.items())
    assert all(np.isfinite(v).all() for v in first.values())


@pytest.mark.parametrize("layer1", ["auto", "blocked"])
def test_a_single_gamma_may_have_a_sum_as_its_shape(layer1: str) -> None:
    w, u = (pg.Gamma(name, 2, 2, dims="k") for name in "wu")
    network = pg.Network(pg.Poisson("x", pg.Gamma("s", w @ u, 1.0), dims="d"), sizes={"k": 2})
    chains = [network.chain({"x": [1, 2]}, layer1=each).sweep(3) for each in (layer1, "composed")]
    assert chains[0].values["s"] == chains[1].values["s"]


# ---- where they fit -------------------------------------------------------------------------


def layers(shape: Any, rate: Any = 1.0) -> pg.Network:
    """x ~ Pois(θ), θ ~ Gam(shape, rate)."""
    theta = pg.Gamma("theta", shape, rate, dims=("doc", "topic"))
    return pg.Network(pg.Poisson("x", theta, dims=("doc", "topic")))


def program_of(network: pg.Network) -> Program:
    sizes = {dim: 2 if dim == "above" else 3 for dim in network.dims}
    network = network.with_sizes(**sizes)
    return network.chain({"x": network.generate(1)["x"]}, layer1="blocked").program


PHI = pg.Dirichlet("phi", 1, over="topic", dims="above")
UP = pg.Gamma("up", 1, 1, dims=("doc", "above"))
R = pg.Gamma("r", 1, 1, dims="topic")


@pytest.mark.parametrize(
    ("shape", "mix"),
    [
        (PHI @ UP, LayerMix(1.0, "phi", "up", 2)),
        (0.5 * (UP @ PHI), LayerMix(0.5, "phi", "up", 2)),
        (PHI @ UP + 0.5, None),
        (R * 1.0, None),
        (pg.Constant(np.ones((2, 3)), dims=("above", "topic")) @ UP, None),
    ],
    ids=["mix", "scaled", "a sum", "a node", "a constant"],
)
def test_mixes_are_found(shape: Any, mix: LayerMix | None) -> None:
    program = program_of(layers(shape))
    assert find_mix(program, program.network["theta"], "shape") == mix


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


def test_a_subclass_with_its_own_law_is_left_alone() -> None:
    class Own(pg.Gamma):
        def generate(self, stream: Any, **slots: Any) -> Any:
            return super().generate(stream, **slots)

    own, ours = Own("a", 1, 1, dims=("i", "j")), pg.Gamma("b", 1, 1, dims=("i", "j"))
    network = pg.Network(pg.Poisson("x", own * ours, dims=("i", "j")))
    assert draws_as(network.wiring, ours, pg.Gamma)
    assert not draws_as(network.wiring, own, pg.Gamma)
    assert not draws_as(network.wiring, ours, pg.Dirichlet)
    program = program_of(network)
    assert layer_draw(program, own) is None


# ---- and what they draw ---------------------------------------------------------------------


def test_tables_of_a_mix_have_the_law_of_the_rules() -> None:
    """The counts passed on: as many for θ as for φ, and the mean of a CRT for each."""
    n = 4000
    network = layers(PHI @ UP).with_sizes(above=2)
    phi, up = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]), np.tile([1.0, 2.0], (n, 1))
    data = np.tile([3, 0, 1], (n, 1))
    chain = network.chain({"x": data}, init={"phi": phi, "up": up}, layer1="blocked")
    program = chain.program
    program.counts["x", "theta"] = data[None].copy()
    tables = fused_tables(program, SlotCounts(network["theta"], "shape"))
    assert isinstance(tables, LayerTables)
    tables(3)
    for_phi, for_up = program.counts["theta", "phi"], program.counts["theta", "up"]
    assert np.array_equal(for_phi.sum(axis=1), for_up.sum(axis=1))
    shape = (up @ phi)[0]
    mean = np.array(
        [sum(a / (a + i) for i in range(m)) for a, m in zip(shape, data[0], strict=True)]
    )
    np.testing.assert_allclose(for_phi[0].sum(axis=1) / n, mean, atol=0.04)
    share = mean[:, None] * (phi * [[1.0], [2.0]]).T / shape[:, None]
    np.testing.assert_allclose(for_up[0].mean(axis=0), share.sum(axis=0), atol=0.04)


def test_a_layer_is_drawn_given_its_counts() -> None:
    """Gam(a + m, c + q), and the sums of its rows are kept."""
    n = 20_000
    theta = pg.Gamma("theta", 1.5, 2.0, dims=("doc", "topic"))
    network = pg.Network(pg.Poisson("x", theta, dims=("doc", "topic")))
    data = np.tile([3, 0], (n, 1))
    program = network.chain({"x": data}, layer1="blocked").program
    program.counts["x", "theta"] = data[None].copy()
    run = layer_draw(program, theta)
    assert run is not None
    run(7)
    first, second = program.values["theta"][0].T
    assert stats.kstest(first, stats.gamma(4.5, scale=1 / 3).cdf).pvalue > 1e-4
    assert stats.kstest(second, stats.gamma(1.5, scale=1 / 3).cdf).pvalue > 1e-4
    own = NodeValue(name="theta", dims=theta.axes, own_dims=theta.axes)
    total = program.product(reduce_product(1.0, [own], ("topic",)))
    np.testing.assert_allclose(total.get()[0], first + second)


@pytest.mark.parametrize("layer1", ["collapsed", "blocked"])
def test_vague_rates_of_empty_documents_do_not_overflow(layer1):
    """Gam(0.01, 0.01) draws rates such as 1e-200: shapes and exposures leave single precision."""
    x = np.zeros((200, 3), int)
    x[0] = [3, 2, 1]
    network = zoo.pgbn([2, 2, 2, 2], c_prior=(0.01, 0.01))
    values = network.chain({"x": x}, seed=0, layer1=layer1).sweep(60).values
    assert all(np.isfinite(value).all() for value in values.values())
    assert max(value.max() for value in values.values()) > 1e38
