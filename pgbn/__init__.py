"""pgbn: deep Bayesian models of counts, declared as networks of distribution nodes.

A public name is imported when it is first used, so that ``pgbn --help`` need not wait for the
compiler. `__init__.pyi` has the same names for type checkers and editors.
"""

from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from typing import Any

from pgbn.storage.archive import codec_in
from pgbn.versions import __version__ as __version__

# Where each public name is defined.
_NAMES_OF = {
    "pgbn": (
        "checkpoint corpus diagnostics docstrings evaluation explain plot report storage "
        "testing zoo"
    ),
    "pgbn.checkpoint": "resume",
    "pgbn.engine.first_layer.choice": "register_sampler",
    "pgbn.engine.plan": "register_kernel",
    "pgbn.engine.rows.new_rows": "NewRows",
    "pgbn.engine.run.chain": "Chain",
    "pgbn.engine.run.draws": "Draws",
    "pgbn.engine.run.progress": "Event",
    "pgbn.engine.run.sampling": "time_samplers",
    "pgbn.errors": (
        "DataError MissingRuleError NetworkError PgbnError PgbnWarning StaleReadError StorageError"
    ),
    "pgbn.estimators": "PFA PGBN NetworkTransformer",
    "pgbn.evaluation": "HeldOut completion_perplexity generate_documents split_tokens",
    "pgbn.network.network": "Network",
    "pgbn.nodes": (
        "Bernoulli BernoulliPoisson Beta BetaOdds Categorical Categories Constant Dirichlet "
        "Edge Gamma HiddenPoisson Index Latent LogitBernoulli LogNormal Mix Multinomial Node "
        "Normal Observed ObservedNormal Pairs Poisson PoissonGamma Product RandomisedGamma "
        "Rename Self Shift Slot Sum distinct same"
    ),
    "pgbn.nodes.rules.registry": (
        "counts_are_data draw_rule evidence_rule kernel_rule link_rule rules"
    ),
    "pgbn.nodes.rules.types": "Evidence",
    "pgbn.samplers.disk": "Disk",
    "pgbn.samplers.executor": "Threads",
    "pgbn.samplers.on_ray": "Ray",
    "pgbn.storage": "load save",
    "pgbn.storage.blocks": "Corpus",
    "pgbn.training.growing": "Progress",
    "pgbn.training.layerwise": "train_layerwise",
    "pgbn.training.merging": "merge_topics",
    "pgbn.training.minibatch.train": "MinibatchEvent train_minibatch",
    "pgbn.training.new_rows": "infer",
    "pgbn.training.streamed": "transform_to",
    "pgbn.training.surgery": "grow prune",
    "pgbn.training.trained": "Priors TrainedNetwork",
    "pgbn.training.training_result": "LayerwiseTraining",
    "pgbn.versions": "show_versions",
}
_HOMES = {name: home for home, names in _NAMES_OF.items() for name in names.split()}

# The estimators need an extra: `from pgbn import *` works without it.
__all__ = sorted(name for name, home in _HOMES.items() if home != "pgbn.estimators")

# Which subpackage reads each kind of folder.
for _kind, _home in {
    "corpus": "pgbn.storage.blocks",
    "network": "pgbn.network",
    "chain": "pgbn.engine",
    "draws": "pgbn.engine",
    "run": "pgbn.engine",
    "trained": "pgbn.training",
    "training": "pgbn.training",
    "grown": "pgbn.training",
    "checkpoint": "pgbn.training",
    "minibatch": "pgbn.training.minibatch.train",
    "estimator": "pgbn.estimators",
    "transformer": "pgbn.estimators",
}.items():
    codec_in(_kind, _home)

_LOCK = RLock()


def __getattr__(name: str) -> Any:
    """Import a public name, or a subpackage, when it is first used."""
    may_be_module = name.isidentifier() and not name.startswith("_")
    if name not in _HOMES and (not may_be_module or find_spec(f"pgbn.{name}") is None):
        raise AttributeError(f"module 'pgbn' has no attribute {name!r}")
    home = _HOMES.get(name, "pgbn")
    try:
        with _LOCK:  # two threads could otherwise see modules that are half imported
            found = import_module(f"pgbn.{name}" if home == "pgbn" else home)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("sklearn"):
            raise
        raise ImportError(f"pgbn.{name} needs scikit-learn: pip install 'pgbn[sklearn]'") from error
    globals()[name] = found if home == "pgbn" else getattr(found, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(_HOMES)
