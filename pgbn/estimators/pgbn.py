"""scikit-learn estimators: `PGBN`, a belief network with inferred widths, and `PFA`, its one layer.

Needs the extra ``pgbn[sklearn]``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pgbn.checks import OTHER_NAMES, WIDTHS, check_integer, in_order
from pgbn.engine.run.progress import Silent, choose_meter, live
from pgbn.engine.run.stopping import stop_gently
from pgbn.errors import DataError, tell
from pgbn.estimators.fit import Beginning, begin_fit, report_training, unchanged_on_failure
from pgbn.estimators.parameters import (
    blaming,
    check_settings,
    read_choice,
    read_executor,
    read_seed,
    read_sweeps,
    read_workers,
    renaming,
    validate_documents,
)
from pgbn.estimators.results import TopicResults
from pgbn.evaluation import (
    SyntheticDocuments,
    completion_perplexity,
    generate_documents,
    groups_for,
    project,
)
from pgbn.evaluation.layer_quality import SWEEPS, without_twins
from pgbn.evaluation.perplexity import mean_log_density
from pgbn.network.layers import layers_above
from pgbn.samplers.executor import Executor
from pgbn.storage.blocks import Corpus
from pgbn.training.growing import Progress, family_of
from pgbn.training.layerwise import train_settings, trained_so_far
from pgbn.training.merging import merge_topics
from pgbn.training.minibatch.learner import Learner
from pgbn.training.minibatch.result import Arriving
from pgbn.training.minibatch.train import MinibatchEvent, train_minibatch
from pgbn.training.new_rows import infer
from pgbn.training.settings import Settings, budgets
from pgbn.training.trained import Priors, TrainedNetwork
from pgbn.training.training_result import LayerwiseTraining, Reportable
from pgbn.zoo.links import get_link

# ---- features -----------------------------------------------------------------------------------
#
# The features that an estimator makes of documents: those of one layer, or of all layers.


_KERNELS = 5  # that the first documents compile


class LayerFeatures:
    """The methods of an estimator that turn documents into features and back.

    scikit-learn names the columns of what ``transform`` returns, but asks the estimator, which
    does not know which layer was asked for. It does so only for a ``transform`` that the class
    itself defines: so this one is inherited, and `_Columns` names the columns.
    """

    layer: int
    output: str
    widths_: tuple[int, ...]
    training_: Any

    def transform(self, X: Any, layer: int | None = None, output: str | None = None) -> Any:
        """Posterior means of θ/θ_· for each document: of one layer, or output="concat" of all.
        Without either the choice is that of the estimator; a ``layer`` given here wins over it.

        A document gets the same features in any batch: its random stream is keyed by its content.
        """
        check_is_fitted(self)
        columns = _Columns(self, *read_choice(self, layer, output))
        columns.set_output(**getattr(self, "_sklearn_output_config", {}))
        return columns.transform(X)

    def get_feature_names_out(
        self, input_features: Any = None, layer: int | None = None, output: str | None = None
    ) -> NDArray[Any]:
        """The names of the columns of `transform`: pgbn0, pgbn1, … for the first layer, pgbn2_0,
        pgbn2_1, … for the second. ``input_features`` is there for scikit-learn and not used."""
        check_is_fitted(self)
        return _Columns(self, *read_choice(self, layer, output)).get_feature_names_out()

    def inverse_transform(self, Z: Any, layer: int | None = None) -> NDArray[np.float64]:
        """The term proportions Ψ^(t) θ^(t)/θ^(t)_· that features of a layer stand for; of features
        of all layers side by side, those of ``layer``, or of the first, are taken."""
        check_is_fitted(self)
        chosen, _ = read_choice(self, layer, None)
        others = [dim for dim in getattr(Z, "dims", ()) if dim != "doc"]
        Z = in_order("Z", ("doc", *others) if len(others) == 1 else ("doc", "topic"), Z)
        with blaming("Z"):
            features = check_array(Z, dtype=np.float64, input_name="Z")
        if self.output == "concat" and features.shape[1] == sum(self.widths_):
            chosen = 1 if layer is None else chosen
            start = sum(self.widths_[: chosen - 1])
            features = features[:, start : start + self.widths_[chosen - 1]]
        width = self.widths_[chosen - 1]
        if features.shape[1] != width:
            raise DataError(
                f"Z: features have {features.shape[1]} columns; layer {chosen} has {width}"
            )
        return np.asarray(features @ project(self.training_.deepest, chosen))

    def _chain(self) -> dict[str, Any]:
        """How the hidden units of documents are sampled."""
        settings: Any = self
        return {
            **read_sweeps(settings),
            "seed": settings._seed,
            "threads": read_executor(settings).workers,
        }

    def _rows(self) -> dict[str, Any]:
        """The same where rows are all that is sampled: workers of another memory take part."""
        settings: Any = self
        chain = self._chain()
        del chain["threads"]
        return chain | read_workers(settings)


class _Columns(TransformerMixin):
    """The features of one choice of layers. scikit-learn makes a data frame of them where
    `set_output` or `sklearn.set_config` says so, with the names of these columns."""

    def __init__(self, estimator: Any, layer: int, output: str) -> None:
        self.estimator = estimator
        self.layer = None if output == "concat" else layer

    def transform(self, X: Any) -> Any:
        X = validate_documents(self.estimator, X, reset=False)
        model, settings = self.estimator.training_.deepest, self.estimator._rows()
        with live(self.estimator.verbose == 1, _KERNELS):
            rows = infer(model, X, layers=self.layer, units=False, **settings)
        return rows.features(self.layer)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        prefix, names = type(self.estimator).__name__.lower(), []
        for layer, width in enumerate(self.estimator.widths_, 1):
            if self.layer in (None, layer):
                number = "" if layer == 1 else f"{layer}_"
                names += [f"{prefix}{number}{k}" for k in range(width)]
        return np.array(names, object)


# ---- merging ------------------------------------------------------------------------------------
#
# Fewer topics, after an estimator was fitted: `merge` and `reduce`.


class MergedTopics:
    """The methods of an estimator that make several topics one."""

    training_: LayerwiseTraining

    def merge(self, X: Any, groups: Iterable[Any], layer: int = 1, sweeps: int = 50) -> Self:
        """Make the topics of each group one, and train ``sweeps`` sweeps more on ``X``, the
        documents of `fit`: ``model.merge(X, [(3, 7), (1, 4)], layer=2)``, or, of all twins,
        ``model.merge(X, model.similar_topics(2), layer=2)``.

        Only the deepest network is merged and kept. It is saved, and goes on with ``warm_start``,
        as any other; see `pgbn.merge_topics` for what stays as it was. With ``sweeps=0`` the topics
        are merged and nothing is trained; where there is nothing to merge, all stays as it is.
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
            told = f"{self.training_.stopped}; {before[layer - 1]} topics of layer {layer} were "
            told += f"merged to {after[layer - 1]}"
            estimator: Any = self
            kept = LayerwiseTraining((trained,), told)
            estimator._keep(kept, estimator.link_, estimator._seed, estimator._fixed)
        return self

    def reduce(self, X: Any, to: int, layer: int = 1, sweeps: int = 50) -> Self:
        """Merge the topics of a layer that are most alike until ``to`` are left, see `merge`."""
        check_is_fitted(self)
        return self.merge(X, groups_for(self.training_, to, layer), layer, sweeps)

    def _sweep(
        self, X: Any, merged: TrainedNetwork, sweeps: int, before: Beginning | None = None
    ) -> TrainedNetwork:
        """Some sweeps more, which keep the widths; ``before`` is how `fit` began, if it is not
        over yet."""
        own: Any = self
        seed, fixed = (own._seed, own._fixed) if before is None else before.kept[1:]
        settings = Settings.of(
            max(merged.widths), merged.depth, burn_in=1, collect=sweeps, link=merged.link,
            seed=seed, layer1=own.layer1, min_width=own.min_width, start=merged,
            keep_draws=min(own.keep_draws, sweeps),
        )  # fmt: skip
        trained: TrainedNetwork = own._train(X, Beginning(settings, fixed, (merged,))).deepest
        return trained

    def _without_twins(
        self, training: LayerwiseTraining, X: Any, at: Beginning
    ) -> LayerwiseTraining:
        """With ``merge_twins``, and budgets of its own for each layer, a network without twins."""
        own: Any = self
        if not own.merge_twins or isinstance(at.settings.max_width, int):
            return training
        return without_twins(training, lambda merged: self._sweep(X, merged, SWEEPS, at))


