"""How good a trained model is, and the exchange of counts with other packages.

What is asked of one model, such as its topics or its perplexity, is a method of the model.
"""

from pgbn.evaluation.exchange import from_anndata
from pgbn.evaluation.generation import overdispersion
from pgbn.evaluation.held_out import HeldOut, split_tokens
from pgbn.evaluation.layer_quality import coherence, diversity, layer_quality, training_advice
from pgbn.evaluation.topics import topic_stability

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
