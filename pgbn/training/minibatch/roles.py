"""What a minibatch learner does with each node of a network, found from its graph.

Local nodes have the plate ("doc") and are drawn by sweeps over a minibatch. Of the nodes that all
rows share, proportions such as Φ^(t) take a Langevin step, and positive numbers such as r are drawn
by the sampler of a small network, in which all that the rows say about such a node λ, a count m and
an exposure q, stands as one datum

    m ~ Pois(q λ),

since λ^m exp(−q λ) is all that an edge can carry.
"""

from __future__ import annotations

from dataclasses import dataclass

from pgbn.errors import NetworkError
from pgbn.network.network import Network
from pgbn.nodes.base import Latent
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.poisson import Poisson

__all__ = ["Roles", "find_roles"]


@dataclass(frozen=True)
class Roles:
    """``shared`` are all nodes without the plate: ``proportions`` among them, and ``heard``, the
    positive numbers that rows speak to, which ``above`` (a network, or None) draws with all that
    they depend on. Its data are ``count_of(name)``, its given values ``exposure_of(name)``."""

    plate: str
    shared: tuple[str, ...]
    proportions: tuple[str, ...]
    heard: tuple[str, ...]
    above: Network | None


def count_of(name: str) -> str:
    """What the datum of a node is called."""
    return f"count_of_{name}"


def exposure_of(name: str) -> str:
    """What the exposure of that datum is called."""
    return f"exposure_of_{name}"


def find_roles(network: Network, plate: str) -> Roles:
    """The roles of the nodes, or an error that says which node has none."""
    shared = tuple(name for name in network.latent if plate not in network[name].axes)
    local = {name for name in network.nodes if plate in network[name].axes}
    proportions, heard = [], []
    for name in shared:
        sources = network.wiring.sources.get(name, ())
        if not any(source.child.name in local for source in sources):
            continue
        node = network[name]
        if type(node) is Dirichlet:
            _check_constant(network, name)
            proportions.append(name)
        elif type(node) is Gamma:
            heard.append(name)
        else:
            raise NetworkError(
                f"minibatch: {name} is a {type(node).__name__}, which has no stochastic step; "
                "Dirichlet and Gamma nodes do. Train it by pgbn.train_layerwise or Network.sample"
            )
    return Roles(plate, shared, tuple(proportions), tuple(heard), _above(network, heard))


def _check_constant(network: Network, name: str) -> None:
    latent = [n for n in network.wiring.polynomials[name, "concentration"].names
              if n in network.latent]  # fmt: skip
    if latent:
        raise NetworkError(
            f"minibatch: the concentration of {name} depends on {latent[0]}, and its step needs "
            "known numbers; give a constant"
        )


def _above(network: Network, heard: list[str]) -> Network | None:
    """The network of the positive numbers and what they depend on, with a datum for each."""
    if not heard:
        return None
    data = []
    for name in heard:
        node = network[name]
        assert isinstance(node, Latent)
        exposure = Gamma(exposure_of(name), 1.0, 1.0, dims=node.axes)
        data.append(Poisson(count_of(name), rate=exposure * node, dims=node.axes))
    sizes = {dim: network.sizes[dim] for name in heard for dim in network[name].axes}
    return Network(*data, sizes=sizes).holding(*(exposure_of(name) for name in heard))
