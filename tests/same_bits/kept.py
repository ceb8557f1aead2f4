"""The cases that stay once the refactoring that all of them guard is done: about a hundred.

They run every Python function and every compiled kernel that all the cases together run (but for
what `check_conjugacy` calls, see tests/testing), and hold every node type of the zoo, every
sampler of the first layer and every saved format. Other executors are compared with threads, bit
by bit, in tests/samplers and tests/engine/shards. To drop the rest: select these in `cases`, and
run ``python -m tests.same_bits.record``.
"""

from __future__ import annotations

__all__ = ["KEPT"]

_FIRST_LAYER = ("collapsed", "partial", "blocked")


def _chains(samplers: tuple[str, ...], *names: str) -> list[str]:
    return [f"chain/{name}/{sampler}" for name in names for sampler in samplers]


def _of(group: str, *names: str) -> list[str]:
    return [f"{group}/{name}" for name in names]


KEPT: tuple[str, ...] = (
    # every sampler of the first layer: deep, many rows, many topics, large counts
    *_chains((*_FIRST_LAYER, "composed"), "large pgbn poisson"),
    *_chains(_FIRST_LAYER, "many documents poisson", "many topics", "large counts"),
    "chain/many documents lda/collapsed",
    "chain/hardly any counts/collapsed",
    "chain/small pgbn poisson 1/collapsed",
    "chain/large hdp_lda/partial",
    "chain/own product_and_sum/partial",
    *_chains(("blocked", "composed"), "own background"),
    # node types, links and expressions, by the sampler that is chosen
    *_chains(
        ("auto",), "many documents bernoulli", "many documents gamma", "sparse input",
        "large pgbn bernoulli", "large pgbn gamma", "large lda", "large hdp_lda", "large bnbp",
        "large multimodal", "large gamma_markov_chain", "large pgds", "large gated_pfa",
        "own background", "own product_and_sum", "own tensor", "own words_and_tags", "own walk",
        "own walk_with_base", "own shape_with_base", "own renamed_chain", "own order_interleaved",
        "own own_node", "masked multimodal", "masked pgbn poisson", "wider epm", "wider hgp_epm",
        "wider covariates", "wider cpgbn", "wider dirbn", "wider dpfa_sbn", "wider dynamic_topics",
        "wider hidden_markov", "wider nbfa", "wider prgds", "wider tucker",
    ),
    *_of("chain", "imputed", "init and number", "restored", "restored before a sweep",
         "nodes on demand"),
    *_of("replicated", "multimodal", "hdp_lda", "pgbn poisson 2"),
    # every variate
    *_of("vectorised", "bernoulli", "bessel", "beta", "beta_odds", "binomial", "crt", "dirichlet",
         "dirichlet sparse", "gamma", "gamma large", "log_gamma", "multinomial", "neg_log_beta",
         "poisson", "poisson large", "truncated_poisson"),
    # draws, new rows, training
    *_of("sample", "pgbn poisson", "imputed cells"),
    "generate/given values",
    *_of("infer", "poisson 3", "bernoulli 2", "gamma 2", "names", "large counts"),
    *_of("train", "poisson", "bernoulli", "gamma", "pruned bernoulli", "longer", "events"),
    "surgery/prune and grow",
    *_of("documents", "bernoulli", "prior c"),
    # every saved format
    *_of("saved chain", "gated_pfa/auto", "hdp_lda/auto", "pgbn poisson/collapsed", "masked"),
    *_of("resumed", "first layer", "second layer", "collecting", "blocked"),
    "saved estimator/PGBN",
    # what is computed from draws
    *_of("estimator", "PGBN", "PGBN gamma", "PFA", "warm start"),
    *_of("evaluate", "topics", "held-out perplexity"),
    "corpus/count terms",
    "testing/geweke",
)  # fmt: skip
