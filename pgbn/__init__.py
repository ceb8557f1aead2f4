"""pgbn: deep Bayesian models of counts, declared as networks of distribution nodes."""

from pgbn import zoo
from pgbn.chain import Chain
from pgbn.draws import Draws
from pgbn.errors import DataError, MissingRuleError, NetworkError, PgbnError, StaleReadError
from pgbn.evidence import Evidence
from pgbn.network import Network
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
from pgbn.registry import counts_are_data, draw_rule, evidence_rule, link_rule, rules

__version__ = "0.1.0"

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
    "Evidence",
    "Gamma",
    "Latent",
    "MissingRuleError",
    "Mix",
    "Multinomial",
    "Network",
    "NetworkError",
    "Node",
    "Observed",
    "PgbnError",
    "Poisson",
    "PoissonGamma",
    "Product",
    "Rename",
    "Self",
    "Shift",
    "Slot",
    "StaleReadError",
    "Sum",
    "counts_are_data",
    "draw_rule",
    "evidence_rule",
    "link_rule",
    "rules",
    "zoo",
]