# ---- minibatch ----------------------------------------------------------------------------------
#
# Estimators that learn from some documents at a time: ``learning="minibatch"``, `partial_fit`.


ROWS = "doc"


class Minibatches:
    """Adds the ways to learn that do not need all documents at once."""

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents that arrive later, beside all that were seen before: a step for
        every ``batch_size`` of them. It goes on from `fit`; without one, the first documents are
        sampled by Gibbs, and widths are those of ``max_width``."""
        own: Any = self
        with unchanged_on_failure(self):
            check_settings(own)
            fitted = hasattr(self, "training_")
            X = sp.csr_array(validate_documents(own, X, reset=not fitted))
            if not fitted:
                self._begin_arriving(begin_fit(own, X, False))
            elif getattr(self, "_arriving_from", None) is not own.training_:
                self._arrive_after(own.training_.deepest, X)
            network = self._arriving.learn(X)
            seen = f"{self._arriving.seen} documents seen"
            own._keep(LayerwiseTraining((network,), seen), *self._arriving_kept)
            self._arriving_from = own.training_
        return self

    def _arrive_after(self, network: TrainedNetwork, X: Any) -> None:
        """Go on from the last state of a chain, with steps as short as after so many sweeps."""
        own: Any = self
        at = begin_fit(own, X, False)
        settings = replace(at.settings, eta=network.eta, depth=network.depth)
        executor = read_executor(own)
        learner = Learner(family_of(settings).network(network.widths), ROWS, own._seed,
                          executor=executor)  # fmt: skip
        names, state = learner.roles.shared, network.state
        scores = layers_above(learner.network, learner.network.observed[0])[0].scores
        if not {*names, scores} <= set(state):
            raise DataError(
                "partial_fit: the state of this model was not kept (a file of a training on "
                "minibatches has none); begin with partial_fit, or fit anew"
            )
        learner.values = {name: np.array(state[name], order="C") for name in names}
        learner.steps = network.sweeps
        self._arriving = Arriving(learner, settings, int(own.batch_size), len(state[scores]))
        self._arriving_kept = (own.link_, own._seed, own._fixed)

    def _begin_arriving(self, at: Beginning, learner: Learner | None = None, seen: int = 0) -> None:
        own: Any = self
        if learner is None:
            network = family_of(at.settings).network(_widths(at))
            executor = read_executor(own)
            learner = Learner(network, ROWS, at.settings.seed, executor=executor)
        self._arriving = Arriving(learner, at.settings, int(own.batch_size), seen)
        self._arriving_kept = at.kept

    def _fit_minibatches(self, X: Any) -> None:
        """Train on minibatches of a corpus, which may be larger than memory, or of a matrix."""
        own: Any = self
        if own.warm_start:
            raise DataError("warm_start=True: for learning='gibbs'; partial_fit learns from more")
        if isinstance(X, Corpus):
            own.n_features_in_ = X.shape[1]
        else:
            X = validate_documents(own, X, reset=True)
        at = begin_fit(own, X.block(0) if isinstance(X, Corpus) else X, False)
        if len(set(at.settings.burn_in)) > 1 or len(set(at.settings.collect)) > 1:
            raise DataError("burn_in, collect: one number of steps, as all layers learn together")
        burn_in, collect = at.settings.burn_in[0], at.settings.collect[0]
        last: list[MinibatchEvent] = []
        network = train_minibatch(
            X, _widths(at), eta=at.settings.eta, link=at.settings.link, priors=own.priors,
            batch_size=own.batch_size, steps=burn_in + collect, collect=collect,
            keep_draws=own.keep_draws, seed=at.settings.seed, threads=read_executor(own).workers,
            progress=bool(own.verbose), callback=last.append,
        )  # fmt: skip
        training = LayerwiseTraining((network,), f"{burn_in + collect} minibatches")
        own._keep(training, *at.kept)
        self._begin_arriving(at, last[-1].learner, X.shape[0])
        self._arriving_from = own.training_


def _widths(at: Beginning) -> tuple[int, ...]:
    """One width for all layers, or one for each."""
    width, depth = at.settings.max_width, at.settings.depth
    found = budgets("max_width", width, depth)
    return (found,) * depth if isinstance(found, int) else tuple(found)


# ---- scores -------------------------------------------------------------------------------------
#
# How well a fitted estimator predicts: perplexity by document completion, and `score`.


class HeldOutScores:
    """The scores of estimators that were trained layer by layer."""

    training_: Any
    link_: str
    _chain: Any
    _rows: Any

    def perplexity(
        self, X: Any, X_held: Any = None, fraction: float = 0.5, *, train: Any = None
    ) -> float:
        """Per-word perplexity of ``X_held`` given θ from ``X``, or of the rest of each document of
        X given ``fraction`` of its tokens (document completion). With ``train``, the documents
        that it was fitted on, Φ learns from the seen tokens too: the chain goes on over both, for
        ``transform_burn_in`` and ``transform_samples`` sweeps. The estimator does not change."""
        check_is_fitted(self)
        X = validate_documents(self, X, reset=False)
        settings = self._chain()
        if train is not None:
            settings["train"] = validate_documents(self, train, reset=False, name="train")
        if X_held is not None:
            settings["held_out"] = validate_documents(self, X_held, reset=False, name="X_held")
        named = nullcontext() if X_held is None else renaming("held_out", "X_held")
        with named:
            held = completion_perplexity(self.training_.deepest, X, fraction=fraction, **settings)
        return held.perplexity()

    def score(self, X: Any, y: Any = None) -> float:
        """Counts: −ln perplexity by document completion. Other links: the mean log density of a
        document given the posterior means of its rates. Larger is better."""
        check_is_fitted(self)
        if get_link(self.link_).is_counts:
            return -float(np.log(self.perplexity(X)))
        X = validate_documents(self, X, reset=False)
        model = self.training_.deepest
        return mean_log_density(model, X, infer(model, X, layers=1, **self._rows()).units[1])


# ---- verbose ------------------------------------------------------------------------------------
#
# What ``verbose`` of scikit-learn prints while an estimator is trained.


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
            network = progress.chain.network
            top = layers_above(network, network.observed[0])[-1]
            where = f"{progress.phase} {progress.sweep}/{progress.sweeps}"
            line = f"[pgbn] layer {progress.depth}, {where}, width {network.sizes[top.dim]}"
            tell(line)


# ---- other names --------------------------------------------------------------------------------
#
# What other packages call the number of topics: an error that says what it is called here.


class PointsToMaxWidth:
    """A class whose constructor, given ``n_components`` and the like, names its own argument.

    ``__new__`` sees the arguments before ``__init__``, whose signature is left to scikit-learn.
    """

    _width_name = "max_width"

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        for other in OTHER_NAMES:
            if other in named:
                own = cls._width_name
                many = f"; or {own}=(100, 30, 10), one for each layer" if own == "max_width" else ""
                raise TypeError(
                    f"{cls.__name__}() has no argument {other!r}: give the number of topics, at "
                    f"most, as {own}={named[other]!r}{many}"
                )
        return super().__new__(cls)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # `inspect` would otherwise show the arguments of `__new__`.
        own = inspect.signature(cls.__init__)
        parameters = list(own.parameters.values())[1:]
        cls.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]


# ---- pgbn ---------------------------------------------------------------------------------------


class PGBN(
    Minibatches,
    PointsToMaxWidth,
    LayerFeatures,
    HeldOutScores,
    TopicResults,
    MergedTopics,
    TransformerMixin,
    BaseEstimator,
    Reportable,
):
    """Poisson gamma belief network, trained layer by layer; a transformer of documents × terms.

    Parameters
    ----------
    max_width : topics at most, a budget for each layer: (80, 20, 6). Or one number for the first
        layer, where each further layer begins as wide as the one below, as in the paper.
    depth : layers at most; None: as many as ``max_width`` has budgets, or 3 for one number.
    eta : the Dirichlet parameter of the topics, one number or one for each layer.
    burn_in, collect : sweeps before and after pruning each layer, likewise.
    link : "poisson" for counts, "bernoulli" for 0/1, "gamma" for non-negative reals, the name
        of a link of your own, or "auto": Poisson if all data are whole numbers, else gamma.
    layer1 : sampler of the first layer, see `pgbn.Network.chain`.
    min_width : training stops early, with a warning, at a layer with no more factors than this.
    priors : a `pgbn.Priors`; None means those of the paper.
    keep_draws : draws of Φ and r to keep, over which `transform`, `perplexity` and `score` average:
        20 draws predict better than the single Φ of 0; each needs a burn-in of its own.
    merge_twins : merge topics of upper layers that share six of their ten leading terms, and train
        50 sweeps more, where ``max_width`` has a budget for each layer; see `merge`.
    layer, output : what `transform` returns: the proportions θ/θ_· of one layer (output="layer"),
        or of all layers side by side (output="concat").
    transform_burn_in, transform_samples : sweeps for the hidden units of a document.
    n_jobs : threads; None means 1, -1 as many as the environment variable PGBN_THREADS says, else
        all cores. The results do not depend on it.
    executor : where `fit` works on rows, such as `pgbn.Disk`, in place of ``n_jobs``.
    random_state, verbose, warm_start : as usual. With warm_start, `fit` on the same data adds
        the layers that are missing, or trains ``collect`` sweeps more if none is, or if
        ``min_width`` allows none.

    learning : "gibbs", or "minibatch" for `pgbn.train_minibatch` with ``burn_in`` + ``collect``
        steps on ``batch_size`` documents each; all layers have the widths of ``max_width``.

    Attributes
    ----------
    components_ : Φ^(1), (K_1, terms), rows sum to one.
    widths_ : (K_1, …, K_T).
    networks_ : the trained networks of 1 … T layers; `TrainedNetwork` has the rest.
    """

    def __init__(
        self,
        max_width: int | Sequence[int] = WIDTHS,
        depth: int | None = None,
        *,
        eta: float | Sequence[float] = 0.05,
        burn_in: int | Sequence[int] = 300,
        collect: int | Sequence[int] = 200,
        link: str = "auto",
        layer1: str = "auto",
        min_width: int = 4,
        priors: Priors | None = None,
        keep_draws: int = 0,
        merge_twins: bool = True,
        layer: int = 1,
        output: str = "layer",
        transform_burn_in: int = 100,
        transform_samples: int = 100,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        learning: str = "gibbs",
        batch_size: int = 512,
        executor: Executor | None = None,
    ) -> None:
        self.max_width = max_width
        self.depth = depth
        self.eta = eta
        self.burn_in = burn_in
        self.collect = collect
        self.link = link
        self.layer1 = layer1
        self.min_width = min_width
        self.priors = priors
        self.keep_draws = keep_draws
        self.merge_twins = merge_twins
        self.layer = layer
        self.output = output
        self.transform_burn_in = transform_burn_in
        self.transform_samples = transform_samples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.learning = learning
        self.batch_size = batch_size
        self.executor = executor

    # ---- fitting ----------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on documents × terms, sparse or dense.

        Ctrl-C, SIGTERM and SIGHUP stop after the sweep with a `KeyboardInterrupt`; the estimator
        keeps what was trained, and with ``warm_start`` another `fit` goes on from there. If `fit`
        fails, the estimator is what it was before.
        """
        with unchanged_on_failure(self):
            check_settings(self)
            if self.learning == "minibatch":
                self._fit_minibatches(X)
                return self
            again = bool(self.warm_start) and hasattr(self, "training_")
            X = validate_documents(self, X, reset=not again)
            at = begin_fit(self, X, again)
            training = self._without_twins(self._train(X, at), X, at)
            self._keep(replace(training, stopped=at.full) if at.full else training, *at.kept)
        report_training(self, X)
        return self

    def _train(self, X: Any, at: Beginning) -> LayerwiseTraining:
        reporter = Reporter(self.verbose)
        names = renaming("max_width", self._width_name), renaming("start_from", "warm_start")
        with stop_gently() as stop, names[0], names[1]:

            def each(event: Progress) -> None:
                reporter(event)
                if stop.requested:
                    done = trained_so_far(event, at.settings)
                    self._keep(done, *at.kept)
                    raise stop.interrupted(
                        f"{done.stopped}; the estimator keeps what was trained, and "
                        "set_params(warm_start=True).fit(X) goes on from there"
                    )

            return train_settings(
                at.settings,
                X,
                at.networks,
                callback=each,
                executor=read_executor(self),
                progress=reporter.live,
            )

    def _keep(
        self, training: LayerwiseTraining, link: str, seed: int, fixed: dict[str, Any]
    ) -> None:
        """What `fit` leaves in the estimator, or a folder brings back."""
        if training.deepest.vocabulary is None:  # names that a model was saved with come first
            training = training.with_vocabulary(getattr(self, "feature_names_in_", None))
        self.training_ = training
        self.networks_: tuple[TrainedNetwork, ...] = training.networks
        self.widths_ = training.widths
        self.components_ = training.deepest.phi[0]
        self.n_iter_ = training.deepest.sweeps
        self.link_, self._seed, self._fixed = link, seed, fixed

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "training_")

    # ---- using ------------------------------------------------------------------------

    def sample_documents(
        self,
        n: int = 1,
        length: int | Sequence[int] | None = None,
        c: str = "median",
        random_state: Any = None,
    ) -> SyntheticDocuments:
        """New documents drawn from the network, see `pgbn.generate_documents`.

        ``random_state``: None for the seed of the estimator, which gives the same documents in
        every call; a number gives those of this number, a `numpy.random.RandomState` others in
        every call.
        """
        check_is_fitted(self)
        seed = self._seed if random_state is None else read_seed(random_state)
        return generate_documents(self.training_.deepest, n, length=length, c=c, seed=seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


class PFA(PGBN):
    """Poisson factor analysis with the gamma–negative binomial process: a PGBN of one layer.

    ``width`` is the number of topics at most; the other parameters are those of `PGBN`.
    """

    def __init__(
        self,
        width: int = 100,
        *,
        eta: float = 0.05,
        burn_in: int = 300,
        collect: int = 200,
        link: str = "auto",
        layer1: str = "auto",
        priors: Priors | None = None,
        keep_draws: int = 0,
        transform_burn_in: int = 100,
        transform_samples: int = 100,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        executor: Executor | None = None,
    ) -> None:
        self.width = width
        self.eta = eta
        self.burn_in = burn_in
        self.collect = collect
        self.link = link
        self.layer1 = layer1
        self.priors = priors
        self.keep_draws = keep_draws
        self.transform_burn_in = transform_burn_in
        self.transform_samples = transform_samples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.executor = executor

    depth: int | None = 1
    merge_twins = False
    learning = "gibbs"
    batch_size = 512
    min_width = 4
    layer = 1
    output = "layer"
    _width_name = "width"
