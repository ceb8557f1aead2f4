"""TrainedNetwork: what is left of a chain when training ends, usable on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import DataError
from pgbn.reportable import Reportable

if TYPE_CHECKING:
    from pgbn.network import Network
    from pgbn.nodes.base import Observed

__all__ = ["Priors", "TrainedNetwork"]


@dataclass(frozen=True)
class Priors:
    """The constants of a PGBN; the defaults are the paper's.

    p^(2)_j ~ Beta(p), c^(t)_j ~ Gam(c), c0 ~ Gam(c0), γ0 ~ Gam(gamma0), noise ~ Gam(noise).
    """

    p: tuple[float, float] = (0.01, 0.01)
    c: tuple[float, float] = (1.0, 1.0)
    c0: tuple[float, float] = (1.0, 1.0)
    gamma0: tuple[float, float] = (0.01, 0.01)
    noise: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True)
class TrainedNetwork(Reportable):
    """A PGBN of T layers with its parameters fixed.

    ``phi[t-1]`` is Φ^(t) with a topic a row, (K_t, K_{t-1}), K_0 = V: rows sum to one. ``r`` are
    the shapes of the top layer, ``c[t-2]`` is the median over the training documents of
    c^(t)_j, t = 2…T+1. ``weights[t-1]`` are Σ_j θ^(t)_kj of the last sweep. ``traces`` has
    arrays "sweep", "log_likelihood", "width" (active factors of the top layer). ``state`` is the
    last state of the chain, to go on from; it may be empty. ``sweeps`` were run in all. ``labels``
    are names of topics (layer, number) that a reader has given, see `with_labels`.
    """

    phi: tuple[NDArray[np.float64], ...]
    r: NDArray[np.float64]
    c: NDArray[np.float64]
    eta: tuple[float, ...] = ()
    link: str = "poisson"
    noise: float = 1.0
    priors: Priors = field(default_factory=Priors)
    weights: tuple[NDArray[np.float64], ...] = ()
    traces: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    state: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    sweeps: int = 0
    labels: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        below = None
        if not self.phi:
            raise DataError("TrainedNetwork: phi is empty; give one matrix for each layer")
        for t, phi in enumerate(self.phi, 1):
            if phi.ndim != 2 or (below is not None and phi.shape[1] != below):
                raise DataError(
                    f"TrainedNetwork: phi[{t - 1}] has shape {phi.shape}, expected (K{t}, {below})"
                )
            if not np.allclose(phi.sum(axis=1), 1.0, atol=1e-6) or (phi < 0).any():
                raise DataError(f"TrainedNetwork: the rows of phi[{t - 1}] must sum to one")
            below = phi.shape[0]
        if self.r.shape != (below,) or not (self.r >= 0).all():
            raise DataError(f"TrainedNetwork: r has shape {self.r.shape}, expected ({below},)")
        if self.c.shape != (len(self.phi),):
            raise DataError(
                f"TrainedNetwork: c has shape {self.c.shape}, expected ({len(self.phi)},)"
            )
        places = {(t, k) for t, width in enumerate(self.widths, 1) for k in range(width)}
        for place, text in self.labels.items():
            if place not in places or not isinstance(text, str):
                raise DataError(
                    f"labels: {place!r}: {text!r}; a label is a text for (layer, topic), of layers "
                    f"1 to {self.depth} with {self.widths} topics"
                )

    @property
    def depth(self) -> int:
        return len(self.phi)

    @property
    def widths(self) -> tuple[int, ...]:
        """(K_1, …, K_T)."""
        return tuple(phi.shape[0] for phi in self.phi)

    @property
    def vocabulary_size(self) -> int:
        return int(self.phi[0].shape[1])

    def network(self) -> Network:
        """The network of nodes with these widths and priors."""
        return make_network(self.widths, self.eta or 0.05, self.link, self.priors)

    def with_labels(self, labels: Mapping[tuple[int, int], str]) -> TrainedNetwork:
        """The same with names for some topics: ``{(1, 0): "weather", (2, 3): "travel"}``.

        They are saved with it and shown with the topics; an empty name takes a label away.
        """
        if not isinstance(labels, Mapping):
            raise DataError(f"labels={labels!r}: give a dict such as {{(1, 0): 'weather'}}")
        both = {**self.labels, **labels}
        return replace(self, labels={place: text for place, text in both.items() if text != ""})

    def without_state(self) -> TrainedNetwork:
        """The same without the training documents' hidden units: small, but not to be resumed."""
        return replace(self, state={})

    def __repr__(self) -> str:
        terms = self.vocabulary_size
        return f"TrainedNetwork(widths={self.widths}, terms={terms}, link={self.link!r})"

    # ---- files ------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write everything to a folder, as `pgbn.save` does."""
        from pgbn.storage import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> TrainedNetwork:
        """The network that was saved in a folder; the deepest one of a training."""
        from pgbn.storage import load

        found = load(path)
        network = getattr(getattr(found, "training_", found), "deepest", found)
        if not isinstance(network, cls):
            raise DataError(f"{path}: holds a {type(found).__name__}, not a trained network")
        return network


def make_network(
    widths: tuple[int, ...], eta: float | tuple[float, ...], link: str, priors: Priors
) -> Network:
    """The PGBN of these widths and priors."""
    from pgbn.zoo import pgbn

    return pgbn(
        list(widths),
        eta=eta if isinstance(eta, (int, float)) else list(eta),
        p_prior=priors.p,
        c_prior=priors.c,
        c0_prior=priors.c0,
        gamma0_prior=priors.gamma0,
        link=link,
        noise_prior=priors.noise,
    )


def observed_node(link: str) -> Observed:
    """A data node of this link, documents × terms, that knows which values are allowed."""
    from pgbn.nodes import Constant
    from pgbn.zoo.arguments import observe

    return observe("X", link, Constant(value=1.0), ("doc", "term"), "noise", (1.0, 1.0))
