"""Figures of trained models with matplotlib; what ``Network.plot`` and ``animate`` return."""

from pgbn.plot.animate import Animation
from pgbn.plot.figures import document_map, layer_widths, top_words, topic_graph, traces
from pgbn.plot.picture import Picture

__all__ = [
    "Animation",
    "Picture",
    "document_map",
    "layer_widths",
    "top_words",
    "topic_graph",
    "traces",
]
