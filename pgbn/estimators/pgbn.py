"""scikit-learn estimators: `PGBN`, a belief network with inferred widths, and `PFA`, its one layer.

Needs the extra ``pgbn[sklearn]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pgbn.checks import WIDTHS
from pgbn.engine.run.stopping import stop_gently
from pgbn.estimators.arguments import (
    check_settings,
    read_executor,
    read_seed,
    renaming,
    validate_documents,
)
from pgbn.estimators.features import LayerFeatures
from pgbn.estimators.fit import Beginning, begin_fit, report_training, unchanged_on_failure
from pgbn.estimators.merging import MergedTopics
from pgbn.estimators.minibatch import Minibatches
from pgbn.estimators.other_names import PointsToMaxWidth
from pgbn.estimators.results import TopicResults
from pgbn.estimators.scores import HeldOutScores
from pgbn.estimators.verbose import Reporter
from pgbn.evaluation import SyntheticDocuments, generate_documents
from pgbn.samplers.executor import Executor
from pgbn.training.layerwise import LayerwiseTraining, Progress, train_settings, trained_so_far
from pgbn.training.trained import Priors, TrainedNetwork
from pgbn.training.verbs import Reportable

__all__ = ["PFA", "PGBN"]


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
