"""The first screen: what is in this corpus, in plain words.

The largest themes that differ in their words, each with the topics that it is made of and a
document in which it stands out.
"""

from __future__ import annotations

import numpy as np

from pgbn.evaluation.layer_quality import SHARED, TOP, shared_words
from pgbn.report.data import ReportData
from pgbn.report.text import clean_text, grouped, html_text, several

__all__ = ["distinct_topics", "example_of", "examples", "overview_html", "theme_layer"]

_THEMES, _CHILDREN = 10, 4
_LEAST_CHILD = 0.05  # of a theme
_BEGINNING = 180  # characters of an example
_CANDIDATES, _WORDS, _READ = 40, 15, 5000  # documents, words and characters that are looked at


def distinct_topics(data: ReportData, layer: int, most: int = _THEMES) -> list[int]:
    """The largest topics of a layer, without those that share six of ten words with a larger one;
    topics that are not in use are left out."""
    shared = shared_words(data.ranked(layer, TOP))
    found: list[int] = []
    for k in np.argsort(-data.weights[layer - 1], kind="stable").tolist():
        if data.active[layer - 1][k] and all(shared[k, other] < SHARED for other in found):
            found.append(k)
        if len(found) == most:
            break
    return found


def theme_layer(data: ReportData) -> int:
    """The highest layer with ten distinct topics; the second, or the only one, if none has."""
    for layer in range(data.depth, 1, -1):
        if len(distinct_topics(data, layer)) == _THEMES:
            return layer
    return min(2, data.depth)


def overview_html(data: ReportData) -> str:
    """A few sentences, and a list of themes."""
    layer = theme_layer(data)
    themes = distinct_topics(data, layer)
    taken = float(data.weights[layer - 1][themes].sum())
    shown = examples(data)
    items = "".join(_theme(data, layer, k, shown) for k in themes)
    return f"""<p class="plain">{_sentences(data)}</p>
<p class="note">{_what_is_listed(data, layer, len(themes), taken)}</p>
<ol class="themes">{items}</ol>"""


def examples(data: ReportData) -> dict[int, int]:
    """Of each theme that is listed, the document that is its example; none if none is known."""
    layer, found = theme_layer(data), dict[int, int]()
    for k in distinct_topics(data, layer) if data.theta else ():
        found[k] = example_of(data, layer, k, set(found.values()))
    return found


def _sentences(data: ReportData) -> str:
    """The size of the corpus, and what was found in it."""
    widths = [int(active.sum()) for active in data.active]
    about = f"{grouped(data.size)} documents" if data.size else "The documents"
    hold = f"{about} with {grouped(len(data.vocabulary))} different terms hold "
    found = f"{several(widths[0], 'topic')}: groups of words that occur together."
    joined = [
        f"layer {t} joins {'them' if t == 2 else 'these'} into {several(width, 'theme')}"
        for t, width in enumerate(widths[1:], 2)
    ]
    more = ", ".join(joined)
    return hold + found + (f" {more[0].upper()}{more[1:]}." if more else "")


def _what_is_listed(data: ReportData, layer: int, number: int, taken: float) -> str:
    kind = "themes" if layer > 1 else "topics"
    here = f"of layer {layer} " if data.depth > 1 else ""
    made = " what it is made of," if layer > 1 else ""
    example = " and a document in which it stands out" if data.theta else ""
    return (
        f"The {number} largest {kind} {here}that differ in their words, {_percent(taken)} of the "
        f"corpus together. Each is named by words that stand for it, with{made}{example}. Choose "
        "one for more."
    )


def _theme(data: ReportData, layer: int, k: int, shown: dict[int, int]) -> str:
    share = float(data.weights[layer - 1][k])
    return (
        f'<li class="theme"><h3>{_button(data, layer, k, 5)}'
        f'<span class="number">{_percent(share)}</span></h3>'
        f"{_children(data, layer, k)}{_example(data, layer, k, shown[k]) if shown else ''}</li>"
    )


def _button(data: ReportData, layer: int, k: int, words: int) -> str:
    label = data.labels.get((layer, k))
    shown = data.words(layer, k, words)
    named = "".join(f"<bdi>{html_text(word)}</bdi> " for word in shown)
    if label:
        named = f"<strong><bdi>{html_text(label)}</bdi></strong> {named}"
    said = html_text(f"Layer {layer}, topic {k}: " + ", ".join(filter(None, [label, *shown])))
    return f'<button type="button" data-choose="{layer}/{k}" aria-label="{said}">{named}</button>'


def _children(data: ReportData, layer: int, k: int) -> str:
    """The strongest parts of a theme."""
    if layer == 1:
        return ""
    row = data.phi[layer - 1][k]
    order = np.argsort(-row, kind="stable")[:_CHILDREN].tolist()
    items = "".join(
        f'<li>{_button(data, layer - 1, child, 3)} <span class="number">{_percent(row[child])}'
        "</span></li>"
        for child in order
        if row[child] >= _LEAST_CHILD
    )
    return f'<ul class="chips" aria-label="What it is made of">{items}</ul>' if items else ""


def example_of(data: ReportData, layer: int, k: int, used: set[int]) -> int:
    """Of the documents with the largest shares of a theme, one that no other theme has shown yet:
    where texts are known, that with most of the theme's words, for a document of three words may
    well be of one theme alone."""
    leading = data.leading(layer, _CANDIDATES)[k].tolist()
    free = [j for j in leading if j not in used] or leading
    if data.texts is None:
        return int(free[0])
    words = [str(word).lower() for word in data.words(layer, k, _WORDS)]
    texts = [str(data.texts[j])[:_READ].lower() for j in free]
    held = [sum(word in text for word in words) for text in texts]
    scores = [
        count * float(data.theta[layer - 1][j, k]) for count, j in zip(held, free, strict=True)
    ]
    return int(free[int(np.argmax(scores))])


def _example(data: ReportData, layer: int, k: int, number: int) -> str:
    title = html_text(data.name_of(number)[:90])
    text = ""
    if data.texts is not None:
        begin = " ".join(str(data.texts[number])[: 3 * _BEGINNING].split())
        if len(begin) > _BEGINNING:
            begin = begin[:_BEGINNING].rsplit(" ", 1)[0] + " …"
        if data.titles is not None and begin:
            text = f' <span class="begin"><bdi>{html_text(begin)}</bdi></span>'
    share = _percent(float(data.theta[layer - 1][number, k]))
    said = html_text(clean_text(data.name_of(number)[:90]))
    return (
        f'<p class="example">For example <button type="button" data-paper="{number}" '
        f'aria-label="Read {said}"><bdi>{title}</bdi></button> <span class="whole">({share})</span>'
        f"{text}</p>"
    )


def _percent(share: float) -> str:
    value = 100 * share
    shown = f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 0.1 else "&lt;0.1"
    return f"{shown} %"
