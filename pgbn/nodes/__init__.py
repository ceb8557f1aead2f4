"""The node types: each with its specification and its rules."""

from pgbn.nodes.base import Latent, Node, Observed, node_types
from pgbn.nodes.bernoulli import Bernoulli, LogitBernoulli
from pgbn.nodes.bernoulli_poisson import BernoulliPoisson
from pgbn.nodes.beta import Beta, BetaOdds
from pgbn.nodes.categorical import Categorical
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.edge import Edge
from pgbn.nodes.expression import Constant, Mix, Product, Rename, Slot, Sum
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.hidden_poisson import HiddenPoisson
from pgbn.nodes.index import Categories, Index
from pgbn.nodes.multinomial import Multinomial
from pgbn.nodes.normal import LogNormal, Normal, ObservedNormal
from pgbn.nodes.pairs import Pairs, distinct, same
from pgbn.nodes.poisson import Poisson
from pgbn.nodes.poisson_gamma import PoissonGamma, RandomisedGamma
from pgbn.nodes.rules import (
    Evidence,
    counts_are_data,
    draw_rule,
    evidence_rule,
    kernel_rule,
    link_rule,
    seal,
)
from pgbn.nodes.shift import Self, Shift
from pgbn.nodes.slice_sampling import slice_draw as slice_draw

__all__ = [
    "Bernoulli", "BernoulliPoisson", "Beta", "BetaOdds", "Categorical", "Categories", "Constant",
    "Dirichlet", "Edge", "Evidence", "Gamma", "HiddenPoisson", "Index", "Latent", "LogNormal",
    "LogitBernoulli", "Mix", "Multinomial", "Node", "Normal", "Observed", "ObservedNormal", "Pairs",
    "Poisson", "PoissonGamma", "Product", "RandomisedGamma", "Rename", "Self", "Shift", "Slot",
    "Sum", "counts_are_data", "distinct", "draw_rule", "evidence_rule", "kernel_rule", "link_rule",
    "node_types", "same",
]  # fmt: skip

seal()
