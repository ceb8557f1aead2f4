"""pgbn: deep Bayesian models of counts, declared as networks of distribution nodes.

Names of the rooms above training (figures, evaluation, the scikit-learn estimators) are imported
when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pgbn import checkpoint, storage, zoo
from pgbn.checkpoint import resume
from pgbn.engine import Chain, Draws, Event, register_kernel, register_sampler, time_samplers
from pgbn.errors import (
    DataError,
    MissingRuleError,
    NetworkError,
    PgbnError,
    PgbnWarning,
    StaleReadError,
    StorageError,
)
from pgbn.network import Network
from pgbn.nodes import (
    Bernoulli,
    BernoulliPoisson,
    Beta,
    BetaOdds,
    Constant,
    Dirichlet,
    Evidence,
    Gamma,
    Latent,
    Mix,
    Multinomial,
    Node,
    Observed,
    Poisson,
    PoissonGamma,
    Product,
    Rename,
    Self,
    Shift,
    Slot,
    Sum,
    counts_are_data,
    draw_rule,
    evidence_rule,
    link_rule,
    rules,
)
from pgbn.storage import codec_in, load, save
from pgbn.training import (
    HiddenUnits,
    LayerwiseTraining,
    Priors,
    Progress,
    TrainedNetwork,
    grow,
    infer,
    prune,
    train_layerwise,
)
from pgbn.versions import __version__ as __version__
from pgbn.versions import show_versions

if TYPE_CHECKING:
    from pgbn import corpus, diagnostics, docstrings, evaluation, explain, plot, report, testing
    from pgbn.estimators import PFA, PGBN
    from pgbn.evaluation import (
        HeldOutPerplexity,
        completion_perplexity,
        generate_documents,
        split_tokens,
    )

__all__ = [
    "PFA",
    "PGBN",
    "Bernoulli",
    "BernoulliPoisson",
    "Beta",
    "BetaOdds",
    "Chain",
    "Constant",
    "DataError",
    "Dirichlet",
    "Draws",
    "Event",
    "Evidence",
    "Gamma",
    "HeldOutPerplexity",
    "HiddenUnits",
    "Latent",
    "LayerwiseTraining",
    "MissingRuleError",
    "Mix",
    "Multinomial",
    "Network",
    "NetworkError",
    "Node",
    "Observed",
    "PgbnError",
    "PgbnWarning",
    "Poisson",
    "PoissonGamma",
    "Priors",
    "Product",
    "Progress",
    "Rename",
    "Self",
    "Shift",
    "Slot",
    "StaleReadError",
    "StorageError",
    "Sum",
    "TrainedNetwork",
    "checkpoint",
    "completion_perplexity",
    "corpus",
    "counts_are_data",
    "diagnostics",
    "docstrings",
    "draw_rule",
    "evaluation",
    "evidence_rule",
    "explain",
    "generate_documents",
    "grow",
    "infer",
    "link_rule",
    "load",
    "plot",
    "prune",
    "register_kernel",
    "register_sampler",
    "report",
    "resume",
    "rules",
    "save",
    "show_versions",
    "split_tokens",
    "storage",
    "testing",
    "time_samplers",
    "train_layerwise",
    "zoo",
]

codec_in("estimator", "pgbn.estimators")

_ESTIMATORS = ("PFA", "PGBN")
_EVALUATION = ("HeldOutPerplexity", "completion_perplexity", "generate_documents", "split_tokens")


def __getattr__(name: str) -> Any:
    """A public name that is not there yet: imported now, and kept."""
    if name in _ESTIMATORS:
        found = getattr(_estimators(name), name)
    elif name in _EVALUATION:
        found = getattr(import_module("pgbn.evaluation"), name)
    elif name in __all__:
        found = import_module(f"pgbn.{name}")
    else:
        raise AttributeError(f"module 'pgbn' has no attribute {name!r}")
    globals()[name] = found
    return found


def _estimators(name: str) -> Any:
    """The room of the scikit-learn estimators, which are an extra."""
    try:
        return import_module("pgbn.estimators")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("sklearn"):
            raise
        raise ImportError(f"pgbn.{name} needs scikit-learn: pip install 'pgbn[sklearn]'") from error


def __dir__() -> list[str]:
    return sorted(__all__)
