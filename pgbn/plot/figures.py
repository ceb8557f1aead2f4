"""Figures for papers: the pictures of the report in matplotlib (extra ``pgbn[plots]``).

    ax = pgbn.plot.topic_graph(model, vocabulary=terms)
    ax.figure.savefig("graph.pdf")

Every function takes a trained model (or a list of chains, or what `pgbn.report.report_data`
returned), draws on ``ax`` (a new one by default) and returns it; `traces` has one of them for each
quantity. Further arguments, such as ``vocabulary`` and ``X``, are those of `report_data`. Nothing
is shown or saved.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, is_integral, layer_error
from pgbn.errors import DataError, PgbnError
from pgbn.evaluation.topic_words import topic_name
from pgbn.report.convert import report_data
from pgbn.report.data import ReportData
from pgbn.report.embedding import document_positions
from pgbn.report.text import clean_text

Axes = Any  # matplotlib.axes.Axes; matplotlib is imported when a figure is drawn
_COLOURS = ("#3a6fb0", "#d17a22", "#3d9259", "#c04a4a", "#7d5fae", "#8a6547", "#c766a3", "#2a999f")
_GREY, _LIGHT = "#8a949e", "#d5e4f2"


def topic_graph(
    model: Any,
    ax: Axes | None = None,
    *,
    topics: int = 20,
    links: int = 3,
    words: int = 3,
    **options: Any,
) -> Axes:
    """Draw the largest topics of every layer and their strongest links.

    The top layer is at the left; linked topics lie at similar heights.

    Parameters
    ----------
    model
        A trained model, a list of chains, or what `pgbn.report.report_data` returned.
    ax
        The axes of matplotlib to draw on; new ones by default.
    topics, links, words
        How many topics of each layer, links of each topic, and words of each topic.
    **options
        Those of `pgbn.report.report_data`, such as ``vocabulary`` and ``X``.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; ``ax.figure.savefig("figure.pdf")`` saves them.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
    >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
    >>> ax = pgbn.plot.topic_graph(model, words=1, vocabulary=["rain", "wind", "sun"])
    >>> sorted(text.get_text() for text in ax.texts)
    ['Layer 1', 'rain', 'sun']
    """
    topics, links = check_integer("topics", topics, 1), check_integer("links", links, 0)
    words, data = check_integer("words", words, 1), report_data(model, **options)
    order = _arrange(data, topics)
    rows = max(len(layer) for layer in order)
    ax = _axes(ax, (2.9 * data.depth, 0.26 * rows + 0.6))
    half = 0.36  # of the width of a box
    place = {}
    for t, layer in enumerate(order):
        for at, k in enumerate(layer):
            place[t, k] = (float(data.depth - 1 - t), (at + 0.5) * rows / len(layer))
    for t in range(1, data.depth):
        for k in order[t]:
            row = data.phi[t][k]
            for child in np.argsort(-row, kind="stable")[:links].tolist():
                if (t - 1, child) in place:
                    _link(ax, place[t, k], place[t - 1, child], half, float(row[child]))
    for (t, k), (x, y) in place.items():
        share = data.weights[t][k] / max(float(data.weights[t].max()), 1e-300)
        ax.barh(y, 2 * half, 0.8, x - half, facecolor="white", edgecolor=_GREY, linewidth=0.5)
        ax.barh(y, 2 * half * share, 0.8, x - half, facecolor=_LIGHT)
        label = " ".join(data.words(t + 1, k, words))
        shown = label if len(label) <= 30 else label[:29] + "…"
        ax.text(x - half + 0.015, y, _plain(shown), va="center", fontsize=7.5)
    for t in range(data.depth):
        ax.text(data.depth - 1 - t - half, -0.25, f"Layer {t + 1}", fontsize=9, weight="bold")
    ax.set_xlim(-half - 0.02, data.depth - 1 + half + 0.02)
    ax.set_ylim(rows, -0.9)
    ax.axis("off")
    return ax


def layer_widths(model: Any, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw the active topics of every layer against its maximum width.

    Parameters
    ----------
    model
        A trained model, a list of chains, or what `pgbn.report.report_data` returned.
    ax
        The axes of matplotlib to draw on; new ones by default.
    **options
        Those of `pgbn.report.report_data`, such as ``max_width``.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; ``ax.figure.savefig("figure.pdf")`` saves them.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
    >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
    >>> pgbn.plot.layer_widths(model, max_width=4).texts[0].get_text()
    ' 2 of 4'
    """
    data = report_data(model, **options)
    ax = _axes(ax, (4.5, 0.5 * data.depth + 0.8))
    layers = np.arange(1, data.depth + 1)
    given = [max(budget, width) for budget, width in zip(data.budget, data.widths, strict=True)]
    active = [int(flags.sum()) for flags in data.active]
    ax.barh(layers, given, 0.6, color=_LIGHT, label="given")
    ax.barh(layers, active, 0.6, color=_COLOURS[0], label="active")
    for layer, (used, budget) in enumerate(zip(active, given, strict=True), 1):
        ax.text(budget * 1.01, layer, f" {used} of {budget}", va="center", fontsize=9)
    ax.set_yticks(layers, [f"layer {t}" for t in layers])
    ax.set_xlim(0, max(given) * 1.25)
    ax.set_xlabel("topics")
    _clean(ax)
    return ax


