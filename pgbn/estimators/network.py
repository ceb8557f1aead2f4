"""scikit-learn's view of any network: `NetworkTransformer`. Needs the extra ``pgbn[sklearn]``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pgbn.checks import WIDTHS, check_integer, validated
from pgbn.engine.compile.density import log_density
from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import complete_sizes, read_array
from pgbn.engine.rows.independent import row_network
from pgbn.engine.run.generate import to_storage
from pgbn.errors import DataError, did_you_mean, missing_attribute, notify
from pgbn.estimators.parameters import (
    blaming,
    read_depth,
    read_executor,
    read_seed,
    read_sweeps,
    renaming,
    unchanged_on_failure,
    validate_documents,
)
from pgbn.evaluation.inference_data import kept_tree
from pgbn.network.layers import global_nodes, layers_above
from pgbn.network.network import Network
from pgbn.nodes.rules import find_link
from pgbn.samplers.executor import Executor
from pgbn.storage.folders import save
from pgbn.training.layerwise import train_layerwise
from pgbn.training.settings import Family
from pgbn.training.start_from import only_data_node

Values = Mapping[str, NDArray[np.float64]]


def nodes_in_slots(network: Network, name: str) -> list[str]:
    """The nodes that stand in the slots of a node."""
    found = (network.wiring.polynomials[name, slot].names for slot in network[name].slots())
    return list(dict.fromkeys(each for names in found for each in names))


def expected_rates(
    network: Network, name: str, sizes: Mapping[str, int], values: Values
) -> NDArray[np.float64]:
    """The rates λ of data, or what else their counts come from, at the values of the nodes that
    stand there."""
    program = _at(network, {}, sizes, values)
    link = find_link(network[name])
    slot = network[name].slots()[0] if link is None else link.slot
    rates = np.broadcast_to(program.slot(name, slot).get(), program.shape4[name])
    return np.array(rates.reshape(program.shape[name])[0])


def _at(
    network: Network, cells: Mapping[str, Any], sizes: Mapping[str, int], values: Values
) -> Program:
    shapes = {name: each.shape for name, each in (*cells.items(), *values.items())}
    program = Program(network, cells, complete_sizes(network, sizes, shapes))
    for name, value in values.items():
        program.values[name] = to_storage(program, name, value[None])
    return program


# What other packages call a method.
_METHODS = {
    **dict.fromkeys(("show_topics", "print_topics", "get_topics", "top_words"), "topics"),
    **dict.fromkeys(("components", "components_", "get_topic_term"), "topic_terms"),
    **dict.fromkeys(("predict", "get_document_topics", "doc_topic", "infer"), "transform"),
    **dict.fromkeys(("get_topic_info", "topics_df"), "topics_frame"),
    **dict.fromkeys(("plot", "visualize_topics", "visualize", "to_html"), "report"),
    **dict.fromkeys(("topic_coherence", "log_perplexity"), "perplexity"),
    "sample": "generate",
}


class NetworkTransformer(TransformerMixin, BaseEstimator):
    """Any network with one matrix of data, as a transformer: rows in, posterior means out.

    Parameters
    ----------
    network : Network or callable
        A network, or a function from widths to one, such as `pgbn.zoo.pgbn`. A function is grown
        layer by layer.
    rows : str
        The dim of the data node that the rows of X are. Its other dim is that of the columns.
    features : str, optional
        The node whose posterior means `transform` returns, such as "theta". By default the topic
        weights of the first layer.
    max_width, depth, min_width
        The widths of a function's layers, see `pgbn.train_layerwise`.
    burn_in : int
        Sweeps before draws are kept, of each layer if it is grown.
    draws, thin : int
        The number of posterior draws that are kept, and the sweeps from one to the next. They are
        draws of what all rows share; `transform` averages over them.
    transform_burn_in, transform_draws : int
        Sweeps for new rows.
    n_jobs : int, optional
        Threads, as in `pgbn.PGBN`. The results do not depend on it.
    random_state : int, numpy.random.RandomState or None
        The seed.
    executor : Executor, optional
        Where `fit` works on rows, such as `pgbn.Disk`, instead of ``n_jobs``.

    Attributes
    ----------
    network_ : Network
        The fitted network. A function has been grown to it.
    draws_ : dict
        The draws of what all rows share, by name of the node, with the draw as the first axis.
    means_ : dict
        Their means. What belongs to a row has its mean over all rows.
    training_ : LayerwiseTraining
        The training of a function.

    Examples
    --------
    >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
    >>> few = dict(burn_in=5, draws=3, thin=1, transform_burn_in=5, transform_draws=5)
    >>> model = pgbn.NetworkTransformer(pgbn.zoo.pfa(2), random_state=0, **few).fit(X)
    >>> model.transform(X).shape
    (20, 2)
    """

    _width_name = "max_width"  # the parameter of the widths

    def __init__(
        self,
        network: Network | Callable[..., Network] | None = None,
        *,
        rows: str = "doc",
        features: str | None = None,
        max_width: int | Sequence[int] = WIDTHS,
        depth: int | None = None,
        min_width: int = 4,
        burn_in: int = 300,
        draws: int = 20,
        thin: int = 10,
        transform_burn_in: int = 100,
        transform_draws: int = 100,
        n_jobs: int | None = None,
        random_state: Any = None,
        executor: Executor | None = None,
    ) -> None:
        self.network = network
        self.rows = rows
        self.features = features
        self.max_width = max_width
        self.depth = depth
        self.min_width = min_width
        self.burn_in: Any = burn_in
        self.draws = draws
        self.thin = thin
        self.transform_burn_in = transform_burn_in
        self.transform_draws = transform_draws
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.executor = executor

    # ---- fitting ----------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Sample the posterior given rows × columns. A function of widths is grown first.

        If it fails, the estimator is what it was before.

        Parameters
        ----------
        X : rows × columns
            The data, sparse or dense.
        y : ignored
            For scikit-learn.

        Returns
        -------
        NetworkTransformer
            The estimator itself.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> few = dict(burn_in=5, draws=3, thin=1, transform_burn_in=5, transform_draws=5)
        >>> model = pgbn.NetworkTransformer(pgbn.zoo.pfa(2), random_state=0, **few).fit(X)
        >>> model.means_["phi1"].shape
        (2, 4)
        """
        with unchanged_on_failure(self), renaming("family", "network"):
            network = self._example()
            read_sweeps(self)
            executor, seed = read_executor(self), read_seed(self.random_state)
            check_integer("draws", self.draws, 1)
            check_integer("thin", self.thin, 1)
            cells = self._cells(network, X, reset=True)
            if isinstance(self.network, Network):
                self._sample(network, cells, seed, executor)
            else:
                self._grow(network, cells, seed, executor)
            self._seed = seed
        return self

    def _example(self) -> Network:
        """The network, or the smallest that a function gives, checked before any work."""
        if self.network is None:
            raise DataError(
                "network=None: give a pgbn.Network, such as pgbn.zoo.pfa(20), or a function from "
                "widths to one, such as pgbn.zoo.pgbn"
            )
        if not isinstance(network := self.network, Network):
            network = Family(network).example(read_depth(self))
        self._check(network)
        return network

    def _check(self, network: Network) -> None:
        """The network has one matrix of data, rows of its own, and the features."""
        if len(network.observed) > 1:
            raise DataError(
                f"network: it has the observed nodes {', '.join(network.observed)}, and X is the "
                "data of one; use its own verbs, net.sample and net.infer"
            )
        axes = network[network.observed[0]].axes
        if len(axes) != 2 or not isinstance(self.rows, str) or self.rows not in axes:
            raise DataError(
                f"rows={self.rows!r}: X is a matrix, and {network.observed[0]} has the dims "
                f"{axes}; give rows= one of two dims"
            )
        row_network(network, self.rows)
        self._feature_node(network)

    def _feature_node(self, network: Network) -> str:
        """The node whose values are the features: the scores of the first layer, if none is asked
        for."""
        known = [name for name in network.latent if self.rows in network[name].axes]
        if self.features is None:
            layers = layers_above(network, network.observed[0])
            if not layers or layers[0].scores not in known:
                raise DataError(
                    f"features=None: no layer of scores was found; give one of {', '.join(known)}"
                )
            return layers[0].scores
        if not isinstance(self.features, str) or self.features not in known:
            raise DataError(
                f"features={self.features!r}: no latent node of this name has the dim "
                f"{self.rows!r}.{did_you_mean(str(self.features), known)}"
            )
        return self.features

    def _cells(self, network: Network, X: Any, reset: bool = False) -> Cells:
        """X as the data of the observed node, which errors call X."""
        node = only_data_node(network)
        X = validate_documents(self, X, reset, dims=(self.rows, self._columns(network)))
        return read_array(node, X if node.axes[0] == self.rows else X.T)

    def _columns(self, network: Network) -> str:
        """The dim of the data that the columns of X are."""
        return next(dim for dim in network[network.observed[0]].axes if dim != self.rows)

    def _sample(self, network: Network, cells: Cells, seed: int, executor: Executor) -> None:
        shared, further = global_nodes(network, [self.rows]), self._further(network)
        found = network.sample(
            {network.observed[0]: cells}, self.burn_in, self.draws, self.thin, seed=seed,
            executor=executor, keep=[*shared, *further], progress=False,
        )  # fmt: skip
        draws = {name: found[name][0] for name in shared}
        means = {name: found.mean(name) for name in (*shared, *further)}
        self._keep_draws(network, draws, means)

    def _grow(self, network: Network, cells: Cells, seed: int, executor: Executor) -> None:
        family: Any = self.network
        depth = read_depth(self)
        self.training_ = train_layerwise(
            {network.observed[0]: cells}, self.max_width, depth, family=family,
            burn_in=self.burn_in, sweeps=self.draws * self.thin, keep_draws=self.draws,
            min_width=self.min_width, seed=seed, executor=executor, progress=False,
        )  # fmt: skip
        grown = self.training_.deepest
        if grown.depth < depth:
            message = f"the network has {grown.depth} of {depth} layers: {self.training_.stopped}"
            if self.features is not None and self.features not in grown.network.latent:
                raise DataError(f"features={self.features!r}: {message}; give a smaller min_width")
            notify(message)
        further = {name: grown.state[name] for name in self._further(grown.network)}
        self._keep_draws(grown.network, dict(grown.draws), {**grown.means, **further})

    def _further(self, network: Network) -> list[str]:
        """The nodes of rows, other than the features, in the slots of the data."""
        names = nodes_in_slots(network, network.observed[0])
        own = self._feature_node(network)
        return [name for name in names if self.rows in network[name].axes and name != own]

    def _keep_draws(
        self,
        network: Network,
        draws: dict[str, NDArray[np.float64]],
        means: dict[str, NDArray[np.float64]],
    ) -> None:
        """What `fit` leaves in the estimator, or a folder brings back."""
        self.network_, self.draws_ = network, draws
        self.means_ = {}
        for name, mean in means.items():
            axes = network[name].axes
            if self.rows in axes:
                mean = mean.mean(axis=axes.index(self.rows), keepdims=True)
            self.means_[name] = mean

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    if not TYPE_CHECKING:  # it would hide unknown attributes from type checkers

        def __getattr__(self, name: str) -> Any:
            """No attribute: an error that says what to write instead."""
            own = {word: each for word, each in _METHODS.items() if hasattr(type(self), each)}
            calls = {word: f"model.{each}(…)" for word, each in own.items()}
            raise missing_attribute(self, name, calls)

    @validated
    def save(self, path: str | Path) -> None:
        """Write the estimator to a folder, as `pgbn.save` does.

        Parameters
        ----------
        path : str or Path
            The folder. Its old content stays complete until the new content is on the disk.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> model = pgbn.PGBN(4, 1, burn_in=20, sweeps=10, random_state=0).fit(X)
        >>> model.save("model")
        >>> pgbn.load("model").widths_ == model.widths_
        True
        """
        save(self, path)

    # ---- using ------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """The posterior means of the features of each row, given the draws of the rest.

        A row gets the same features in any batch: its random stream is keyed by its content.

        Parameters
        ----------
        X : rows × columns
            New data, with the columns of `fit`.

        Returns
        -------
        numpy.ndarray
            Rows × everything else that the features have.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> few = dict(burn_in=5, draws=3, thin=1, transform_burn_in=5, transform_draws=5)
        >>> model = pgbn.NetworkTransformer(pgbn.zoo.pfa(2), random_state=0, **few).fit(X)
        >>> model.transform(X).shape
        (20, 2)
        """
        check_is_fitted(self)
        cells = self._cells(self.network_, X)
        name = self._feature_node(self.network_)
        return self._flat(name, self._infer(cells, [name])[name])

    def _infer(self, cells: Cells, nodes: list[str]) -> Any:
        network = self.network_
        return network.infer(
            {network.observed[0]: cells}, given=self.draws_, rows=self.rows, nodes=nodes,
            **self._rows(),
        )  # fmt: skip

    def _chain(self) -> dict[str, Any]:
        """How rows are sampled, by threads of this process."""
        return read_sweeps(self) | {"seed": self._seed, "threads": read_executor(self).workers}

    def _rows(self) -> dict[str, Any]:
        """The same where rows are all that is sampled: workers of another memory take part."""
        found, executor = self._chain(), read_executor(self)
        if executor.spreads_rows:
            found["executor"] = executor
            del found["threads"]
        return found

    def _flat(self, name: str, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows × everything else."""
        axis = self.network_[name].axes.index(self.rows)
        return np.moveaxis(value, axis, 0).reshape(value.shape[axis], -1)

    def _feature_shape(self) -> list[int]:
        """The sizes of the other dims of the features."""
        sizes = dict(self.network_.sizes)
        for name, value in self.means_.items():
            sizes |= dict(zip(self.network_[name].axes, value.shape, strict=True))
        axes = self.network_[self._feature_node(self.network_)].axes
        return [sizes[dim] for dim in axes if dim != self.rows]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns of `transform`: theta_0, theta_1, …

        Parameters
        ----------
        input_features : ignored
            For scikit-learn.

        Returns
        -------
        numpy.ndarray of str
            A name for each column.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> few = dict(burn_in=5, draws=3, thin=1, transform_burn_in=5, transform_draws=5)
        >>> model = pgbn.NetworkTransformer(pgbn.zoo.pfa(2), random_state=0, **few).fit(X)
        >>> list(model.get_feature_names_out())
        ['theta1_0', 'theta1_1']
        """
        check_is_fitted(self)
        name = self._feature_node(self.network_)
        places = np.ndindex(*self._feature_shape())
        return np.array(["_".join((name, *map(str, place))) for place in places], object)

    def inverse_transform(self, Z: Any) -> NDArray[np.float64]:
        """The rates of the data that features stand for.

        What all rows share is at its posterior mean. What else belongs to a row is at its mean over
        the rows of `fit`.

        Parameters
        ----------
        Z : rows × features
            Features as `transform` gives them.

        Returns
        -------
        numpy.ndarray
            Rows × columns of X.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> few = dict(burn_in=5, draws=3, thin=1, transform_burn_in=5, transform_draws=5)
        >>> model = pgbn.NetworkTransformer(pgbn.zoo.pfa(2), random_state=0, **few).fit(X)
        >>> model.inverse_transform(model.transform(X)).shape
        (20, 4)
        """
        check_is_fitted(self)
        with blaming("Z"):
            features = check_array(Z, dtype=np.float64, input_name="Z")
        shape, name = self._feature_shape(), self._feature_node(self.network_)
        if features.shape[1] != np.prod(shape, dtype=int):
            raise DataError(
                f"Z: features have {features.shape[1]} columns; {name} has "
                f"{' × '.join(map(str, shape))}"
            )
        axis = self.network_[name].axes.index(self.rows)
        value = np.moveaxis(features.reshape(-1, *shape), 0, axis)
        values = self._values(len(features)) | {name: value}
        observed = self.network_.observed[0]
        sizes = {self.rows: len(features), self._columns(self.network_): self.n_features_in_}
        rates = expected_rates(self.network_, observed, sizes, values)
        return rates if self.network_[observed].axes[0] == self.rows else rates.T

    def _values(self, rows: int) -> dict[str, NDArray[np.float64]]:
        """The means of the other nodes of rows in the slots of the data, for so many rows."""
        network, out = self.network_, {}
        for name in nodes_in_slots(network, network.observed[0]):
            if name in self.means_:
                value, axes = self.means_[name], network[name].axes
                if self.rows in axes:
                    value = np.repeat(value, rows, axis=axes.index(self.rows))
                out[name] = value
        return out

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of a row, given the posterior means of what it depends on.

        Parameters
        ----------
        X : rows × columns
            Data with the columns of `fit`.
        y : ignored
            For scikit-learn.

        Returns
        -------
        float
            Larger is better.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> few = dict(burn_in=5, draws=3, thin=1, transform_burn_in=5, transform_draws=5)
        >>> model = pgbn.NetworkTransformer(pgbn.zoo.pfa(2), random_state=0, **few).fit(X)
        >>> model.score(X) > -20
        True
        """
        check_is_fitted(self)
        network, name = self.network_, self.network_.observed[0]
        cells = self._cells(network, X)
        nodes = nodes_in_slots(network, name)
        own = [each for each in nodes if self.rows in network[each].axes]
        found = self._infer(cells, own)
        values = {each: found[each] if each in own else self.means_[each] for each in nodes}
        program = _at(network, {name: cells}, {}, values)
        return float(log_density(program, name)[0]) / program.sizes[self.rows]

    def to_arviz(self) -> Any:
        """``draws_`` as ArviZ takes them. Needs the extra ``pgbn[arviz]``.

        Returns
        -------
        xarray.DataTree
            The group "posterior". The names of the columns of X are coordinates.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> few = dict(burn_in=5, draws=3, thin=1, transform_burn_in=5, transform_draws=5)
        >>> model = pgbn.NetworkTransformer(pgbn.zoo.pfa(2), random_state=0, **few).fit(X)
        >>> sorted(model.to_arviz())
        ['posterior']
        """
        check_is_fitted(self)
        names = {}
        if hasattr(self, "feature_names_in_"):
            names[self._columns(self.network_)] = list(self.feature_names_in_)
        return kept_tree(self.network_, self.draws_, names)

    def __init_subclass__(cls, **options: Any) -> None:
        """Show the parameters of ``__init__`` but for ``**settings``, which scikit-learn would take
        for one of them."""
        super().__init_subclass__(**options)
        own = inspect.signature(cls.__init__)
        shown = [each for each in own.parameters.values() if each.kind != each.VAR_KEYWORD]
        cls.__signature__ = own.replace(parameters=shown[1:])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
