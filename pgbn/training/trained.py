"""TrainedNetwork: the result of a training, which can be used without its chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_names, is_finite_number, is_integral, layer_error, listed, numbers
from pgbn.errors import DataError, NetworkError, did_you_mean
from pgbn.nodes.base import Latent
from pgbn.training.topic_methods import TopicMethods
from pgbn.training.training_result import FittedModel
from pgbn.zoo import layers
from pgbn.zoo.arguments import check_prior
from pgbn.zoo.links import get_link, link_names

if TYPE_CHECKING:
    from pgbn.network.network import Network
    from pgbn.nodes.base import Observed


Matrix = NDArray[np.float64]
Arrays = Mapping[str, Matrix]

LARGEST = 1e150  # products of two such numbers are finite
MOST_DRAWN = 1e9  # of r, if counts are drawn: they grow with r, and the time with their root
ROWS = 4096  # of units, at once: they may be on disk


@dataclass(frozen=True)
class Priors:
    """The constants of a PGBN; the defaults are the paper's.

    p^(2)_j ~ Beta(p), c^(t)_j ~ Gam(c), c0 ~ Gam(c0), γ0 ~ Gam(gamma0), noise ~ Gam(noise).

    Parameters
    ----------
    p, c, c0, gamma0, noise : two positive numbers
        The parameters of these distributions: shape and rate, or a and b of the beta distribution.

    Examples
    --------
    >>> pgbn.Priors(gamma0=(1, 0.5)).gamma0
    (1.0, 0.5)
    """

    p: tuple[float, float] = (0.01, 0.01)
    c: tuple[float, float] = (1.0, 1.0)
    c0: tuple[float, float] = (1.0, 1.0)
    gamma0: tuple[float, float] = (0.01, 0.01)
    noise: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        for entry in fields(self):
            pair = check_prior(getattr(self, entry.name), f"Priors: {entry.name}")
            object.__setattr__(self, entry.name, pair)


def read_priors(content: Mapping[str, Any]) -> Priors:
    """Read the priors from JSON; unknown entries of another version are ignored."""
    known = {entry.name for entry in fields(Priors)}
    if not isinstance(content, Mapping) or not all(
        isinstance(p, list | tuple) for p in content.values()
    ):
        raise DataError(f"priors={content!r:.60}: give two numbers for each of them")
    return Priors(**{name: tuple(pair) for name, pair in content.items() if name in known})


@dataclass(frozen=True)
class TrainedNetwork(TopicMethods, FittedModel):
    """A network of T layers with its parameters fixed: a belief network, or one of any family.

    `pgbn.train_layerwise` and `pgbn.train_minibatch` return it, and `of_topics` makes a belief
    network from its arrays. A belief network also has the attributes ``phi``, ``r``, ``eta`` and
    ``noise``. Topics of each layer are numbered by weight, the largest first. For new rows of any
    network call ``trained.network.infer(data, given=trained.means)``, or ``given=trained.draws``.

    Parameters
    ----------
    network : Network
        The network of nodes.
    layers : tuple of str
        The dims of the units of its layers, from the data up.
    means : dict
        The posterior means of nodes that all rows share, by name. Those of proportions are means
        given their counts, those of other nodes are means over the last sweeps.
    traces : dict
        The arrays "sweep", "log_likelihood" and "width" (active topics of the top layer). After
        `merge` also "before_merging", 1 for rows from before the merge.
    state : dict
        The last state of the chain, to continue from; it may be empty.
    sweeps : int
        The number of all sweeps.
    draws : dict
        The draws that ``keep_draws`` asked for, by node, with the draw as the first axis.
    link : str
        The link of a belief network; "" for others.
    priors : Priors
        The constants of a belief network.
    c : array
        ``c[t-2]`` is the median over the training documents of c^(t)_j, t = 2…T+1.
    weights : tuple of array
        ``weights[t-1]`` are the tokens that each topic accounts for at the last sweep.
    labels : dict
        The names of topics that a reader has given, by (layer, number); see `with_labels`.
    vocabulary : sequence of str, optional
        The names of the terms, which lists of topics and reports show.
    order : tuple of array
        ``order[t-1][k]`` is the number that topic k had in the chain.

    Examples
    --------
    >>> phi, r = [np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])], np.array([1.0, 2.0])
    >>> model = pgbn.TrainedNetwork.of_topics(phi, r, c=np.ones(1))
    >>> model.widths, model.vocabulary_size
    ((2,), 3)
    """

    network: Network
    layers: tuple[str, ...]
    means: Arrays
    traces: Arrays = field(default_factory=dict)
    state: Arrays = field(default_factory=dict)
    sweeps: int = 0
    draws: Arrays = field(default_factory=dict)
    link: str = ""
    priors: Priors = field(default_factory=Priors)
    c: Matrix = field(default_factory=lambda: np.zeros(0))
    weights: tuple[Matrix, ...] = ()
    labels: Mapping[tuple[int, int], str] = field(default_factory=dict)
    vocabulary: Sequence[str] | None = None
    order: tuple[NDArray[np.int64], ...] = ()

    @classmethod
    def of_topics(
        cls,
        phi: Sequence[Matrix],
        r: Matrix,
        c: Matrix,
        *,
        eta: Sequence[float] = (),
        link: str = "poisson",
        noise: float = 1.0,
        priors: Priors | None = None,
        **others: Any,
    ) -> TrainedNetwork:
        """A belief network from its arrays.

        Parameters
        ----------
        phi : sequence of array
            ``phi[t-1]`` is Φ^(t), (K_t, K_{t-1}), where K_0 is the number of terms. Rows are topics
            and sum to one.
        r : array
            The shapes of the top layer.
        c : array
            ``c[t-2]`` is the rate c^(t) of a document, t = 2…T+1.
        eta : sequence of float
            The Dirichlet parameter of each layer; 0.05 by default.
        link : str
            "poisson", "bernoulli", "gamma" or a link of your own.
        noise : float
            The noise of a link that has one.
        priors : Priors, optional
            The other constants.
        **others
            Further fields of `TrainedNetwork`, such as ``vocabulary``.

        Returns
        -------
        TrainedNetwork
            The network.

        Examples
        --------
        >>> phi, r = [np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])], np.array([1.0, 2.0])
        >>> model = pgbn.TrainedNetwork.of_topics(phi, r, c=np.ones(1))
        >>> model.widths
        (2,)
        """
        known = {"phi", "r", "eta", "noise", *(entry.name for entry in fields(cls))}
        for name in sorted(set(others) - known):
            raise TypeError(
                f"TrainedNetwork.of_topics has no argument {name!r}.{did_you_mean(name, known)}"
            )
        priors = Priors() if priors is None else priors
        if not isinstance(priors, Priors):
            raise DataError(f"TrainedNetwork: priors={priors!r:.60}: give pgbn.Priors(...)")
        check_known_link(link)
        _check_positive("eta", eta)
        _check_positive("noise", (noise,))
        loadings = _check_topics(phi)
        widths = tuple(map(len, loadings))
        means = {layers.phi(t): array for t, array in enumerate(loadings, 1)}
        means[layers.TOP_SHAPE] = _numbers("r", r)
        if means[layers.TOP_SHAPE].shape != widths[-1:]:
            shape = means[layers.TOP_SHAPE].shape
            raise DataError(f"TrainedNetwork: r has shape {shape}, expected {widths[-1:]}")
        if get_link(link).noise:
            means[layers.NOISE] = np.array(float(noise))
        return cls(
            network=make_network(widths, tuple(eta) or 0.05, link, priors),
            layers=tuple(layers.topic(t) for t in range(1, len(widths) + 1)),
            means=means,
            link=link,
            priors=priors,
            c=c,
            **others,
        )

    def __post_init__(self) -> None:
        for name in ("means", "traces", "state", "draws", "labels"):
            if not isinstance(given := getattr(self, name), Mapping):
                raise DataError(f"TrainedNetwork: {name} is {type(given).__name__}; give a dict")
        if not is_integral(self.sweeps) or not 0 <= self.sweeps < 2**63:
            raise DataError(f"TrainedNetwork: sweeps={self.sweeps!r:.60}: give a number from 0 on")
        dims = listed("TrainedNetwork: layers", self.layers, "give the dims of the units")
        object.__setattr__(self, "layers", tuple(dims))
        for dim in self.layers:
            if not isinstance(dim, str) or dim not in self.network.sizes:
                raise DataError(f"TrainedNetwork: the network has no dim {dim!r} of a given size")
        means = {name: _numbers(f"means: {name}", value) for name, value in self.means.items()}
        object.__setattr__(self, "means", means)
        sizes = check_shapes("TrainedNetwork: means", self.network, means)
        if self.link:
            self._check_belief()
        for name, value in means.items():
            node = self.network[name]
            complaint = node.refuses_mean(value) if isinstance(node, Latent) else None
            if complaint:
                raise DataError(f"TrainedNetwork: means: {name} {complaint}")
        sizes = check_shapes("TrainedNetwork: state", self.network, self.state, sizes)
        for name, value in self.state.items():
            if not np.isfinite(value).all():
                raise DataError(
                    f"TrainedNetwork: state[{name!r}] has values that no chain has; give finite "
                    "numbers"
                )
        check_shapes("TrainedNetwork: draws", self.network, self.draws, sizes, before=("draw",))
        _check_traces(self.traces)

    def _check_belief(self) -> None:
        """Check the fields that only a belief network has against its layers."""
        check_known_link(self.link)
        needed = (*(layers.phi(t) for t in range(1, self.depth + 1)), layers.TOP_SHAPE)
        for name in needed:
            if name not in self.means:
                raise DataError(f"TrainedNetwork: means have no {name}, which belief networks have")
            if self.draws and name not in self.draws:
                raise DataError(f"TrainedNetwork: draws have no {name}, but other nodes")
        for prior in fields(self.priors):
            _check_positive(f"priors: {prior.name}", getattr(self.priors, prior.name))
        most = LARGEST if get_link(self.link).is_counts else MOST_DRAWN
        if not ((self.r >= 0) & (self.r <= most)).all():
            raise DataError(f"TrainedNetwork: r={self.r}: give finite numbers from 0 to {most:g}")
        expected = {"c": (_numbers("c", self.c), (self.depth,))}
        if not isinstance(self.weights, (tuple, list)) or len(self.weights) not in (0, self.depth):
            raise DataError(
                f"TrainedNetwork: weights of {np.size(self.weights)} layers, not {self.depth}"
            )
        for t, (weight, width) in enumerate(zip(self.weights, self.widths, strict=False)):
            expected[f"weights[{t}]"] = (_numbers(f"weights[{t}]", weight), (width,))
        for name, (array, shape) in expected.items():
            if array.shape != shape:
                raise DataError(f"TrainedNetwork: {name} has shape {array.shape}, expected {shape}")
        c, *weights = (array for array, _ in expected.values())
        if not (c >= 0).all():
            raise DataError(f"TrainedNetwork: c={self.c}: give numbers of at least 0")
        object.__setattr__(self, "c", c)
        object.__setattr__(self, "weights", tuple(weights))
        order = tuple(np.asarray(each) for each in self.order)
        if order and not (
            len(order) == self.depth
            and all(each.dtype.kind in "iu" for each in order)
            and all(
                np.array_equal(np.sort(each), np.arange(width))
                for each, width in zip(order, self.widths, strict=True)
            )
        ):
            raise DataError(
                f"TrainedNetwork: order must have the numbers 0 to K - 1 once for each layer, of "
                f"widths {self.widths}"
            )
        object.__setattr__(self, "order", order)
        if self.vocabulary is not None:
            names = check_names("vocabulary", self.vocabulary, self.vocabulary_size)
            object.__setattr__(self, "vocabulary", tuple(names))
        places = {(t, k) for t, width in enumerate(self.widths, 1) for k in range(width)}
        for place, text in self.labels.items():
            if place not in places or not isinstance(text, str):
                raise DataError(
                    f"labels: {place!r}: {text!r}; a label is a text for (layer, topic), of layers "
                    f"1 to {self.depth} with {self.widths} topics"
                )

    @property
    def depth(self) -> int:
        """The number of layers T."""
        return len(self.layers)

    @property
    def widths(self) -> tuple[int, ...]:
        """(K_1, …, K_T)."""
        return tuple(self.network.sizes[dim] for dim in self.layers)

    # ---- belief networks ----------------------------------------------------------------

    def _of_belief(self, name: str) -> Matrix:
        if not self.link:
            raise AttributeError(f"{self!r} is not a belief network; .means has its means by node")
        return self.means[name]

    @property
    def phi(self) -> tuple[Matrix, ...]:
        """Φ^(1), …, Φ^(T), each (K_t, K_{t-1})."""
        return tuple(self._of_belief(layers.phi(t)) for t in range(1, self.depth + 1))

    @property
    def r(self) -> Matrix:
        """The shapes of the top layer."""
        return self._of_belief(layers.TOP_SHAPE)

    @property
    def noise(self) -> float:
        """The noise of data that are reals; 1 of others."""
        return float(self.means.get(layers.NOISE, 1.0))

    @property
    def eta(self) -> tuple[float, ...]:
        """The Dirichlet parameter of each layer."""
        nodes: list[Any] = [self.network[layers.phi(t)] for t in range(1, self.depth + 1)]
        return tuple(float(node.concentration.value) for node in nodes)

    @property
    def vocabulary_size(self) -> int:
        """The number of terms V: the columns of the documents that it was trained on."""
        return int(self.phi[0].shape[1])

    def with_topics(self, **arrays: Any) -> TrainedNetwork:
        """The same network with other arrays.

        Parameters
        ----------
        **arrays
            Arguments of `of_topics` that replace those of this network.

        Returns
        -------
        TrainedNetwork
            A copy. If ``phi`` is given, its topics have no ``order``.

        Examples
        --------
        >>> phi, r = [np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])], np.array([1.0, 2.0])
        >>> model = pgbn.TrainedNetwork.of_topics(phi, r, c=np.ones(1))
        >>> model.with_topics(r=np.array([3.0, 1.0])).r
        array([3., 1.])
        """
        own = {name: getattr(self, name) for name in ("phi", "r", "eta", "noise")}
        own |= {entry.name: getattr(self, entry.name) for entry in fields(self)
                if entry.name not in ("network", "layers", "means")}  # fmt: skip
        if "phi" in arrays:
            own["order"] = ()
        if len(arrays.get("phi", self.phi)) != self.depth:
            own["eta"] = own["eta"][: len(arrays["phi"])]
        return type(self).of_topics(**(own | arrays))

    def with_labels(self, labels: Mapping[tuple[int, int], str]) -> TrainedNetwork:
        """The same with names for some topics, which are saved and shown with them.

        Parameters
        ----------
        labels : dict
            ``{(1, 0): "weather", (2, 3): "travel"}``; an empty name removes a label.

        Returns
        -------
        TrainedNetwork
            A copy with these labels.

        Examples
        --------
        >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
        >>> training = pgbn.train_layerwise(X, 4, 1, burn_in=5, sweeps=5, progress=False)
        >>> training.deepest.with_labels({(1, 0): "weather"}).topics(1)[0].label
        'weather'
        """
        if not isinstance(labels, Mapping):
            raise DataError(f"labels={labels!r}: give a dict such as {{(1, 0): 'weather'}}")
        both = {**self.labels, **labels}
        kept = {at: text for at, text in both.items() if not isinstance(text, str) or text}
        return replace(self, labels=kept)

    def without_state(self) -> TrainedNetwork:
        """The same without the topic weights of the training documents: small, but final.

        Returns
        -------
        TrainedNetwork
            It cannot be trained further.

        Examples
        --------
        >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
        >>> training = pgbn.train_layerwise(X, 4, 1, burn_in=5, sweeps=5, progress=False)
        >>> dict(training.deepest.without_state().state)
        {}
        """
        return replace(self, state={})

    def __repr__(self) -> str:
        if not self.link:
            return f"TrainedNetwork(widths={self.widths}, observed={self.network.observed})"
        terms = self.vocabulary_size
        return f"TrainedNetwork(widths={self.widths}, terms={terms}, link={self.link!r})"


def unwrapped(model: Any) -> Any:
    """The deepest network of a layer-wise training or of a fitted estimator; any other argument is
    returned as it is."""
    return getattr(getattr(model, "training_", model), "deepest", model)


def is_belief(model: Any) -> bool:
    """Whether an argument stands for a trained belief network, whose layers are topics."""
    network = unwrapped(model)
    return isinstance(network, TrainedNetwork) and bool(network.link)


def trained_network(model: Any, argument: str = "model") -> TrainedNetwork:
    """The trained belief network that an argument stands for."""
    network = unwrapped(model)
    if not isinstance(network, TrainedNetwork):
        raise DataError(
            f"{argument} is {type(model).__name__}; give a trained network (a saved one: "
            "pgbn.load(path)), the result of train_layerwise, or a fitted estimator"
        )
    if not network.link:
        raise DataError(
            f"{argument} is {network!r}, which has its own family; this is for belief networks, as "
            "train_layerwise grows them without family="
        )
    return network


def check_layer(model: TrainedNetwork, layer: Any, argument: str = "layer") -> int:
    """The number of a layer, from 1 on."""
    if not is_integral(layer) or not 1 <= layer <= model.depth:
        raise layer_error(argument, layer, model.depth)
    return int(layer)


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
    """A data node of this link, documents × terms, that checks which values are allowed."""
    return get_link(link).data_node(name)


# ---- checks of the parts of a trained network, which may come from any file ----


def check_shapes(
    what: str,
    network: Network,
    arrays: Mapping[str, Any],
    sizes: Mapping[str, int] | None = None,
    before: tuple[str, ...] = (),
) -> dict[str, int]:
    """Check that values have the dims of their nodes, with those of draws ``before`` them. A dim
    has the same size in all of them: the one of the network or of ``sizes``, if they have one.
    Returns the sizes of all dims."""
    known = {**network.sizes, **(sizes or {})}
    for name, value in arrays.items():
        if name not in network.nodes:
            raise DataError(f"{what}: {name!r:.60} is not a node of the network")
        axes = (*before, *network[name].axes)
        shape = numbers(f"{what}: {name}", value).shape
        fits = len(shape) == len(axes)
        if not fits or any(known.setdefault(d, n) != n for d, n in zip(axes, shape, strict=True)):
            wanted = tuple(known.get(dim, dim) for dim in axes)
            raise DataError(f"{what}: {name} has shape {shape}, but its dims {axes} need {wanted}")
    return known


def check_known_link(link: Any) -> None:
    """A link that is registered."""
    try:
        get_link(link)
    except NetworkError:
        raise DataError(
            f"TrainedNetwork: link={link!r} must be one of {link_names()}; import the module that "
            "registers it, if it is one of your own"
        ) from None


def _check_topics(phi: Any) -> list[Matrix]:
    """Check that the matrices of the layers fit each other, and that their rows sum to one."""
    if not isinstance(phi, (tuple, list)):
        raise DataError(
            f"TrainedNetwork: phi is {type(phi).__name__}; give a tuple, with one array for each "
            "layer"
        )
    if not phi:
        raise DataError("TrainedNetwork: phi is empty; give one matrix for each layer")
    arrays = [_numbers(f"phi[{t}]", array) for t, array in enumerate(phi)]
    below = arrays[0].shape[1] if arrays[0].ndim == 2 else "terms"
    for t, array in enumerate(arrays):
        if array.ndim != 2 or array.shape[1] != below:
            raise DataError(
                f"TrainedNetwork: phi[{t}] has shape {array.shape}, expected (K{t + 1}, {below})"
            )
        if not np.allclose(array.sum(axis=1), 1.0, atol=1e-6) or (array < 0).any():
            raise DataError(f"TrainedNetwork: the rows of phi[{t}] must sum to one")
        below = len(array)
    return arrays


def _check_positive(name: str, values: Any) -> None:
    each: Sequence[Any] = values if isinstance(values, (tuple, list)) else [None]
    if not all(is_finite_number(number) and 0 < number <= LARGEST for number in each):
        raise DataError(
            f"TrainedNetwork: {name}={values!r:.60}: give positive numbers up to {LARGEST:g}"
        )


def _check_traces(traces: Mapping[str, Any]) -> None:
    """Series of numbers, all as long as the series of sweeps."""
    sizes = {name: _numbers(f"traces[{name!r}]", value).shape for name, value in traces.items()}
    if sizes and (len(set(sizes.values())) > 1 or len(sizes.get("sweep", ())) != 1):
        raise DataError(
            f"TrainedNetwork: traces of the shapes {sizes}; give 'sweep', and series of numbers "
            "that are as long"
        )


def _numbers(name: str, value: Any) -> Matrix:
    """An array of floats; an array of floats is not copied."""
    return numbers(f"TrainedNetwork: {name}", value).astype(np.float64, copy=False)


def tokens_of_topics(units: Iterable[Matrix]) -> tuple[Matrix, ...]:
    """How much of a corpus each topic accounts for: w^(1), …, w^(T) from θ^(1), …, θ^(T), each
    (documents, topics).

        w^(t)_k = Σ_j n_j θ^(t)_kj / θ^(t)_·j,   n_j = θ^(1)_·j

    Topics sum to one, so topic k of layer t accounts for the part θ^(t)_kj / θ^(t)_·j of the n_j
    expected tokens of a document. Σ_j θ^(t)_kj itself has this meaning in the first layer only.
    Above it, units are on a scale c_j of each document. These scales differ between documents by a
    factor of thousands, and a single document could outweigh all others.
    """
    first, *above = units
    tokens = _totals(first)
    return (first.sum(axis=0), *(_shared_out(theta, tokens) for theta in above))


def _totals(theta: Matrix) -> Matrix:
    """θ_·j, added from the first topic to the last: bit-identical on every machine."""
    blocks = [np.cumsum(theta[at : at + ROWS], axis=1)[:, -1] for at in range(0, len(theta), ROWS)]
    return np.concatenate(blocks) if blocks else np.zeros(0)


def _shared_out(theta: Matrix, tokens: Matrix) -> Matrix:
    """The tokens of each document, given to topics in proportion to its units. A document without
    any unit gives none."""
    totals, out = _totals(theta), np.zeros(theta.shape[1])
    scale = np.divide(tokens, totals, out=np.zeros(len(totals)), where=totals > 0)
    for at in range(0, len(theta), ROWS):
        rows = slice(at, at + ROWS)
        out += (theta[rows] * scale[rows, None]).sum(axis=0)
    return out