def traces(model: Any, **options: Any) -> list[Axes]:
    """Draw every quantity that does not depend on the numbering of topics along the sweeps.

    Each chain is a line; the title has the effective sample size (ESS) and R-hat.

    Parameters
    ----------
    model
        A trained model, a list of chains, or what `pgbn.report.report_data` returned.
    **options
        Those of `pgbn.report.report_data`, such as ``vocabulary`` and ``X``.

    Returns
    -------
    list of matplotlib.axes.Axes
        One for each quantity.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> X = np.array([[4, 1, 0, 0], [0, 0, 3, 5], [5, 2, 0, 0], [0, 0, 4, 4]])
    >>> training = pgbn.train_layerwise(
    ...     X, 3, 1, burn_in=4, sweeps=4, trace_every=1, progress=False
    ... )
    >>> axes = pgbn.plot.traces(training)
    >>> len(axes) > 0
    True
    """
    data = report_data(model, **options)
    if not data.series:
        raise DataError("traces: no traces were kept; train with trace_every > 0")
    rows = len(data.series)
    plt = _matplotlib("pyplot")
    _, axes = plt.subplots(rows, 1, figsize=(6, 1.9 * rows), squeeze=False, layout="constrained")
    for ax, series in zip(axes[:, 0], data.series, strict=True):
        for chain, values in enumerate(series.values):
            ax.plot(series.sweeps, values, color=_COLOURS[chain % len(_COLOURS)], linewidth=0.9)
        for sweep, _ in data.stages:
            ax.axvline(sweep, color=_GREY, linewidth=0.7, linestyle=":")
        if series.settled:
            ax.axvspan(series.sweeps[series.settled], series.sweeps[-1], color=_LIGHT, alpha=0.5)
        # The first sweeps start far away; they must not compress the rest into a line.
        low, high = np.quantile(series.values, [0.05, 0.98])
        spread = float(high - low)
        if spread > 0:
            ax.set_ylim(max(series.values.min(), low - 0.3 * spread) - 0.05 * spread,
                        min(series.values.max(), high + 0.3 * spread) + 0.05 * spread)  # fmt: skip
        label = f"{series.name}  (ESS {series.ess:.0f}, R-hat {series.rhat:.3f})"
        ax.set_title(_plain(label), fontsize=9, loc="left")
        _clean(ax)
    axes[-1, 0].set_xlabel("sweep")
    return list(axes[:, 0])


