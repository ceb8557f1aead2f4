"""pgbn: deep Bayesian models of counts, declared as networks of distribution nodes.

A public name is imported when it is asked for: who types ``pgbn --help`` waits for no compiler.
"""

import ast
from importlib import import_module
from importlib.util import find_spec
from pkgutil import get_data
from threading import RLock
from typing import TYPE_CHECKING, Any

from pgbn.storage.archive import codec_in
from pgbn.versions import __version__ as __version__

# The public names and the module of each: for type checkers and editors, and read by `_homes`.
if TYPE_CHECKING:
    from pgbn import (
        checkpoint,
        corpus,
        diagnostics,
        docstrings,
        evaluation,
        explain,
        plot,
        report,
        storage,
        testing,
        zoo,
    )
    from pgbn.checkpoint import resume
    from pgbn.engine.first_layer.choice import register_sampler
    from pgbn.engine.plan import register_kernel
    from pgbn.engine.rows.new_rows import NewRows
    from pgbn.engine.run.chain import Chain
    from pgbn.engine.run.draws import Draws
    from pgbn.engine.run.progress import Event
    from pgbn.engine.run.timing import time_samplers
    from pgbn.errors import (
        DataError,
        MissingRuleError,
        NetworkError,
        PgbnError,
        PgbnWarning,
        StaleReadError,
        StorageError,
    )
    from pgbn.estimators import PFA as PFA
    from pgbn.estimators import PGBN as PGBN
    from pgbn.estimators import NetworkTransformer as NetworkTransformer
    from pgbn.evaluation import (
        HeldOutPerplexity,
        completion_perplexity,
        generate_documents,
        split_tokens,
    )
    from pgbn.network.network import Network
    from pgbn.nodes import (
        Bernoulli,
        BernoulliPoisson,
        Beta,
        BetaOdds,
        Categorical,
        Categories,
        Constant,
        Dirichlet,
        Edge,
        Gamma,
        HiddenPoisson,
        Index,
        Latent,
        LogitBernoulli,
        LogNormal,
        Mix,
        Multinomial,
        Node,
        Normal,
        Observed,
        ObservedNormal,
        Pairs,
        Poisson,
        PoissonGamma,
        Product,
        RandomisedGamma,
        Rename,
        Self,
        Shift,
        Slot,
        Sum,
        distinct,
        same,
    )
    from pgbn.nodes.rules.registry import (
        counts_are_data,
        draw_rule,
        evidence_rule,
        kernel_rule,
        link_rule,
        rules,
    )
    from pgbn.nodes.rules.types import Evidence
    from pgbn.samplers.disk import Disk
    from pgbn.samplers.executor import Threads
    from pgbn.samplers.on_ray import Ray
    from pgbn.storage import load, save
    from pgbn.storage.blocks import Corpus
    from pgbn.training.growing import Progress
    from pgbn.training.grown import GrownNetwork
    from pgbn.training.layerwise import train_layerwise
    from pgbn.training.merging import merge_topics
    from pgbn.training.minibatch.train import MinibatchEvent, train_minibatch
    from pgbn.training.new_rows import HiddenUnits, infer
    from pgbn.training.streamed import transform_to
    from pgbn.training.surgery import grow, prune
    from pgbn.training.trained import Priors, TrainedNetwork
    from pgbn.training.training_result import LayerwiseTraining
    from pgbn.versions import show_versions

# Without the estimators, which are an extra: `from pgbn import *` works where they are not.
__all__ = [
    "Bernoulli",
    "BernoulliPoisson",
    "Beta",
    "BetaOdds",
    "Categorical",
    "Categories",
    "Chain",
    "Constant",
    "Corpus",
    "DataError",
    "Dirichlet",
    "Disk",
    "Draws",
    "Edge",
    "Event",
    "Evidence",
    "Gamma",
    "GrownNetwork",
    "HeldOutPerplexity",
    "HiddenPoisson",
    "HiddenUnits",
    "Index",
    "Latent",
    "LayerwiseTraining",
    "LogNormal",
    "LogitBernoulli",
    "MinibatchEvent",
    "MissingRuleError",
    "Mix",
    "Multinomial",
    "Network",
    "NetworkError",
    "NewRows",
    "Node",
    "Normal",
    "Observed",
    "ObservedNormal",
    "Pairs",
    "PgbnError",
    "PgbnWarning",
    "Poisson",
    "PoissonGamma",
    "Priors",
    "Product",
    "Progress",
    "RandomisedGamma",
    "Ray",
    "Rename",
    "Self",
    "Shift",
    "Slot",
    "StaleReadError",
    "StorageError",
    "Sum",
    "Threads",
    "TrainedNetwork",
    "checkpoint",
    "completion_perplexity",
    "corpus",
    "counts_are_data",
    "diagnostics",
    "distinct",
    "docstrings",
    "draw_rule",
    "evaluation",
    "evidence_rule",
    "explain",
    "generate_documents",
    "grow",
    "infer",
    "kernel_rule",
    "link_rule",
    "load",
    "merge_topics",
    "plot",
    "prune",
    "register_kernel",
    "register_sampler",
    "report",
    "resume",
    "rules",
    "same",
    "save",
    "show_versions",
    "split_tokens",
    "storage",
    "testing",
    "time_samplers",
    "train_layerwise",
    "train_minibatch",
    "transform_to",
    "zoo",
]

# The room that can read each kind of folder.
for _kind, _room in {
    "corpus": "pgbn.storage.blocks",
    "network": "pgbn.network",
    "chain": "pgbn.engine",
    "draws": "pgbn.engine",
    "run": "pgbn.engine",
    "trained": "pgbn.training",
    "training": "pgbn.training",
    "grown": "pgbn.training",
    "checkpoint": "pgbn.training",
    "minibatch": "pgbn.training.minibatch.minibatch_files",
    "estimator": "pgbn.estimators",
    "transformer": "pgbn.estimators",
}.items():
    codec_in(_kind, _room)


def _homes() -> dict[str, str]:
    """The module of every public name, as the imports above say."""
    tree = ast.parse(get_data(__name__, "__init__.py") or b"")  # also from a zip
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


_HOMES = _homes()
_LOCK = RLock()


def __getattr__(name: str) -> Any:
    """A public name, or a room, that is not there yet: imported now, and kept."""
    room = name.isidentifier() and not name.startswith("_")
    if name not in _HOMES and (not room or find_spec(f"pgbn.{name}") is None):
        raise AttributeError(f"module 'pgbn' has no attribute {name!r}")
    home = _HOMES.get(name, "pgbn")
    try:
        with _LOCK:  # threads that ask at once would meet half-imported modules
            found = import_module(f"pgbn.{name}" if home == "pgbn" else home)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("sklearn"):
            raise
        raise ImportError(f"pgbn.{name} needs scikit-learn: pip install 'pgbn[sklearn]'") from error
    globals()[name] = found if home == "pgbn" else getattr(found, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(_HOMES)
