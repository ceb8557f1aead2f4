"""scikit-learn estimators: `PGBN`, a belief network with inferred widths, and `PFA`, its one layer.

Needs the extra ``pgbn[sklearn]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pgbn.checks import check_integer
from pgbn.errors import DataError
from pgbn.estimator_arguments import (
    blaming,
    read_choice,
    read_documents,
    read_link,
    read_seed,
    read_threads,
)
from pgbn.evaluation import (
    SyntheticDocuments,
    Topic,
    completion_perplexity,
    generate_documents,
    project,
    topics,
)
from pgbn.inference import infer
from pgbn.progress import Interrupted, stop_gently
from pgbn.reportable import Reportable
from pgbn.trained import Priors, TrainedNetwork, observed_node
from pgbn.training import LayerwiseTraining, Progress, train_layerwise, trained_so_far
from pgbn.verbose import Reporter

__all__ = ["PFA", "PGBN"]


class PGBN(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, Reportable):
    """Poisson gamma belief network, trained layer by layer; a transformer of documents × terms.

    Parameters
    ----------
    max_width : width of the first layer at most; those above are inferred.
    depth : layers at most.
    eta : the Dirichlet parameter of the topics, one number or one a layer.
    burn_in, collect : sweeps before and after pruning each layer, one number or one a layer.
    link : "poisson" for counts, "bernoulli" for 0/1, "gamma" for non-negative reals, or "auto":
        Poisson if all data are whole numbers, else gamma.
    layer1 : sampler of the first layer, see `pgbn.Network.chain`.
    layer, output : what `transform` returns: the proportions θ/θ_· of one layer (output="layer"),
        or of all layers side by side (output="concat").
    transform_burn_in, transform_samples : sweeps for the hidden units of a document.
    n_jobs : threads; None means 1, -1 all cores. The results do not depend on it.
    random_state, verbose, warm_start : as usual. With warm_start, `fit` on the same data adds
        the layers that are missing, or trains ``collect`` sweeps more if none is.

    Attributes
    ----------
    components_ : Φ^(1), (K_1, terms), rows sum to one.
    widths_ : (K_1, …, K_T).
    networks_ : the trained networks of 1 … T layers; `TrainedNetwork` has the rest.
    """

    def __init__(
        self,
        max_width: int = 100,
        depth: int = 2,
        *,
        eta: float | Sequence[float] = 0.05,
        burn_in: int | Sequence[int] = 300,
        collect: int | Sequence[int] = 200,
        link: str = "auto",
        layer1: str = "auto",
        layer: int = 1,
        output: str = "layer",
        transform_burn_in: int = 100,
        transform_samples: int = 100,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.max_width = max_width
        self.depth = depth
        self.eta = eta
        self.burn_in = burn_in
        self.collect = collect
        self.link = link
        self.layer1 = layer1
        self.layer = layer
        self.output = output
        self.transform_burn_in = transform_burn_in
        self.transform_samples = transform_samples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    # ---- fitting ----------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on documents × terms, sparse or dense.

        Ctrl-C stops after the sweep with a `KeyboardInterrupt`; the estimator keeps what was
        trained, and with ``warm_start`` another `fit` goes on from there.
        """
        again = bool(self.warm_start) and hasattr(self, "training_")
        X = read_documents(self, X, reset=not again)
        width, depth = self._size()
        start = self.training_ if again else None
        if not again:
            self._seed = read_seed(self.random_state)
            self.link_ = read_link(self.link, X)
        with stop_gently() as stop:

            def each(event: Progress) -> None:
                reporter(event)
                if stop.requested:
                    done = trained_so_far(event, self.eta, self.link_, Priors())
                    self._keep(done)
                    raise Interrupted(
                        f"{done.stopped}; the estimator keeps what was trained, and "
                        "set_params(warm_start=True).fit(X) goes on from there"
                    )

            reporter = Reporter(self.verbose)
            training = train_layerwise(
                X,
                width,
                depth,
                eta=self.eta,
                burn_in=self.burn_in,
                collect=self.collect,
                link=self.link_,
                seed=self._seed,
                layer1=self.layer1,
                threads=read_threads(self.n_jobs),
                callback=each,
                progress=False,
                start_from=start,
            )
        return self._keep(training)

    def _keep(self, training: LayerwiseTraining) -> Self:
        self.training_ = training
        self.networks_: tuple[TrainedNetwork, ...] = training.networks
        self.widths_ = training.widths
        self.components_ = training.deepest.phi[0]
        self.n_iter_ = training.deepest.sweeps
        return self

    def _size(self) -> tuple[int, int]:
        return check_integer("max_width", self.max_width, 1), self.depth

    def _chain(self) -> dict[str, Any]:
        """How the hidden units of documents are sampled."""
        return {
            "burn_in": check_integer("transform_burn_in", self.transform_burn_in, 0),
            "samples": check_integer("transform_samples", self.transform_samples, 1),
            "seed": self._seed,
            "threads": read_threads(self.n_jobs),
        }

    # ---- using ------------------------------------------------------------------------

    def transform(self, X: Any, layer: int | None = None, output: str | None = None) -> Any:
        """Posterior means of θ/θ_· for each document: of one layer, or output="concat" of all.

        A document gets the same features in any batch: its random stream is keyed by its content.
        """
        check_is_fitted(self)
        layer, output = read_choice(self, layer, output)
        X = read_documents(self, X, reset=False)
        wanted = None if output == "concat" else layer
        found = infer(self.training_.deepest, X, layers=wanted, units=False, **self._chain())
        return found.features(wanted)

    @property
    def _n_features_out(self) -> int:
        layer, output = read_choice(self, None, None)
        return sum(self.widths_) if output == "concat" else self.widths_[layer - 1]

    def inverse_transform(self, Z: Any, layer: int | None = None) -> NDArray[np.float64]:
        """The term proportions Ψ^(t) θ^(t)/θ^(t)_· that features of a layer stand for."""
        check_is_fitted(self)
        layer, output = read_choice(self, layer, None)
        with blaming("Z"):
            features = check_array(Z, dtype=np.float64, input_name="Z")
        if output == "concat" and features.shape[1] == sum(self.widths_):
            layer, features = 1, features[:, : self.widths_[0]]
        if features.shape[1] != self.widths_[layer - 1]:
            raise DataError(
                f"features have {features.shape[1]} columns; layer {layer} has "
                f"{self.widths_[layer - 1]}"
            )
        return np.asarray(features @ project(self.training_.deepest, layer))

    def perplexity(self, X: Any, X_held: Any = None, fraction: float = 0.5) -> float:
        """Per-word perplexity of ``X_held`` given θ from ``X``, or of the rest of each document of
        X given ``fraction`` of its tokens (document completion)."""
        check_is_fitted(self)
        X = read_documents(self, X, reset=False)
        if X_held is not None:
            X_held = read_documents(self, X_held, reset=False)
        model, settings = self.training_.deepest, self._chain()
        return completion_perplexity(model, X, X_held, fraction=fraction, **settings).perplexity()

    def score(self, X: Any, y: Any = None) -> float:
        """Counts: −ln perplexity by document completion. Other links: the mean log density of a
        document given the posterior means of its rates. Larger is better."""
        check_is_fitted(self)
        if self.link_ == "poisson":
            return -float(np.log(self.perplexity(X)))
        X = read_documents(self, X, reset=False)
        model = self.training_.deepest
        found = infer(model, X, layers=1, **self._chain())
        node = observed_node(self.link_)
        rate = np.maximum(found.units[1] @ model.phi[0], 1e-300)
        value = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
        slots = {"rate": rate} | ({"noise": model.noise} if self.link_ == "gamma" else {})
        return float(node.log_density(value, **slots).sum() / value.shape[0])

    def topics(
        self, layer: int = 1, top: int = 10, vocabulary: Sequence[str] | None = None
    ) -> list[Topic]:
        """The topics of a layer by weight, with their leading terms."""
        check_is_fitted(self)
        if vocabulary is None and hasattr(self, "feature_names_in_"):
            vocabulary = [str(name) for name in self.feature_names_in_]
        return topics(self.training_.deepest, layer, top, vocabulary)

    def sample_documents(
        self,
        n: int = 1,
        length: int | Sequence[int] | None = None,
        c: str = "median",
        seed: int = 0,
    ) -> SyntheticDocuments:
        """New documents drawn from the network, see `pgbn.generate_documents`."""
        check_is_fitted(self)
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
        transform_burn_in: int = 100,
        transform_samples: int = 100,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.width = width
        self.eta = eta
        self.burn_in = burn_in
        self.collect = collect
        self.link = link
        self.layer1 = layer1
        self.transform_burn_in = transform_burn_in
        self.transform_samples = transform_samples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    layer = 1
    output = "layer"

    def _size(self) -> tuple[int, int]:
        return check_integer("width", self.width, 1), 1
