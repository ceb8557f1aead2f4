"""The public names of pgbn, and where each comes from: read by `pgbn`, editors, type checkers."""

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
from pgbn.engine.first_layer.registry import register_sampler
from pgbn.engine.first_layer.timing import time_samplers
from pgbn.engine.plan import register_kernel
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.progress import Event
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
    Constant,
    Dirichlet,
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
)
from pgbn.nodes.rules.evidence import Evidence
from pgbn.nodes.rules.registry import counts_are_data, draw_rule, evidence_rule, link_rule, rules
from pgbn.storage import load, save
from pgbn.training.layerwise import LayerwiseTraining, Progress, train_layerwise
from pgbn.training.new_rows import HiddenUnits, infer
from pgbn.training.surgery import grow, prune
from pgbn.training.trained import Priors, TrainedNetwork
from pgbn.versions import __version__ as __version__
from pgbn.versions import show_versions

__all__ = [
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
