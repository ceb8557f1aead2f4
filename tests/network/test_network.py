"""The graph that observed nodes depend on: its nodes, sizes and order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pgbn import Bernoulli, Constant, Dirichlet, Gamma, Network, NetworkError, Poisson, PoissonGamma
from tests.helpers.refusals import Case, check_refused
from tests.helpers.small_networks import gamma, poisson, sized

REFUSED: dict[str, Case] = {
    "no node": (lambda: Network(), NetworkError, ["at least one observed node", "Network(x)"]),
    "latent": (lambda: Network(gamma()), NetworkError, ["'g'", "not an observed node", "Poisson"]),
    "list": (lambda: Network([Poisson("x", 1.0)]), NetworkError, ["not an observed node"]),
    "duplicate": (
        lambda: poisson(gamma("a") * gamma("a")),
        NetworkError,
        ["two nodes are called 'a'", "rename"],
    ),
    "duplicate of the data": (lambda: poisson(gamma("x")), NetworkError, ["called 'x'", "rename"]),
    "unknown": (lambda: sized({"dok": 3}), NetworkError, ["'dok'", "Did you mean 'doc'?"]),
    "not a string": (lambda: sized({3: 3}), NetworkError, ["no node has a dim 3", "Known"]),
    "zero": (lambda: sized({"doc": 0}), NetworkError, ["doc=0", "positive integer"]),
    "real": (lambda: sized({"doc": 2.5}), NetworkError, ["doc=2.5", "positive integer"]),
    "string": (lambda: sized({"doc": "2"}), NetworkError, ["doc='2'", "positive integer"]),
    "none": (lambda: sized({"doc": None}), NetworkError, ["doc=None", "positive integer"]),
    "nan": (lambda: sized({"doc": float("nan")}), NetworkError, ["doc=nan"]),
    "infinite": (lambda: sized({"doc": float("inf")}), NetworkError, ["doc=inf"]),
    "huge": (lambda: sized({"doc": 10**400}), NetworkError, ["sizes: doc=1000", "below 2^62"]),
    "huge float": (lambda: sized({"doc": 1e300}), NetworkError, ["doc=1e+300", "below 2^62"]),
    "bool": (lambda: sized({"doc": True}), NetworkError, ["doc=True"]),
    "not a dict": (lambda: sized(3), NetworkError, ["sizes=3", "dict"]),
    "no such node": (lambda: sized({})["thta"], NetworkError, ["'thta'", "Did you mean 'theta'?"]),
    "no order": (lambda: sized({}).with_order(3), NetworkError, ["order=3", "list"]),
    "order as a string": (lambda: sized({}).with_order("x"), NetworkError, ["order='x'", "list"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    check_refused(*REFUSED[name])


def test_a_network_knows_its_nodes() -> None:
    A, B, C = gamma("a", dims=("doc", "k")), gamma("b", dims=("k", "term")), gamma("c", dims="k")
    net = poisson(A @ B)
    assert all(item in net for item in ("a", A, net["x"]))
    assert not any(item in net for item in ("c", C, Gamma("a", 1, 1)))
    assert [node.name for node in net] == list(net.nodes)
    assert len(net) == 3


@pytest.mark.parametrize(
    "network",
    [
        lambda: poisson(1.0),
        lambda: poisson(gamma()),
        lambda: poisson(gamma("a", dims="doc") + gamma("b") + 0.5),
        lambda: poisson(gamma("t", Bernoulli("h", 0.5, dims="doc"), 1, dims="doc")),
        lambda: Network(PoissonGamma("x", gamma("a"), gamma("b") + gamma("c"), dims="doc")),
        lambda: poisson(Constant([1, 0, 2], dims="doc") * gamma()),
        lambda: Network(Poisson("x", gamma())),
    ],
)
def test_unusual_networks_work(network: Callable[[], Network]) -> None:
    """What is odd but well defined is not refused."""
    net = network()
    data = net.generate(seed=1, sizes=dict.fromkeys(net.dims, 3))
    chain = net.chain({"x": data["x"]}, seed=1).sweep(5)
    assert np.isfinite(chain.log_joint())


@pytest.mark.parametrize("dim", ["\x1b]0;title\x07", "a\nb", "\u202eterm"])
def test_dims_that_would_command_a_terminal_are_refused(dim: str) -> None:
    scores = Gamma("scores", 1, 1, dims="topic")
    topics = Dirichlet("topics", 1, over=dim, dims="topic")
    for node in (
        Poisson("x", Gamma("rate", 1, 1, dims=dim), dims=dim),
        Poisson("x", topics @ scores, dims=dim),
    ):
        with pytest.raises(NetworkError, match="holds control characters") as told:
            Network(node)
        assert dim not in str(told.value)


def test_other_alphabets_are_names() -> None:
    net = Network(Poisson("x", Gamma("rate", 1, 1, dims="слово"), dims="слово"))
    assert "слово" in str(net)
