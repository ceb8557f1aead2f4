"""Pictures: a network as SVG (`plot`), and figures of trained models with matplotlib."""

from pgbn.plot.animate import Animation, animate
from pgbn.plot.figures import document_map, layer_widths, top_words, topic_graph, traces
from pgbn.plot.picture import Picture, plot
from pgbn.plot.schedule import plot_schedule

__all__ = [
    "Animation",
    "Picture",
    "animate",
    "document_map",
    "layer_widths",
    "plot",
    "plot_schedule",
    "top_words",
    "topic_graph",
    "traces",
]
