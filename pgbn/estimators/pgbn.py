"""scikit-learn estimators: `PGBN`, a belief network with inferred widths, and `PFA`, its one layer.

Needs the extra ``pgbn[sklearn]``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pgbn import evaluation
from pgbn.checks import OTHER_NAMES, WIDTHS, check_integer, in_order, own_word, validated
from pgbn.engine.run.chain import stop_gently
from pgbn.engine.run.progress import Silent, choose_meter, live
from pgbn.errors import DataError, tell
from pgbn.estimators.network import NetworkTransformer
from pgbn.estimators.parameters import (
    begin_fit,
    blaming,
    check_settings,
    read_executor,
    read_layer,
    read_seed,
    read_settings,
    renaming,
    report_training,
    unchanged_on_failure,
    validate_documents,
)
from pgbn.evaluation.held_out import mean_log_density
from pgbn.evaluation.inference_data import kept_data
from pgbn.evaluation.layer_quality import SWEEPS, without_duplicates
from pgbn.evaluation.topic_words import groups_for, keyword_labels, topic_terms
from pgbn.samplers.executor import Executor
from pgbn.storage.corpus import Corpus
from pgbn.training.estimating import train_estimate
from pgbn.training.growing import Progress
from pgbn.training.layerwise import train_settings, trained_so_far
from pgbn.training.merging import merge_topics
from pgbn.training.minibatch.learner import Learner
from pgbn.training.minibatch.train import Arriving, MinibatchEvent, train_minibatch
from pgbn.training.new_rows import infer
from pgbn.training.numbering import numbered_as_in_chain
from pgbn.training.settings import Settings
from pgbn.training.topic_methods import TopicMethods
from pgbn.training.trained import Priors, TrainedNetwork, trained_network
from pgbn.training.training_result import FittedModel, LayerwiseTraining
from pgbn.zoo import layers as layers_of_zoo
from pgbn.zoo.links import get_link

_KERNELS = 5  # that the first documents compile
ROWS = layers_of_zoo.DOCUMENT


class Reporter:
    """With verbose=1 the live line of the command line, in a terminal or a notebook; elsewhere, as
    in a log, a line for every layer and phase, and from verbose=2 on one for every 50 sweeps."""

    def __init__(self, verbose: Any) -> None:
        try:
            self.verbose = int(verbose or 0)
        except (ValueError, TypeError, OverflowError):
            raise DataError(f"verbose={verbose!r} must be 0, 1 or 2") from None
        self.live = self.verbose == 1 and not isinstance(choose_meter(), Silent)

    def __call__(self, progress: Progress) -> None:
        if self.verbose < 1 or self.live:
            return
        if progress.sweep == progress.sweeps or (self.verbose > 1 and progress.sweep % 50 == 0):
            width = progress.chain.network.sizes[layers_of_zoo.topic(progress.depth)]
            where = f"{progress.phase} {progress.sweep}/{progress.sweeps}"
            tell(f"[pgbn] layer {progress.depth}, {where}, width {width}")


def _widths(settings: Settings) -> tuple[int, ...]:
    """One width for all layers, or one for each."""
    widths: int | tuple[int, ...] = settings.max_width
    return (widths,) * settings.depth if isinstance(widths, int) else widths


class _Settings:
    """The further parameters of `PGBN` and their defaults; its docstring explains them."""

    def __init__(
        self,
        *,
        eta: float | Sequence[float] = 0.05,
        sampler: str = "auto",
        min_width: int = 4,
        priors: Priors | None = None,
        keep_draws: int = 0,
        merge_duplicates: bool = True,
        transform_burn_in: int = 100,
        transform_draws: int = 100,
        learning: str = "gibbs",
        batch_size: int = 512,
        executor: Executor | None = None,
    ) -> None:
        self.eta: Any = eta
        self.sampler = sampler
        self.min_width = min_width
        self.priors = priors
        self.keep_draws = keep_draws
        self.merge_duplicates = merge_duplicates
        self.transform_burn_in = transform_burn_in
        self.transform_draws = transform_draws
        self.learning = learning
        self.batch_size = batch_size
        self.executor = executor


def _defaults(cls: type) -> dict[str, Any]:
    """The parameters of a class by name, with their defaults."""
    named = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    return {each.name: each.default for each in named if each.kind != each.VAR_KEYWORD}


class PGBN(NetworkTransformer, TopicMethods, _Settings):
    """Poisson gamma belief network, trained layer by layer; a transformer of documents × terms.

    Parameters
    ----------
    max_width : int or sequence of int
        The largest number of topics of each layer: (80, 20, 6). Or one number for the first layer;
        each further layer then begins as wide as the one below, as in the paper.
    depth : int, optional
        The largest number of layers. By default as many as ``max_width`` has numbers, or 3 for one
        number.
    burn_in, sweeps : int or sequence of int
        Sweeps before and after pruning, for all layers or for each.
    link : str
        "poisson" for counts, "bernoulli" for 0/1, "gamma" for reals of at least 0, the name of a
        link of your own, or "auto": Poisson if all data are integers, else gamma.
    layer : int or None
        The layer whose topic proportions θ/θ_· `transform` returns; None for all layers side by
        side.
    n_jobs : int, optional
        Threads. None means 1; -1 means as many as the environment variable PGBN_THREADS says, else
        all cores. The results do not depend on it.
    random_state : int, numpy.random.RandomState or None
        The seed.
    verbose : int
        1 shows a live line, 2 prints a line for every 50 sweeps.
    warm_start : bool
        A second `fit` on the same data adds the layers that are missing. If none is, or if
        ``min_width`` allows none, it trains ``sweeps`` sweeps more.
    **settings
        Further parameters, which few models need. They work in `get_params` and `set_params` as
        the others do:

        - ``eta`` (0.05): the Dirichlet parameter of the topics, one number or one for each layer.
        - ``sampler`` ("auto"): the sampler of the first layer, see `pgbn.Network.chain`.
        - ``min_width`` (4): training stops early, with a warning, at a layer of at most this many
          topics.
        - ``priors`` (None): a `pgbn.Priors`; by default those of the paper.
        - ``keep_draws`` (0): draws of Φ and r to keep. `transform`, `perplexity` and `score`
          average over them: 20 draws predict better than one Φ.
        - ``merge_duplicates`` (True): merge topics of upper layers that share six of their ten
          leading terms, if ``max_width`` has a number for each layer, and train 50 sweeps more.
        - ``transform_burn_in``, ``transform_draws`` (100): sweeps for the topic weights of a
          document.
        - ``learning`` ("gibbs"): or "estimate", for a point estimate of all layers at once, by at
          most ``sweeps`` sweeps of expectations; another `fit` with ``learning="gibbs"`` and
          ``warm_start`` continues from it. Or "minibatch", for `pgbn.train_minibatch` with
          ``burn_in`` + ``sweeps`` steps on ``batch_size`` (512) documents each; all layers then
          have the widths of ``max_width``.
        - ``executor`` (None): where `fit` works on rows, such as `pgbn.Disk`, in place of
          ``n_jobs``.

    Attributes
    ----------
    components_ : numpy.ndarray
        Φ^(1), (K_1, terms); rows sum to one.
    widths_ : tuple of int
        (K_1, …, K_T).
    models_ : tuple of TrainedNetwork
        The trained networks of 1 … T layers.
    training_ : LayerwiseTraining
        The same with the reason why training stopped.

    Examples
    --------
    >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
    >>> few = dict(burn_in=20, sweeps=10, transform_burn_in=10, transform_draws=10)
    >>> model = pgbn.PGBN((4, 2), min_width=1, random_state=0, **few).fit(X)
    >>> model.transform(X).shape == (20, model.widths_[0])
    True
    >>> model.get_feature_names_out()[0]
    'layer1_topic0'
    """

    _SETTINGS: ClassVar[Mapping[str, Any]] = _defaults(_Settings)

    def __init__(
        self,
        max_width: int | Sequence[int] = WIDTHS,
        depth: int | None = None,
        *,
        burn_in: int | Sequence[int] = 300,
        sweeps: int | Sequence[int] = 200,
        link: str = "auto",
        layer: int | None = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        **settings: Any,
    ) -> None:
        self.max_width = max_width
        self.depth = depth
        self.burn_in = burn_in
        self.sweeps = sweeps
        self.link = link
        self.layer = layer
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self._set(settings)

    def _set(self, settings: dict[str, Any]) -> None:
        """Take the further parameters. A name that other packages give the number of topics gets an
        error with our own."""
        own, kind = self._width_name, type(self).__name__
        for name, value in settings.items():
            if name in OTHER_NAMES:
                many = f"; or {own}=(100, 30, 10), one for each layer" if own == "max_width" else ""
                raise TypeError(
                    f"{kind}() has no argument {name!r}: give the number of topics, at most, as "
                    f"{own}={value!r}{many}"
                )
            if name not in self._SETTINGS:
                known = own_word(name, self._get_param_names()[::-1])
                raise TypeError(f"{kind}() has no argument {name!r}.{known}")
        _Settings.__init__(self, **settings)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted({*super()._get_param_names(), *cls._SETTINGS})

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """The parameters that are not at their defaults."""
        defaults = {**self._SETTINGS, **_defaults(type(self))}
        shown = [
            f"{name}={value!r:.100}"
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(shown)})"[:N_CHAR_MAX]

    def _repr_html_inner(self) -> str:
        """The topics of a fitted model; scikit-learn's diagram of others."""
        shown = self.training_._repr_html_() if hasattr(self, "training_") else None
        return shown or str(super()._repr_html_inner())

    # ---- fitting --------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on documents × terms.

        Ctrl-C, SIGTERM and SIGHUP stop after the sweep with a `KeyboardInterrupt`. The estimator
        then keeps what was trained, and another `fit` with ``warm_start`` continues from there. If
        it fails, the estimator is what it was before.

        Parameters
        ----------
        X : documents × terms
            The data, sparse or dense, or a `pgbn.Corpus`. Topics are listed with the terms of a
            corpus or a data frame.
        y : ignored
            For scikit-learn.

        Returns
        -------
        PGBN
            The estimator itself.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> few = dict(burn_in=20, sweeps=10, transform_burn_in=10, transform_draws=10)
        >>> model = pgbn.PGBN((4, 2), min_width=1, random_state=0, **few).fit(X)
        >>> model.components_.shape == (model.widths_[0], 4)
        True
        """
        with unchanged_on_failure(self):
            check_settings(self)
            self._terms = X.vocabulary if isinstance(X, Corpus) else None
            if self.learning == "minibatch":
                self._fit_minibatches(X)
                return self
            again = bool(self.warm_start) and hasattr(self, "training_")
            X = validate_documents(self, X, reset=not again)
            settings, networks, full = begin_fit(self, X, again)
            if self.learning == "estimate" and not again:
                self._keep(train_estimate(X, settings, read_executor(self).workers))
                return self
            training = self._train(X, settings, networks)
            if self.merge_duplicates and not isinstance(settings.max_width, int):
                training = without_duplicates(
                    training, lambda merged: self._sweep(X, merged, SWEEPS)
                )
            self._keep(replace(training, stopped=full) if full else training)
        report_training(self, X)
        return self

    def _train(
        self, X: Any, settings: Settings, networks: Sequence[TrainedNetwork]
    ) -> LayerwiseTraining:
        reporter, executor = Reporter(self.verbose), read_executor(self)
        names = renaming("max_width", self._width_name), renaming("start_from", "warm_start")
        with stop_gently() as stop, names[0], names[1]:

            def each(event: Progress) -> None:
                reporter(event)
                if stop.requested:
                    done = trained_so_far(event, settings, executor)
                    self._keep(done)
                    raise stop.interrupted(
                        f"{done.stopped}; the estimator keeps what was trained, and "
                        "set_params(warm_start=True).fit(X) continues from there"
                    )

            return train_settings(settings, X, networks, callback=each,
                                  executor=executor, progress=reporter.live)  # fmt: skip

    def _keep(self, training: LayerwiseTraining) -> None:
        """What `fit` leaves in the estimator, or a folder brings back."""
        if training.deepest.vocabulary is None:  # names that a model was saved with come first
            names = getattr(self, "feature_names_in_", None)  # of a data frame
            names = getattr(self, "_terms", None) if names is None else names  # of a Corpus
            training = training.with_vocabulary(names)
        self.training_ = training
        self.models_: tuple[TrainedNetwork, ...] = training.models
        self.widths_ = training.widths
        self.components_ = training.deepest.phi[0]
        self.n_iter_ = training.deepest.sweeps
        self._arriving: Arriving | None = None  # the learner of `partial_fit`

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "training_")

    # ---- some documents at a time ---------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents that arrive later, in addition to those seen so far.

        A step is made for every ``batch_size`` of them. It continues from `fit`. Without a `fit`,
        the first documents are sampled by Gibbs, and the widths are those of ``max_width``.

        Parameters
        ----------
        X : documents × terms
            The new documents.
        y : ignored
            For scikit-learn.

        Returns
        -------
        PGBN
            The estimator itself.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> model = pgbn.PGBN((3, 2), random_state=0).partial_fit(X[:10]).partial_fit(X[10:])
        >>> model.training_.stopped
        '20 documents seen'
        """
        with unchanged_on_failure(self):
            check_settings(self)
            fitted = hasattr(self, "training_")
            X = sp.csr_array(validate_documents(self, X, reset=not fitted))
            arriving: Arriving | None = getattr(self, "_arriving", None)
            if arriving is None and fitted:
                settings = read_settings(self, X, read_seed(self.random_state))
                arriving = self._arriving_after_fit(settings)
            elif arriving is None:
                settings, _, _ = begin_fit(self, X)
                network = settings.grown.network(_widths(settings))
                learner = Learner(network, ROWS, settings.seed, executor=read_executor(self))
                arriving = Arriving(learner, settings, int(self.batch_size))
            trained = arriving.learn(X)
            self._keep(LayerwiseTraining((trained,), f"{arriving.seen} documents seen"))
            self._arriving = arriving
        return self

    def _arriving_after_fit(self, settings: Settings) -> Arriving:
        """A learner at the last state of the chain, with steps as short as after so many sweeps,
        which has seen the documents of `fit`."""
        network = numbered_as_in_chain(self.training_.deepest)
        learner = Learner(network.network, ROWS, self._seed, executor=read_executor(self))
        scores = layers_of_zoo.theta(1)
        if not {*learner.roles.shared, scores} <= set(network.state):
            raise DataError(
                "partial_fit: the state of this model was not kept (a file of a training on "
                "minibatches has none); begin with partial_fit, or fit anew"
            )
        learner.values = {n: np.array(network.state[n], order="C") for n in learner.roles.shared}
        learner.steps = network.sweeps
        return Arriving(learner, settings, int(self.batch_size), len(network.state[scores]))

    def _fit_minibatches(self, X: Any) -> None:
        """Train on minibatches of a corpus, which may be larger than memory, or of a matrix."""
        if self.warm_start:
            raise DataError("warm_start=True: for learning='gibbs'; partial_fit learns from more")
        if isinstance(X, Corpus):
            self.n_features_in_ = X.shape[1]
        else:
            X = validate_documents(self, X, reset=True)
        settings, _, _ = begin_fit(self, X.block(0) if isinstance(X, Corpus) else X)
        if len(set(settings.burn_in)) > 1 or len(set(settings.sweeps)) > 1:
            raise DataError("burn_in, sweeps: one number of steps, as all layers learn together")
        burn_in, sweeps = settings.burn_in[0], settings.sweeps[0]
        last: list[MinibatchEvent] = []
        network = train_minibatch(
            X, _widths(settings), eta=settings.eta, link=settings.link, priors=self.priors,
            batch_size=self.batch_size, steps=burn_in + sweeps, average=sweeps,
            keep_draws=self.keep_draws, seed=settings.seed, threads=read_executor(self).workers,
            progress=bool(self.verbose), callback=last.append,
        )  # fmt: skip
        self._keep(LayerwiseTraining((network,), f"{burn_in + sweeps} minibatches"))
        size = int(self.batch_size)
        self._arriving = Arriving(last[-1].learner, settings, size, X.shape[0])

    # ---- fewer topics ---------------------------------------------------------------

    def merge(self, X: Any, groups: Iterable[Any], layer: int = 1, sweeps: int = 50) -> Self:
        """Merge the topics of each group, and train some sweeps more.

        Only the deepest network is merged and kept. It is saved, and continues with ``warm_start``,
        as any other; see `pgbn.TrainedNetwork.merge` for what stays as it was. If there is nothing
        to merge, all stays as it is.

        Parameters
        ----------
        X : documents × terms
            The documents of `fit`.
        groups : list of groups of topics
            ``[(3, 7), (1, 4)]``, or ``model.similar_topics(2)`` for all duplicates.
        layer : int
            The layer of these topics.
        sweeps : int
            Sweeps of training after the merge; with 0 the topics are merged only.

        Returns
        -------
        PGBN
            The estimator itself.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> model = pgbn.PGBN(4, 1, burn_in=20, sweeps=10, random_state=0).fit(X)
        >>> width = model.widths_[0]
        >>> width - model.merge(X, [(0, 1)], sweeps=5).widths_[0]
        1
        """
        check_is_fitted(self)
        sweeps = check_integer("sweeps", sweeps, 0)
        with unchanged_on_failure(self):
            X = validate_documents(self, X, reset=False)
            merged = merge_topics(self.training_, groups, layer)
            before, after = self.training_.widths, merged.widths
            if before == after:
                return self
            trained = self._sweep(X, merged, sweeps) if sweeps else merged
            reason = f"{self.training_.stopped}; {before[layer - 1]} topics of layer {layer} were "
            reason += f"merged to {after[layer - 1]}"
            self._keep(LayerwiseTraining((trained,), reason))
        return self

    def reduce(self, X: Any, to: int, layer: int = 1, sweeps: int = 50) -> Self:
        """Merge the topics of a layer that are most alike until ``to`` are left.

        Parameters
        ----------
        X : documents × terms
            The documents of `fit`.
        to : int
            How many topics remain.
        layer : int
            The layer of the topics.
        sweeps : int
            Sweeps of training after the merge.

        Returns
        -------
        PGBN
            The estimator itself.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> model = pgbn.PGBN(4, 1, burn_in=20, sweeps=10, random_state=0).fit(X)
        >>> model.reduce(X, to=2, sweeps=5).widths_
        (2,)
        """
        check_is_fitted(self)
        return self.merge(X, groups_for(self.training_, to, layer), layer, sweeps)

    def _sweep(self, X: Any, merged: TrainedNetwork, sweeps: int) -> TrainedNetwork:
        """Some sweeps more, which keep the widths."""
        settings = Settings(
            max(merged.widths), merged.depth, burn_in=1, sweeps=sweeps, link=merged.link,
            seed=self._seed, sampler=self.sampler, min_width=self.min_width, start=merged,
            keep_draws=min(self.keep_draws, sweeps),
        )  # fmt: skip
        trained: TrainedNetwork = self._train(X, settings, (merged,)).deepest
        return trained

    # ---- features -------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """The posterior means of the topic proportions θ/θ_· of each document.

        A document gets the same features in any batch: its random stream is keyed by its content.

        Parameters
        ----------
        X : documents × terms
            With the terms of `fit`, in their order.

        Returns
        -------
        numpy.ndarray or data frame
            Documents × topics of ``layer``, or of all layers side by side if it is None. Column k
            is topic k of the layer.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> few = dict(burn_in=20, sweeps=10, transform_burn_in=10, transform_draws=10)
        >>> model = pgbn.PGBN((4, 2), min_width=1, random_state=0, **few).fit(X)
        >>> model.transform(X).shape == (20, model.widths_[0])
        True
        >>> model.set_params(layer=None).transform(X).shape == (20, sum(model.widths_))
        True
        """
        check_is_fitted(self)
        layer = read_layer(self)
        X = self._documents(X)
        with live(self.verbose == 1, _KERNELS):
            rows = infer(self.training_.deepest, X, layers=layer, units=False, **self._rows())
        return rows.features(layer)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns of `transform`: layer1_topic0, layer1_topic1, …

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
        >>> model = pgbn.PGBN(4, 1, burn_in=20, sweeps=10, random_state=0).fit(X)
        >>> model.get_feature_names_out()[0]
        'layer1_topic0'
        """
        check_is_fitted(self)
        chosen = read_layer(self)
        return np.array(
            [
                f"layer{layer}_topic{k}"
                for layer, width in enumerate(self.widths_, 1)
                if chosen in (None, layer)
                for k in range(width)
            ],
            object,
        )

    def inverse_transform(self, Z: Any) -> NDArray[np.float64]:
        """The term proportions Ψ^(t) θ^(t)/θ^(t)_· that features stand for.

        Parameters
        ----------
        Z : documents × topics
            Features as `transform` gives them. Of all layers side by side, the first is taken.

        Returns
        -------
        numpy.ndarray
            Documents × terms; rows sum to one.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> few = dict(burn_in=20, sweeps=10, transform_burn_in=10, transform_draws=10)
        >>> model = pgbn.PGBN((4, 2), min_width=1, random_state=0, **few).fit(X)
        >>> model.inverse_transform(model.transform(X)).shape
        (20, 4)
        """
        check_is_fitted(self)
        layer = read_layer(self)
        others = [dim for dim in getattr(Z, "dims", ()) if dim != "doc"]
        Z = in_order("Z", ("doc", *others) if len(others) == 1 else ("doc", "topic"), Z)
        with blaming("Z"):
            features = check_array(Z, dtype=np.float64, input_name="Z")
        chosen = layer or 1
        width = self.widths_[chosen - 1]
        expected = sum(self.widths_) if layer is None else width
        if features.shape[1] != expected:
            which = "all layers together have" if layer is None else f"layer {layer} has"
            raise DataError(
                f"Z has {features.shape[1]} columns, but {which} {expected} topics; give the topic "
                "weights that transform returns"
            )
        if features.min() < 0:
            raise DataError(
                f"Z has the value {features.min():g}; topic weights are at least 0, as transform "
                "returns them"
            )
        return np.asarray(features[:, :width] @ topic_terms(self.training_.deepest, chosen))

    def _documents(self, X: Any) -> Any:
        """New documents, of the terms that it was fitted on."""
        check_is_fitted(self)
        return validate_documents(self, X, reset=False)

    # ---- scores ---------------------------------------------------------------------

    @validated
    def perplexity(  # type: ignore[override]
        self, X: Any, held_out: Any = None, fraction: float = 0.5, *, train: Any = None
    ) -> float:
        """How well the model predicts words of new documents; smaller is better.

        A part of each document is seen, and the rest is predicted (document completion).

        Parameters
        ----------
        X : documents × terms
            New documents. With ``held_out``, their seen words.
        held_out : documents × terms, optional
            The other words of the same documents. By default the words of X are split at random.
        fraction : float
            The share of the words of X that is seen, if there is no ``held_out``.
        train : documents × terms, optional
            The documents of `fit`. Φ then learns from the seen words too: the chain continues over
            both for ``transform_burn_in`` and ``transform_draws`` sweeps. The estimator does not
            change.

        Returns
        -------
        float
            The perplexity per word.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> few = dict(burn_in=20, sweeps=10, transform_burn_in=10, transform_draws=10)
        >>> model = pgbn.PGBN((4, 2), min_width=1, random_state=0, **few).fit(X)
        >>> 1 < model.perplexity(X) < 4
        True
        """
        X, settings = self._documents(X), self._chain()
        if train is not None:
            settings["train"] = validate_documents(self, train, reset=False, name="train")
        if held_out is not None:
            settings["held_out"] = validate_documents(self, held_out, reset=False, name="held_out")
        named = nullcontext() if held_out is None else renaming("held_out", "held_out")
        with named:
            held = evaluation.HeldOut.of_model(
                self.training_.deepest, X, fraction=fraction, **settings
            )
        return held.perplexity()

    def score(self, X: Any, y: Any = None) -> float:
        """The score of documents; larger is better.

        Of counts it is −ln perplexity by document completion. Of other links it is the mean log
        density of a document, given the posterior means of its rates.

        Parameters
        ----------
        X : documents × terms
            New documents.
        y : ignored
            For scikit-learn.

        Returns
        -------
        float
            The score.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> few = dict(burn_in=20, sweeps=10, transform_burn_in=10, transform_draws=10)
        >>> model = pgbn.PGBN((4, 2), min_width=1, random_state=0, **few).fit(X)
        >>> -2 < model.score(X) < 0
        True
        """
        check_is_fitted(self)
        if get_link(self.link_).is_counts:
            return -float(np.log(self.perplexity(X)))
        X, model = self._documents(X), self.training_.deepest
        found = infer(model, X, layers=1, **self._rows())
        return mean_log_density(model, X, found[found.layers[1]])

    @validated
    def generate(  # type: ignore[override]
        self,
        n: int = 1,
        *,
        length: int | Sequence[int] | None = None,
        c: str = "median",
        random_state: Any = None,
    ) -> dict[str, Any]:
        """New documents, drawn from the top layer down.

        Parameters
        ----------
        n, length, c
            As in `pgbn.TrainedNetwork.generate`.
        random_state
            None for the seed of the estimator, which gives the same documents in every call. A
            number gives those of this number, a `numpy.random.RandomState` others in every call.

        Returns
        -------
        dict
            As in `pgbn.TrainedNetwork.generate`: ``"x"`` are the documents × terms.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> X = np.array([[4, 1, 0, 0], [0, 0, 3, 5], [5, 2, 0, 0], [0, 0, 4, 4]])
        >>> model = pgbn.PFA(3, burn_in=2, sweeps=2, random_state=0).fit(X)
        >>> model.generate(2, length=10)["x"].sum(axis=1)
        array([10, 10])
        """
        seed = self._seed if random_state is None else read_seed(random_state)
        return super().generate(n, length=length, c=c, seed=seed)

    # ---- topics ---------------------------------------------------------------------

    def _asked(self) -> TrainedNetwork:
        check_is_fitted(self)
        return trained_network(self)

    def stability(self, X: Any, seeds: int = 2, layer: int = 1) -> NDArray[np.float64]:
        """How alike each topic is with its partner in fits with other seeds.

        Parameters
        ----------
        X : documents × terms
            The documents of `fit`.
        seeds : int
            How many more estimators to fit.
        layer : int
            The layer of the topics.

        Returns
        -------
        numpy.ndarray
            (seeds, K); see `pgbn.evaluation.topic_stability`.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> model = pgbn.PGBN(4, 1, burn_in=20, sweeps=10, random_state=0).fit(X)
        >>> model.stability(X, seeds=2).shape == (2, model.widths_[0])
        True
        """
        check_is_fitted(self)
        others = [clone(self).set_params(random_state=self._seed % 10**6 + 1 + n, warm_start=False)
                  for n in range(check_integer("seeds", seeds, 1))]  # fmt: skip
        return evaluation.topic_stability([self, *(other.fit(X) for other in others)], layer)

    def set_labels(self, labels: Mapping[tuple[int, int], str]) -> Self:
        """Name topics. The names are saved, and shown in all lists and in the report.

        Parameters
        ----------
        labels : dict
            ``{(layer, topic): name}``; an empty name removes a label.

        Returns
        -------
        PGBN
            The estimator itself.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> model = pgbn.PGBN(4, 1, burn_in=20, sweeps=10, random_state=0).fit(X)
        >>> model.set_labels({(1, 0): "numbers"}).topics(1)[0].label
        'numbers'
        """
        check_is_fitted(self)
        *below, deepest = self.training_.models
        labelled = replace(self.training_, models=(*below, deepest.with_labels(labels)))
        self.training_, self.models_ = labelled, labelled.models
        return self

    def label_by_keywords(
        self,
        keywords: Mapping[str, str | Sequence[str]],
        layer: int = 1,
        vocabulary: Sequence[str] | None = None,
    ) -> Self:
        """Name the topics that have most of some words.

        Parameters
        ----------
        keywords : dict
            ``{"weather": ["rain", "sun"]}``: a name, and a word or words.
        layer : int
            The layer of the topics.
        vocabulary : list of str, optional
            Names of the terms; by default those of the model.

        Returns
        -------
        PGBN
            The estimator itself.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> model = pgbn.PGBN(4, 1, burn_in=20, sweeps=10, random_state=0).fit(X)
        >>> model = model.label_by_keywords({"late": "d"}, vocabulary=["a", "b", "c", "d"])
        >>> list(model.training_.deepest.labels.values())
        ['late']
        """
        check_is_fitted(self)
        return self.set_labels(keyword_labels(self.training_.deepest, keywords, layer, vocabulary))

    def report(self, path: str | Path = "report.html", X: Any = None, **options: Any) -> Path:
        """Write the HTML report.

        Parameters
        ----------
        path : str or Path
            The file.
        X : documents × terms, optional
            With documents the report has a map of them.
        **options
            Those of `pgbn.TrainedNetwork.report`.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
        >>> model = pgbn.PGBN(4, 1, burn_in=20, sweeps=10, random_state=0).fit(X)
        >>> model.report("report.html").name
        'report.html'
        """
        training: Any = self
        return FittedModel.report(training, path, X, **options)

    def to_arviz(self) -> Any:
        """The draws that ``keep_draws`` asked for, as ArviZ takes them (needs ``pgbn[arviz]``)."""
        return kept_data(self)


