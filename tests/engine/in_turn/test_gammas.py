"""The kernel for gammas in turn: whom it serves, and the law of the rules."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from pgbn import Bernoulli, Chain, Gamma, Network, Poisson, distinct, zoo
from pgbn.engine.compile import operands
from pgbn.engine.steps.sequential_gammas import sequential_gammas
from pgbn.testing import geweke
from tests.helpers.graphs import graphs

SIZED = graphs()
SERVED = ("epm", "epm, weighted", "hgp_epm", "directed", "degrees", "edges")


def with_other_data() -> Network:
    """φ hears of pairs and, beside them, of data of its own."""
    phi = Gamma("phi", Gamma("a", 4, 4, dims="vertex"), 4.0, dims=("vertex", "part"))
    i, j = phi.rename(vertex="i"), phi.rename(vertex="j")
    pairs = Poisson("x", distinct(i @ j, "i", "j"), dims=("i", "j"))
    own = Poisson("y", Gamma("w", 4, 4) * phi, dims=("vertex", "part"))
    return Network(pairs, own, sizes={"part": 2})


def activity() -> Network:
    """s_i s_j φ_i φ_j: what stands beside the pairs varies with them."""
    s, phi = Gamma("s", 4, 4, dims="vertex"), Gamma("phi", 4, 4, dims=("vertex", "part"))
    i, j = (phi.rename(vertex=dim) * s.rename(vertex=dim) for dim in "ij")
    return Network(Poisson("x", distinct(i @ j, "i", "j"), dims=("i", "j")), sizes={"part": 2})


def gates() -> Network:
    """Entries that are no gammas."""
    h = Bernoulli("h", 0.5, dims="vertex")
    pairs = h.rename(vertex="i") * h.rename(vertex="j")
    return Network(Poisson("x", distinct(pairs, "i", "j"), dims=("i", "j")))


OTHERS = {"with other data": with_other_data(), "activity": activity(), "gates": gates()}


def serves(network: Network, sizes: dict[str, int], name: str) -> bool:
    program = Chain.replicated(network, sizes, 2).program
    return sequential_gammas(program, network.wiring.connections.sequential[name]) is not None


@pytest.mark.parametrize("name", SIZED)
def test_whom_it_serves(name: str) -> None:
    network, sizes = SIZED[name]
    for node in network.wiring.connections.sequential:
        assert serves(network, sizes, node) is (name in SERVED and node == "phi")


def test_whom_it_serves_of_the_others() -> None:
    assert serves(OTHERS["with other data"], {"vertex": 3}, "phi")
    assert not serves(OTHERS["gates"], {"vertex": 3}, "h")
    assert not serves(OTHERS["activity"], {"vertex": 3}, "phi")


@pytest.mark.parametrize("name", ["with other data", "gates"])
def test_the_law_of_others(name: str) -> None:
    assert geweke(OTHERS[name], {"vertex": 3}, 2_000, 5, 2).worst < 4


def test_a_chain_goes_on_and_keeps_its_bits() -> None:
    rng = np.random.default_rng(0)
    graph = sp.triu(sp.random_array((40, 40), density=0.1, rng=rng) > 0, 1).astype(int)
    chains = [zoo.epm(3).chain({"x": graph}, seed=1, threads=n).sweep(4) for n in (1, 2)]
    again = zoo.epm(3).chain({"x": graph}, seed=1).restore(chains[0].state(), 4).sweep(2)
    for chain in chains:
        chain.sweep(2)
        for name, value in again.values.items():
            np.testing.assert_array_equal(chain.values[name], value)


def test_no_array_of_all_pairs_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of many vertices is swept without a mask of vertices × vertices."""
    monkeypatch.setattr(operands, "mask_of", lambda *arguments: pytest.fail("all pairs"))
    graph = sp.csr_array(([1, 1], ([0, 5], [7, 30])), (40, 40))
    chain = zoo.epm(3).chain({"x": graph}).sweep(2)
    assert np.isfinite(chain.log_joint())
