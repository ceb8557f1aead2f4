"""What a trained network is worth and what it has found."""

from pgbn.evaluation.advice import training_advice
from pgbn.evaluation.coherence import coherence, diversity, leading_terms, word_coherence
from pgbn.evaluation.generation import SyntheticDocuments, generate_documents
from pgbn.evaluation.held_out import HeldOut
from pgbn.evaluation.layer_quality import LayerQuality, Twins, layer_quality, similar_topics
from pgbn.evaluation.overdispersion import (
    overdispersion,
    predicted_overdispersion,
    variance_to_mean,
)
from pgbn.evaluation.perplexity import HeldOutPerplexity, completion_perplexity, split_tokens
from pgbn.evaluation.projection import (
    Topic,
    leading_words,
    project,
    topic_dag,
    topic_weights,
    topics,
)
from pgbn.evaluation.reduction import groups_for
from pgbn.evaluation.row_likelihood import row_log_likelihood

__all__ = [
    "HeldOut",
    "HeldOutPerplexity",
    "LayerQuality",
    "SyntheticDocuments",
    "Topic",
    "Twins",
    "coherence",
    "completion_perplexity",
    "diversity",
    "generate_documents",
    "groups_for",
    "layer_quality",
    "leading_terms",
    "leading_words",
    "overdispersion",
    "predicted_overdispersion",
    "project",
    "row_log_likelihood",
    "similar_topics",
    "split_tokens",
    "topic_dag",
    "topic_weights",
    "topics",
    "training_advice",
    "variance_to_mean",
    "word_coherence",
]
