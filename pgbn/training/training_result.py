"""LayerwiseTraining: the networks of a training, from one layer to the deepest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import validated
from pgbn.errors import DataError

if TYPE_CHECKING:
    from pgbn.engine.rows.new_rows import NewRows
    from pgbn.samplers.executor import Executor
    from pgbn.training.trained import TrainedNetwork
from pgbn.training.topic_methods import TopicMethods

# ---- methods of folders above -------------------------------------------------------------------
#
# Functions of folders above that training uses: the report, a summary in Jupyter, perplexity.


def completion_of(model: Any, X: Any, sweeps: int = 50) -> float:
    """The perplexity of one half of the tokens of each document, given the other half."""
    from pgbn.evaluation import HeldOut

    return HeldOut.of_model(model, X, burn_in=sweeps, draws=sweeps).perplexity()


class FittedModel:
    """What a trained network and a layer-wise training have in common.

    A training stands for its deepest network.
    """

    @validated
    def save(self, path: str | Path) -> None:
        """Write the model to a folder, as `pgbn.save` does.

        Parameters
        ----------
        path : str or Path
            The folder. Its old content stays complete until the new content is on the disk.

        Examples
        --------
        >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
        >>> training = pgbn.train_layerwise(X, 4, 1, burn_in=5, sweeps=5, progress=False)
        >>> training.save("model")
        >>> pgbn.load("model").widths == training.widths
        True
        """
        from pgbn.storage.folders import save

        save(self, path)

    @validated
    def infer(
        self,
        X: Any,
        *,
        layers: int | Iterable[int] | None = None,
        burn_in: int = 500,
        draws: int = 500,
        seed: int = 0,
        threads: int | None = None,
        executor: Executor | None = None,
        terms: Sequence[str] | Mapping[str, int] | None = None,
        vocabulary: Sequence[str] | Mapping[str, int] | None = None,
        units: bool = True,
    ) -> NewRows:
        """Infer the topic weights of documents: p(θ, c | X, Φ, r), by Gibbs sampling.

        A document gets the same result in any batch, in any order, on any number of threads: its
        random stream depends on the seed and its counts. If training kept draws (``keep_draws``),
        each of them runs its own chain, with its share of the sweeps (a burn-in of at least 10).
        Means and standard deviations are then over Φ and r too.

        Parameters
        ----------
        X : documents × terms, sparse or dense
            Columns beyond the vocabulary, and terms that no topic has, are dropped with a warning.
        layers : int or list of int, optional
            Layers to infer, numbered from 1. All by default.
        burn_in, draws : int
            Sweeps before draws are used, and draws.
        seed : int
            The seed of the random streams.
        threads : int, optional
            Threads of this process; all cores by default.
        executor : Executor, optional
            Where documents are worked on, such as `pgbn.Ray`, in place of ``threads``.
        terms : list of str, or dict from names to columns, optional
            Names of the columns of X: columns are then matched by name. A data frame, or an
            ``xarray.DataArray`` with labels along term, has its own.
        vocabulary : list of str, or dict from names to columns, optional
            Names of the model's columns; by default those that it was trained or saved with.
        units : bool
            False keeps the proportions θ/θ_· only, not θ itself.

        Returns
        -------
        NewRows
            Means and standard deviations by node: ``found["theta1"]``,
            ``found.proportions["theta1"]``, ``found.features(1)``. Its ``attributes`` have
            ``unknown_terms`` and ``unknown_tokens``.

        Examples
        --------
        >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
        >>> training = pgbn.train_layerwise(X, 4, 1, burn_in=5, sweeps=5, progress=False)
        >>> found = training.infer(X[:3], burn_in=5, draws=10)
        >>> found.proportions["theta1"].sum(axis=1).round(6)
        array([1., 1., 1.])
        """
        from pgbn.training.new_rows import infer
        from pgbn.training.trained import trained_network

        return infer(
            trained_network(self), X, layers=layers, burn_in=burn_in, draws=draws, seed=seed,
            threads=threads, executor=executor, terms=terms, vocabulary=vocabulary, units=units,
        )  # fmt: skip

    @validated
    def transform(
        self,
        X: Any,
        out: str | Path | None = None,
        *,
        layer: int | None = 1,
        burn_in: int = 100,
        draws: int = 100,
        seed: int = 0,
        dtype: str | None = None,
        threads: int | None = None,
        executor: Executor | None = None,
        progress: bool = False,
        callback: Callable[[int, int], None] | None = None,
    ) -> NDArray[Any]:
        """The mean topic proportions θ/θ_· of documents, in memory or written to a file.

        A file is written block by block, so the documents may be a corpus that is larger than
        memory. If the call is stopped or killed, the same call continues, and the result is
        bit-identical to that of a call without a stop.

        Parameters
        ----------
        X : Corpus, or documents × terms
            Columns are matched by name if X and the model have names.
        out : str or Path, optional
            The .npy file to write. Without it, the array is in memory.
        layer : int or None
            One layer, or None for all layers side by side.
        burn_in, draws : int
            Sweeps before draws are used, and draws.
        seed : int
            The seed of the random streams.
        dtype : "float32" or "float64", optional
            By default float64 in memory and float32 in a file.
        threads : int, optional
            Threads of this process; all cores by default.
        executor : Executor, optional
            Where documents are worked on, in place of ``threads``.
        progress : bool
            Print how many documents are done, every few seconds.
        callback : function of (done, total), optional
            Called after each block of documents.

        Returns
        -------
        numpy.ndarray
            A row for each document; with ``out``, an array on the disk.

        Examples
        --------
        >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
        >>> training = pgbn.train_layerwise(X, 4, 1, burn_in=5, sweeps=5, progress=False)
        >>> rows = training.transform(X, burn_in=5, draws=5)
        >>> rows.shape == (20, training.widths[0])
        True
        >>> np.allclose(training.transform(X, "rows.npy", burn_in=5, draws=5), rows)
        True
        """
        from pgbn.training.streamed import transform

        return transform(
            self, X, out, layer=layer, burn_in=burn_in, draws=draws, seed=seed, dtype=dtype,
            threads=threads, executor=executor, progress=progress, callback=callback,
        )  # fmt: skip

    def merge(self, groups: Iterable[Any], layer: int = 1) -> TrainedNetwork:
        """Merge topics that say the same.

        The units of every document, the expected count of every term and the weight of a group in
        all topics above do not change. The state is merged too: train the result for a few more
        sweeps with ``train_layerwise(…, start_from=merged)``, so that all layers adapt.

        Parameters
        ----------
        groups : list of groups of topics
            ``[(3, 7), (1, 4, 9)]``, or what `pgbn.evaluation.similar_topics` finds. Groups that
            share a topic are joined.
        layer : int
            The layer of these topics.

        Returns
        -------
        TrainedNetwork
            The network in which each group is one topic, in the place of its first topic and with
            the labels of all its topics.

        Examples
        --------
        >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
        >>> training = pgbn.train_layerwise(X, 4, 1, burn_in=5, sweeps=5, progress=False)
        >>> training.widths[0] - training.merge([(0, 1)]).widths[0]
        1
        """
        from pgbn.training.merging import merge_topics

        return merge_topics(self, groups, layer)

    def report(self, path: str | Path = "report.html", X: Any = None, **options: Any) -> Path:
        """Write the HTML report.

        Parameters
        ----------
        path : str or Path
            The file.
        X : documents × terms, optional
            With documents the report has a map of them.
        **options
            Those of `pgbn.report.report_data`, among them ``vocabulary``, ``names``, ``texts``,
            ``dates``, ``classes``, ``held_out``, ``relevance`` and ``coords``.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
        >>> training = pgbn.train_layerwise(X, 4, 1, burn_in=5, sweeps=5, progress=False)
        >>> training.report("report.html").name
        'report.html'
        """
        from pgbn.report import write_report

        return write_report(self, path, X, **options)

    def to_arviz(self) -> Any:
        """The draws that training kept (``keep_draws``), as ArviZ takes them.

        The names of the terms are coords. It needs the extra ``pgbn[arviz]``.

        Examples
        --------
        >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
        >>> settings = dict(burn_in=5, sweeps=5, keep_draws=5, progress=False)
        >>> tree = pgbn.train_layerwise(X, 4, 1, **settings).to_arviz()
        >>> tree.posterior["phi1"].dims[:2]
        ('chain', 'draw')
        """
        from pgbn.evaluation.inference_data import kept_data

        return kept_data(self)

    def _repr_html_(self) -> str | None:
        from pgbn.report.page import summary_html
        from pgbn.training.trained import is_belief

        # A notebook shows the `repr` of other networks.
        return summary_html(self) if is_belief(self) else None


# ---- training result ----------------------------------------------------------------------------


@dataclass(frozen=True)
class LayerwiseTraining(TopicMethods, FittedModel):
    """The networks of depth 1, 2, …, each a `TrainedNetwork`, and why training stopped.

    ``training[2]`` is the network of two layers; ``for network in training`` goes through all.

    Attributes
    ----------
    models : tuple of TrainedNetwork
        The networks.
    stopped : str
        Why training stopped.
    deepest : TrainedNetwork
        The network with the most layers.

    Examples
    --------
    >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
    >>> training = pgbn.train_layerwise(X, 4, 1, burn_in=5, sweeps=5, progress=False)
    >>> training.stopped, len(training.models)
    ('depth 1 reached', 1)
    """

    models: tuple[Any, ...]
    stopped: str

    @property
    def deepest(self) -> Any:
        """The network with the most layers, which was trained last. Only it can be trained further,
        unless ``keep_states`` was given."""
        return self.models[-1]

    @property
    def widths(self) -> tuple[int, ...]:
        """(K_1, …, K_T) of the deepest network."""
        return tuple(self.deepest.widths)

    @property
    def traces(self) -> Mapping[str, NDArray[np.float64]]:
        """The traces of the deepest network, from the start of its top layer: arrays "sweep",
        "log_likelihood" and "width", the units of that layer with counts."""
        return dict(self.deepest.traces)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.models)

    def __len__(self) -> int:
        return len(self.models)

    def __getitem__(self, depth: int) -> Any:
        """The network of ``depth`` layers."""
        for network in self.models:
            if network.depth == depth:
                return network
        known = [network.depth for network in self.models]
        raise DataError(f"there is no network of depth {depth!r}; trained depths: {known}")

    def with_vocabulary(self, names: Sequence[str] | None) -> LayerwiseTraining:
        """The same with names of the terms.

        Parameters
        ----------
        names : list of str, optional
            A name for each term; None changes nothing.

        Returns
        -------
        LayerwiseTraining
            A copy with these names.

        Examples
        --------
        >>> X = np.random.default_rng(0).poisson(1.0, (20, 12))
        >>> training = pgbn.train_layerwise(X, 4, 1, burn_in=5, sweeps=5, progress=False)
        >>> training.with_vocabulary(list("abcdefghijkl")).deepest.vocabulary[0]
        'a'
        """
        if names is None:
            return self
        named = (replace(network, vocabulary=names) for network in self.models)
        return replace(self, models=tuple(named))

    def __repr__(self) -> str:
        return f"LayerwiseTraining(widths={self.widths}, stopped={self.stopped!r})"
