"""How good a trained model is, and the exchange of counts with other packages.

What is asked of one model, such as its topics or its perplexity, is a method of the model.
"""

from typing import Any

from pgbn.evaluation.exchange import from_anndata
from pgbn.evaluation.generation import overdispersion
from pgbn.evaluation.held_out import HeldOut, split_tokens
from pgbn.evaluation.layer_quality import coherence, diversity, layer_quality, training_advice
from pgbn.evaluation.topic_words import topic_stability

__all__ = [
    "HeldOut",
    "coherence",
    "diversity",
    "from_anndata",
    "layer_quality",
    "overdispersion",
    "split_tokens",
    "topic_stability",
    "training_advice",
]

_METHODS = {
    "topics": "model.topics(layer)",
    "find_topics": "model.find_topics(words)",
    "similar_topics": "model.similar_topics(layer)",
    "topic_similarity": "model.similarity(layer)",
    "project": "model.topic_terms(layer)",
    "topic_weights": "model.topic_weights(layer)",
    "topic_dag": "model.to_networkx(topic)",
    "all_topics_graph": "model.to_networkx()",
    "completion_perplexity": "model.perplexity(X)",
    "perplexity": "model.perplexity(X)",
    "generate": "model.generate(n)",
    "generate_documents": "model.generate(n)",
    "to_anndata": "model.to_anndata(data)",
    "to_pyldavis": "model.to_pyldavis(X)",
}


def __getattr__(name: str) -> Any:
    instead = f"; write {_METHODS[name]}" if name in _METHODS else ""
    raise AttributeError(f"module 'pgbn.evaluation' has no attribute {name!r}{instead}")
