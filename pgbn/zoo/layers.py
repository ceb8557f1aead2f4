"""The names of a belief network's nodes and dims, in one place.

    x ← phi1·theta1,  theta1 ← phi2·theta2 (rate p2),  theta2 ← phi3·theta3 (rate c3),  …,  ← r

The models of the zoo are built with these names, and training, evaluation and the report read
states by them. They are also keys of random streams: a name that changes changes every draw.
"""

from __future__ import annotations

DATA = "x"
TOP_SHAPE = "r"  # the shapes of the top layer, r_k ~ Gam(γ0/K, c0)
GAMMA0 = "gamma0"
TOP_RATE = "c0"
NOISE = "noise"  # of data that are reals
DOCUMENT, TERM = "doc", "term"
FIRST_RATE = "p2"  # c^(2) = (1 − p^(2)) / p^(2)


def theta(layer: int) -> str:
    """θ^(t), documents × topics of layer t."""
    return f"theta{layer}"


def phi(layer: int) -> str:
    """Φ^(t), from the topics of layer t to those below, or to the terms."""
    return f"phi{layer}"


def topic(layer: int) -> str:
    """The dim of the topics of a layer; below the first layer are the terms."""
    return f"topic{layer}" if layer > 0 else TERM


def rate(number: int) -> str:
    """c^(t), t = 2 … T + 1: the rate of θ^(t−1)."""
    return FIRST_RATE if number == 2 else plain_rate(number)


def plain_rate(number: int) -> str:
    """The same for models in which every rate, also the first, is a gamma."""
    return f"c{number}"


def of_modality(name: str, modality: str) -> str:
    """The name of a node or dim of one modality."""
    return f"{name}_{modality}"