class PFA(PGBN):
    """Poisson factor analysis with the gamma–negative binomial process: a PGBN of one layer.

    The further settings are ``eta``, ``sampler``, ``priors``, ``keep_draws``,
    ``transform_burn_in``, ``transform_draws`` and ``executor`` of `PGBN`.

    Parameters
    ----------
    width : int
        The largest number of topics.
    burn_in, sweeps : int
        Sweeps before and after pruning.
    link, n_jobs, random_state, verbose, warm_start
        Those of `PGBN`.

    Examples
    --------
    >>> X = np.array([[4, 1, 0, 0], [3, 2, 0, 0], [0, 0, 3, 5], [0, 0, 4, 4]] * 5)
    >>> model = pgbn.PFA(4, burn_in=20, sweeps=10, random_state=0).fit(X)
    >>> len(model.widths_)
    1
    """

    _SETTINGS: ClassVar[Mapping[str, Any]] = {
        name: default
        for name, default in PGBN._SETTINGS.items()
        if name not in ("min_width", "merge_duplicates", "learning", "batch_size")
    }

    def __init__(
        self,
        width: int = 100,
        *,
        burn_in: int = 300,
        sweeps: int = 200,
        link: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        **settings: Any,
    ) -> None:
        self.width = width
        self.burn_in = burn_in
        self.sweeps = sweeps
        self.link = link
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self._set(settings)

    depth: int | None = 1
    layer: int | None = 1
    _width_name = "width"
