"""Published models as compositions of nodes: one short file each."""

from typing import TYPE_CHECKING, Any

from pgbn.errors import missing_name
from pgbn.zoo.author_topic import author_topic
from pgbn.zoo.bnbp import bnbp
from pgbn.zoo.bptf import bptf
from pgbn.zoo.covariates import covariates
from pgbn.zoo.cpgbn import cpgbn, phrase_windows
from pgbn.zoo.deep_pgds import deep_pgds
from pgbn.zoo.dirbn import dirbn
from pgbn.zoo.dpfa_sbn import dpfa_sbn
from pgbn.zoo.dynamic_topics import dynamic_topics
from pgbn.zoo.epm import epm
from pgbn.zoo.gated_pfa import gated_pfa
from pgbn.zoo.gp_dpfa import gp_dpfa
from pgbn.zoo.hgp_epm import hgp_epm
from pgbn.zoo.hidden_markov import hidden_markov
from pgbn.zoo.hpf import hpf
from pgbn.zoo.lda import hdp_lda, lda
from pgbn.zoo.multimodal import multimodal
from pgbn.zoo.nbfa import nbfa
from pgbn.zoo.pgbn import pfa, pgbn
from pgbn.zoo.pgds import pgds
from pgbn.zoo.poisson_mixture import poisson_mixture
from pgbn.zoo.prgds import prgds
from pgbn.zoo.tucker import tucker

__all__ = [
    "author_topic", "bnbp", "bptf", "covariates", "cpgbn", "deep_pgds", "dirbn", "dpfa_sbn",
    "dynamic_topics", "epm", "gated_pfa", "gp_dpfa", "hdp_lda", "hgp_epm",
    "hidden_markov", "hpf", "lda", "multimodal", "nbfa", "pfa", "pgbn", "pgds", "phrase_windows",
    "poisson_mixture", "prgds", "tucker",
]  # fmt: skip


# What other packages call a model.
_OTHERS = {
    **dict.fromkeys(("NMF", "nmf", "GaP", "gap"), "write pgbn.zoo.hpf"),
    **dict.fromkeys(("HDP", "hdp"), "write pgbn.zoo.hdp_lda"),
}

if not TYPE_CHECKING:  # it would hide unknown names from type checkers

    def __getattr__(name: str) -> Any:
        """No such name: an error with a similar one."""
        raise missing_name("pgbn.zoo", name, __all__, _OTHERS)
