"""TrainedNetwork: what is left of a chain when training ends, usable on its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_names, is_integral, numbers
from pgbn.errors import DataError, NetworkError
from pgbn.training.grown import GrownNetwork
from pgbn.training.training_result import Reportable
from pgbn.training.value_checks import LARGEST, check_parts
from pgbn.zoo import layers
from pgbn.zoo.links import get_link, link_names

if TYPE_CHECKING:
    from pgbn.network.network import Network
    from pgbn.nodes.base import Observed


MOST_DRAWN = 1e9  # of r, where counts are drawn: they grow with it, and the time with their root


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


def read_priors(content: Mapping[str, Any]) -> Priors:
    """The priors again, from JSON; what another version had besides is left out."""
    known = {entry.name for entry in fields(Priors)}
    if not isinstance(content, Mapping) or not all(
        isinstance(p, list | tuple) for p in content.values()
    ):
        raise DataError(f"priors={content!r:.60}: give two numbers for each of them")
    return Priors(**{name: tuple(pair) for name, pair in content.items() if name in known})


@dataclass(frozen=True)
class TrainedNetwork(Reportable):
    """A PGBN of T layers with its parameters fixed.

    ``phi[t-1]`` is Φ^(t), (K_t, K_{t-1}), K_0 = V: rows are topics and sum to one. ``r`` are
    the shapes of the top layer, ``c[t-2]`` is the median over the training documents of
    c^(t)_j, t = 2…T+1. ``weights[t-1]`` are the tokens that each topic accounts for at the last
    sweep, see `pgbn.training.trained`. ``traces`` has arrays "sweep", "log_likelihood", "width"
    (active factors of the top layer) and, after `pgbn.merge_topics`, "before_merging", 1 for what
    is from before. ``state`` is the last state of the chain, to go on from; it
    may be empty. ``sweeps`` were run in all. ``labels`` are names of topics (layer, number) that a
    reader has given, see `with_labels`. ``vocabulary`` are the names of the terms, if it was saved
    with them: lists of topics and reports use them. ``draws`` are those that ``keep_draws`` asked
    for, by node, with the draw as the first axis.
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
    vocabulary: Sequence[str] | None = None
    draws: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("phi", "weights"):
            given = getattr(self, name)
            if not isinstance(given, (tuple, list)):
                raise DataError(
                    f"TrainedNetwork: {name} is {type(given).__name__}; give a tuple, with one "
                    "array for each layer"
                )
            arrays = (_numbers(f"{name}[{t}]", array) for t, array in enumerate(given))
            object.__setattr__(self, name, tuple(arrays))
        for name in ("r", "c"):
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        self._check_layers()
        _check_link(self.link)
        most = LARGEST if get_link(self.link).is_counts else MOST_DRAWN
        if not ((self.r >= 0) & (self.r <= most)).all():
            raise DataError(f"TrainedNetwork: r={self.r}: give finite numbers from 0 to {most:g}")
        if not (self.c >= 0).all():
            raise DataError(f"TrainedNetwork: c={self.c}: give numbers of at least 0")
        check_parts(self)
        if self.vocabulary is not None:
            names = check_names("vocabulary", self.vocabulary, self.vocabulary_size)
            object.__setattr__(self, "vocabulary", tuple(names))
        self._check_draws()
        places = {(t, k) for t, width in enumerate(self.widths, 1) for k in range(width)}
        for place, text in self.labels.items():
            if place not in places or not isinstance(text, str):
                raise DataError(
                    f"labels: {place!r}: {text!r}; a label is a text for (layer, topic), of layers "
                    f"1 to {self.depth} with {self.widths} topics"
                )

    def _check_layers(self) -> None:
        """The arrays of the layers fit each other, and the rows of Φ sum to one."""
        if not self.phi:
            raise DataError("TrainedNetwork: phi is empty; give one matrix for each layer")
        below = self.phi[0].shape[1] if self.phi[0].ndim == 2 else "terms"
        for t, phi in enumerate(self.phi, 1):
            if phi.ndim != 2 or phi.shape[1] != below:
                raise DataError(
                    f"TrainedNetwork: phi[{t - 1}] has shape {phi.shape}, expected (K{t}, {below})"
                )
            if not np.allclose(phi.sum(axis=1), 1.0, atol=1e-6) or (phi < 0).any():
                raise DataError(f"TrainedNetwork: the rows of phi[{t - 1}] must sum to one")
            below = phi.shape[0]
        expected = {"r": (self.r, (below,)), "c": (self.c, (self.depth,))}
        if self.weights:
            if len(self.weights) != self.depth:
                raise DataError(
                    f"TrainedNetwork: weights of {len(self.weights)} layers, not {self.depth}"
                )
            pairs = enumerate(zip(self.weights, self.widths, strict=True))
            expected |= {f"weights[{t}]": (array, (width,)) for t, (array, width) in pairs}
        for name, (array, shape) in expected.items():
            if array.shape != shape:
                raise DataError(f"TrainedNetwork: {name} has shape {array.shape}, expected {shape}")

    def _check_draws(self) -> None:
        """As many draws of every node, of Φ and r in their shapes."""
        if not self.draws:
            return
        arrays = {name: _numbers(f"draws[{name!r}]", array) for name, array in self.draws.items()}
        expected = {layers.phi(t): phi.shape for t, phi in enumerate(self.phi, 1)}
        expected[layers.TOP_SHAPE] = self.r.shape
        kept = len(np.atleast_1d(next(iter(arrays.values()))))
        for name in (*expected, *arrays):
            shape = arrays[name].shape if name in arrays else "none"
            want = (kept, *expected.get(name, arrays[name].shape[1:] if name in arrays else ()))
            if shape != want:
                raise DataError(
                    f"TrainedNetwork: draws[{name!r}] has shape {shape}, expected {want}"
                )
        object.__setattr__(self, "draws", arrays)

    @property
    def depth(self) -> int:
        """The number of layers T."""
        return len(self.phi)

    @property
    def widths(self) -> tuple[int, ...]:
        """(K_1, …, K_T)."""
        return tuple(phi.shape[0] for phi in self.phi)

    @property
    def vocabulary_size(self) -> int:
        """The number of terms V: the columns of the documents that it was trained on."""
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
        kept = {at: text for at, text in both.items() if not isinstance(text, str) or text}
        return replace(self, labels=kept)

    def without_state(self) -> TrainedNetwork:
        """The same without the training documents' hidden units: small, but not to be resumed."""
        return replace(self, state={})

    def __repr__(self) -> str:
        terms = self.vocabulary_size
        return f"TrainedNetwork(widths={self.widths}, terms={terms}, link={self.link!r})"

    # ---- files ------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write everything to a folder, as `pgbn.save` does."""
        from pgbn.storage.folders import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> TrainedNetwork:
        """The network that was saved in a folder; the deepest one of a training."""
        from pgbn.storage.folders import load

        found = load(path)
        network = unwrapped(found)
        if not isinstance(network, cls):
            raise DataError(f"{path}: holds a {type(found).__name__}, not a trained network")
        return network


