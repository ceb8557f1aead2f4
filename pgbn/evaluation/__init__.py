"""The quality of a trained network, and the topics that it has found."""

from pgbn.evaluation.effects import Effects, compose, design_matrix
from pgbn.evaluation.exchange import all_topics_graph, from_anndata, to_anndata, to_pyldavis
from pgbn.evaluation.generation import (
    SyntheticDocuments,
    generate_documents,
    overdispersion,
    predicted_overdispersion,
    variance_to_mean,
)
from pgbn.evaluation.held_out import HeldOut
from pgbn.evaluation.layer_quality import (
    LayerQuality,
    SimilarTopics,
    coherence,
    diversity,
    layer_quality,
    leading_terms,
    similar_topics,
    training_advice,
    word_coherence,
)
from pgbn.evaluation.periods import time_bins
from pgbn.evaluation.perplexity import completion_perplexity, split_tokens
from pgbn.evaluation.projection import (
    Topic,
    find_topics,
    groups_for,
    keyword_labels,
    leading_words,
    project,
    topic_dag,
    topic_similarity,
    topic_stability,
    topic_weights,
    topics,
)
from pgbn.evaluation.shares import GroupShares, group_shares, share_draws

__all__ = [
    "Effects",
    "GroupShares",
    "HeldOut",
    "LayerQuality",
    "SimilarTopics",
    "SyntheticDocuments",
    "Topic",
    "all_topics_graph",
    "coherence",
    "completion_perplexity",
    "compose",
    "design_matrix",
    "diversity",
    "find_topics",
    "from_anndata",
    "generate_documents",
    "group_shares",
    "groups_for",
    "keyword_labels",
    "layer_quality",
    "leading_terms",
    "leading_words",
    "overdispersion",
    "predicted_overdispersion",
    "project",
    "share_draws",
    "similar_topics",
    "split_tokens",
    "time_bins",
    "to_anndata",
    "to_pyldavis",
    "topic_dag",
    "topic_similarity",
    "topic_stability",
    "topic_weights",
    "topics",
    "training_advice",
    "variance_to_mean",
    "word_coherence",
]