def document_map(
    model: Any, ax: Axes | None = None, *, layer: int | None = None, **options: Any
) -> Axes:
    """Draw documents near those with similar topics, coloured by their main topic.

    The eight topics that lead in most documents have colours; all others are grey.

    Parameters
    ----------
    model
        A trained model, a list of chains, or what `pgbn.report.report_data` returned.
    ax
        The axes of matplotlib to draw on; new ones by default.
    layer
        The layer of the colours; by default the top one.
    **options
        Those of `pgbn.report.report_data`, such as ``vocabulary`` and ``X``.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; ``ax.figure.savefig("figure.pdf")`` saves them.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
    >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
    >>> X = np.array([[9, 4, 0], [0, 5, 9], [8, 8, 0]])
    >>> ax = pgbn.plot.document_map(model, X=X, vocabulary=["rain", "wind", "sun"])
    >>> len(ax.get_legend().texts)
    2
    """
    data = report_data(model, **options)
    if not data.theta:
        raise DataError("document_map: there are no documents; give them as X=")
    chosen = data.depth if layer is None else layer
    if chosen not in range(1, data.depth + 1):
        raise layer_error("layer", layer, data.depth)
    ax = _axes(ax, (7, 5))
    position = document_positions(data.theta[0], data.seed)
    leading = data.theta[chosen - 1].argmax(axis=1)
    counts = np.bincount(leading, minlength=data.widths[chosen - 1])
    top = [k for k in np.argsort(-counts, kind="stable")[: len(_COLOURS)].tolist() if counts[k]]
    size = 3.0 if data.size > 3000 else 10.0
    rest = ~np.isin(leading, top)
    ax.scatter(*position[rest].T, s=size, c="#c9cdd1", linewidths=0, rasterized=True)
    for colour, k in zip(_COLOURS, top, strict=False):
        here = leading == k
        label = _plain(" ".join(data.words(chosen, k, 3)))
        ax.scatter(*position[here].T, s=size, c=colour, linewidths=0, label=label, rasterized=True)
    ax.legend(fontsize=7.5, frameon=False, markerscale=2.5, loc="center left",
              bbox_to_anchor=(1.0, 0.5))  # fmt: skip
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def top_words(
    model: Any,
    layer: int,
    topic: int,
    ax: Axes | None = None,
    *,
    top: int = 15,
    **options: Any,
) -> Axes:
    """Draw the probabilities of the words that represent a topic.

    Parameters
    ----------
    model
        A trained model, a list of chains, or what `pgbn.report.report_data` returned.
    layer, topic
        The number of a layer, from 1, and of one of its topics, from 0.
    ax
        The axes of matplotlib to draw on; new ones by default.
    top
        How many words.
    **options
        Those of `pgbn.report.report_data`, such as ``vocabulary`` and ``X``.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; ``ax.figure.savefig("figure.pdf")`` saves them.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
    >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
    >>> ax = pgbn.plot.top_words(model, 1, 0, top=2, vocabulary=["rain", "wind", "sun"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['rain', 'wind']
    """
    top, data = check_integer("top", top, 1), report_data(model, **options)
    psi = data.project(layer)
    if not is_integral(topic) or not 0 <= topic < psi.shape[0]:
        raise DataError(f"topic={topic!r:.60}: topics of layer {layer} are 0 to {psi.shape[0] - 1}")
    topic = int(topic)
    order = data.ranked(int(layer), top)[topic]
    ax = _axes(ax, (3.6, 0.24 * len(order) + 0.7))
    ax.barh(np.arange(len(order)), psi[topic, order], 0.7, color=_COLOURS[0])
    ax.set_yticks(np.arange(len(order)), [_plain(data.vocabulary[v]) for v in order], fontsize=8)
    ax.invert_yaxis()
    ax.set_title(topic_name(int(layer), topic), fontsize=9, loc="left")
    _clean(ax)
    return ax


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    if ax is None:
        return _matplotlib("pyplot").subplots(figsize=size, layout="constrained")[1]
    if not hasattr(ax, "add_patch"):
        raise DataError(f"ax={ax!r:.60}: give the Axes of matplotlib, or None")
    return ax


def _matplotlib(module: str) -> Any:
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError:
        raise PgbnError("figures need matplotlib: pip install 'pgbn[plots]'") from None


def _clean(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def _plain(text: str) -> str:
    """Text that matplotlib does not take for a formula, without characters that it cannot draw."""
    printable = "".join(c if c.isprintable() else " " for c in clean_text(text))
    return printable.replace("$", r"\$")


def _arrange(data: ReportData, topics: int) -> list[list[int]]:
    """The heaviest topics of each layer, sorted by the mean place of the linked topics, in a few
    passes up and down."""
    order = [np.argsort(-w, kind="stable")[:topics].tolist() for w in data.weights]

    def sort(t: int, other: int, weights: NDArray[np.float64]) -> None:
        """``weights`` is (topics of t, topics of other)."""
        places = (np.arange(len(order[other])) + 0.5) / len(order[other])
        linked = weights[np.ix_(order[t], order[other])] ** 2
        means = (linked @ places) / np.maximum(linked.sum(axis=1), 1e-300)
        order[t] = [order[t][i] for i in np.argsort(means, kind="stable")]

    for _ in range(6):
        for t in range(data.depth - 2, -1, -1):
            sort(t, t + 1, data.phi[t + 1].T)
        for t in range(1, data.depth):
            sort(t, t - 1, data.phi[t])
    return order


def _link(
    ax: Axes, above: tuple[float, float], below: tuple[float, float], half: float, share: float
) -> None:
    (x1, y1), (x2, y2) = (above[0] + half, above[1]), (below[0] - half, below[1])
    middle = (x1 + x2) / 2
    corners = [(x1, y1), (middle, y1), (middle, y2), (x2, y2)]
    path = _matplotlib("path").Path(corners, [1, 4, 4, 4])  # a Bézier curve
    line = _matplotlib("patches").PathPatch(
        path, fill=False, edgecolor=_GREY, alpha=0.5, linewidth=0.3 + 6 * share
    )
    ax.add_patch(line)