def unwrapped(model: Any) -> Any:
    """The deepest network of a layer-wise training or of a fitted estimator; else what it was."""
    return getattr(getattr(model, "training_", model), "deepest", model)


def trained_network(model: Any, argument: str = "model") -> TrainedNetwork:
    """The trained network that an argument stands for."""
    network = unwrapped(model)
    if isinstance(network, GrownNetwork):
        raise DataError(
            f"{argument} is {network!r}, of a family of its own; this is for belief networks, as "
            "train_layerwise grows them without family="
        )
    if not isinstance(network, TrainedNetwork):
        raise DataError(
            f"{argument} is {type(model).__name__}; give a trained network (a saved one: "
            "pgbn.load(path)), the result of train_layerwise, or a fitted estimator"
        )
    return network


def check_layer(model: TrainedNetwork, layer: Any, argument: str = "layer") -> int:
    """The number of a layer, from 1 on."""
    if not is_integral(layer) or not 1 <= layer <= model.depth:
        raise DataError(f"{argument}={layer!r}: layers are numbered from 1 to {model.depth}")
    return int(layer)


def _check_link(link: Any) -> None:
    try:
        get_link(link)
    except NetworkError:
        raise DataError(
            f"TrainedNetwork: link={link!r} must be one of {link_names()}; import the module that "
            "registers it, if it is one of your own"
        ) from None


def _numbers(name: str, value: Any) -> NDArray[np.float64]:
    """An array of floats; one that is such already is not copied."""
    return numbers(f"TrainedNetwork: {name}", value).astype(np.float64, copy=False)


@lru_cache(maxsize=32)
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


def observed_node(link: str, name: str = "X") -> Observed:
    """A data node of this link, documents × terms, that knows which values are allowed."""
    return get_link(link).data_node(name)


# ---- shares -------------------------------------------------------------------------------------
#
# How much of a corpus each topic accounts for, in any layer.
#
#     w^(t)_k = Σ_j n_j θ^(t)_kj / θ^(t)_·j,   n_j = θ^(1)_·j
#
# Topics sum to one, so of the n_j tokens that a document is expected to have, topic k of layer t
# accounts for the part θ^(t)_kj / θ^(t)_·j. Σ_j θ^(t)_kj itself says this of the first layer only:
# above it, units are on a scale c_j of each document, which differs between documents by a factor
# of thousands, and a single one of them could outweigh all others.


Matrix = NDArray[np.float64]

ROWS = 4096  # at once: units may be on disk


def tokens_of_topics(units: Iterable[Matrix]) -> tuple[Matrix, ...]:
    """w^(1), …, w^(T) from θ^(1), …, θ^(T), each (documents, topics)."""
    first, *above = units
    tokens = _totals(first)
    return (first.sum(axis=0), *(_shared_out(theta, tokens) for theta in above))


def _totals(theta: Matrix) -> Matrix:
    """θ_·j, added from the first topic to the last: the same bits on every machine."""
    blocks = [np.cumsum(theta[at : at + ROWS], axis=1)[:, -1] for at in range(0, len(theta), ROWS)]
    return np.concatenate(blocks) if blocks else np.zeros(0)


def _shared_out(theta: Matrix, tokens: Matrix) -> Matrix:
    """The tokens of each document given to topics in proportion to its units; a document without
    any unit gives none."""
    totals, out = _totals(theta), np.zeros(theta.shape[1])
    scale = np.divide(tokens, totals, out=np.zeros(len(totals)), where=totals > 0)
    for at in range(0, len(theta), ROWS):
        rows = slice(at, at + ROWS)
        out += (theta[rows] * scale[rows, None]).sum(axis=0)
    return out
