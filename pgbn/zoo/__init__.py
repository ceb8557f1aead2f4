"""Published models as compositions of nodes: one short function each."""

from pgbn.zoo.belief_networks import multimodal, pfa, pgbn
from pgbn.zoo.dynamical_systems import (
    deep_pgds,
    gamma_markov_chain,
    gp_dpfa,
    hidden_markov,
    pgds,
    prgds,
)
from pgbn.zoo.factorisations import bptf, epm, hgp_epm, hpf, poisson_mixture, tucker
from pgbn.zoo.topics import (
    author_topic,
    bnbp,
    covariates,
    cpgbn,
    dirbn,
    dpfa_sbn,
    dynamic_topics,
    gated_pfa,
    hdp_lda,
    lda,
    nbfa,
    phrase_windows,
)

__all__ = [
    "author_topic", "bnbp", "bptf", "covariates", "cpgbn", "deep_pgds", "dirbn", "dpfa_sbn",
    "dynamic_topics", "epm", "gamma_markov_chain", "gated_pfa", "gp_dpfa", "hdp_lda", "hgp_epm",
    "hidden_markov", "hpf", "lda", "multimodal", "nbfa", "pfa", "pgbn", "pgds", "phrase_windows",
    "poisson_mixture", "prgds", "tucker",
]  # fmt: skip
