"""Small networks with hidden choices: a mixture, hidden Markov chains."""

from __future__ import annotations

from collections.abc import Callable

from pgbn import Categorical, Constant, Dirichlet, Gamma, Network, Poisson, Self, Shift

__all__ = ["STATES", "states_of"]

SIZES = {"d": 3, "v": 2, "k": 2, "l": 2, "t": 4, "s": 2}


def states_of(network: Network) -> dict[str, int]:
    """The sizes of the dims of a network."""
    return {dim: SIZES[dim] for dim in network.dims}


def mixture() -> Network:
    z = Categorical("z", Dirichlet("pi", [1.0, 5.0], over="k"), over="k", dims="d")
    return Network(Poisson("x", z @ rates("k", "v"), dims=("d", "v")))


def rates(*dims: str) -> Gamma:
    """Rates that tell the states apart: what treats them alike would not show in the tests."""
    return Gamma("rate", Constant([1.0, 8.0], dims="k"), 1, dims=dims)


def states(*series: str) -> Network:
    """A chain of states, or several with the same transitions."""
    move = Dirichlet(
        "move", Constant([[6.0, 1.0], [1.0, 3.0]], dims=("l", "k")), over="k", dims="l"
    )
    first = Dirichlet("first", [1.0, 4.0], over="k")
    shift = Shift(move @ Self(k="l"), along="t", initial=first)
    z = Categorical("z", shift, over="k", dims=(*series, "t"))
    if series:
        return Network(Poisson("x", z @ rates("k"), dims=(*series, "t")))
    return Network(Poisson("x", z @ rates("k", "v"), dims=("t", "v")))


STATES: dict[str, Callable[[], Network]] = {
    "mixture": mixture,
    "states": states,
    "several": lambda: states("s"),
}
