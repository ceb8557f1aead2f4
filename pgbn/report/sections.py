"""The sections of the page. A new one is a function that returns its HTML and a row in `SECTIONS`.

A section that draws by script has a file in the folder ``assets``. All scripts are in every page,
in the order of their names; each ends at once if the page does not have its section.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.evaluation.layer_quality import (
    SHARED,
    TOP,
    duplicates_and_diversity,
    effective_width,
    shared_words,
)
from pgbn.evaluation.periods import periods_of
from pgbn.explain.render import html_body
from pgbn.report.data import ReportData, Series, Simplex
from pgbn.report.embedding import by_neighbours, document_positions, even_choice, explained
from pgbn.report.text import (
    base64_array,
    clean_text,
    grouped,
    html_table,
    html_text,
    several,
    short_number,
)

# ---- the topic graph: topics of every layer, and the links between layers -----------------------

_LINKS = 40_000  # links of the topic graph
_LEAST_LINK = 0.002


def graph_html(data: ReportData) -> str:
    """The container of the graph, and its switches."""
    made = (
        " Every topic of a layer is a mixture of topics of the layer below: the thicker the link, "
        "the larger the part."
    )
    several_layers = data.depth > 1
    return f"""<p class="note">A box is a topic, named by its leading words; its bar is its share in
the layer.{made * several_layers} Choose one for its words and documents. Keys: arrows, Enter,
Escape.</p>
<div class="tools"><label><input type="checkbox" id="all-topics"> all topics</label>
<label{" hidden" * (not several_layers)}><input type="checkbox" id="all-links"> all links</label>
<label><input type="checkbox" id="distinct"> names by distinctive words</label></div>
<div class="scroll" id="graph-place"></div>"""


def graph_payload(data: ReportData) -> dict[str, Any]:
    """For each layer above the first and each topic: child, weight in thousandths, child, …"""
    rows = sum(data.widths[1:])
    most = max(_LINKS // rows, 8) if rows else 0
    out = []
    for phi in data.phi[1:]:
        layer = []
        for row in phi:
            order = np.argsort(-row, kind="stable")[:most]
            order = order[row[order] >= min(_LEAST_LINK, float(row.max()))]
            layer.append([x for k in order.tolist() for x in (k, short_number(1000 * row[k], 3))])
        out.append(layer)
    return {"links": out}


# ---- the first screen: what is in this corpus ---------------------------------------------------

_THEMES, _CHILDREN = 10, 4
_LEAST_CHILD = 0.05  # of a theme
_BEGINNING = 180  # characters of an example
_CANDIDATES, _WORDS, _READ = 40, 15, 5000  # documents, words and characters that are examined


def distinct_topics(data: ReportData, layer: int, most: int = _THEMES) -> list[int]:
    """The largest topics of a layer, without those that share six of ten words with a larger one;
    unused topics are omitted."""
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
    """A few sentences, and a list of themes: the largest ones that differ in their words, each with
    its largest topics below and a document in which it stands out."""
    layer = theme_layer(data)
    themes, shown = distinct_topics(data, layer), examples(data)
    taken = _percent(float(data.weights[layer - 1][themes].sum()))
    here = f"of layer {layer} " if data.depth > 1 else ""
    made = " what it is made of," if layer > 1 else ""
    example = " and a document in which it stands out" if data.theta else ""
    items = "".join(
        f'<li class="theme"><h3>{_button(data, layer, k, 5)}'
        f'<span class="number">{_percent(float(data.weights[layer - 1][k]))}</span></h3>'
        f"{_children(data, layer, k)}{_example(data, layer, k, shown[k]) if shown else ''}</li>"
        for k in themes
    )
    return f"""<p class="plain">{_sentences(data)}</p>
<p class="note">The {len(themes)} largest {"themes" if layer > 1 else "topics"} {here}that differ in
their words, {taken} of the corpus together. Each is named by words that represent it,
with{made}{example}. Choose one for more.</p>
<ol class="themes">{items}</ol>"""


def examples(data: ReportData) -> dict[int, int]:
    """The example document of each listed theme; none if there are no documents."""
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
    more = ", ".join(
        f"layer {t} joins {'them' if t == 2 else 'these'} into {several(width, 'theme')}"
        for t, width in enumerate(widths[1:], 2)
    )
    return hold + found + (f" {more[0].upper()}{more[1:]}." if more else "")


def topic_words(data: ReportData, layer: int, k: int, words: int) -> str:
    """The label of a topic, if it has one, and the words that represent it."""
    named = "".join(f"<bdi>{html_text(word)}</bdi> " for word in data.words(layer, k, words))
    label = data.labels.get((layer, k))
    return f"<strong><bdi>{html_text(label)}</bdi></strong> {named}" if label else named


def _button(data: ReportData, layer: int, k: int, words: int) -> str:
    known = filter(None, [data.labels.get((layer, k)), *data.words(layer, k, words)])
    said = html_text(f"Layer {layer}, topic {k}: " + ", ".join(known))
    return (
        f'<button type="button" data-choose="{layer}/{k}" aria-label="{said}">'
        f"{topic_words(data, layer, k, words)}</button>"
    )


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
    """An example among the documents with the largest shares of a theme, which no other theme has
    shown yet. If there are texts, it is the one with most of the theme's words, since a document of
    three words may belong to one theme alone."""
    leading = data.leading(layer, _CANDIDATES)[k].tolist()
    free = [j for j in leading if j not in used] or leading
    if data.texts is None:
        return int(free[0])
    words = [str(word).lower() for word in data.words(layer, k, _WORDS)]
    texts = [str(data.texts[j])[:_READ].lower() for j in free]
    hits = [sum(word in text for word in words) for text in texts]
    return int(free[int(np.argmax(np.array(hits) * data.theta[layer - 1][free, k]))])


def _example(data: ReportData, layer: int, k: int, number: int) -> str:
    title, text = html_text(data.name_of(number)[:90]), ""
    if data.texts is not None and data.names is not None:
        begin = " ".join(str(data.texts[number])[: 3 * _BEGINNING].split())
        if len(begin) > _BEGINNING:
            begin = begin[:_BEGINNING].rsplit(" ", 1)[0] + " …"
        text = f' <span class="begin"><bdi>{html_text(begin)}</bdi></span>' if begin else ""
    share = _percent(float(data.theta[layer - 1][number, k]))
    return (
        f'<p class="example">For example <button type="button" data-open="{number}" '
        f'aria-label="Read {title}"><bdi>{title}</bdi></button> '
        f'<span class="whole">({share})</span>{text}</p>'
    )


def _percent(share: float) -> str:
    value = 100 * share
    shown = f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 0.1 else "&lt;0.1"
    return f"{shown} %"


# ---- which topic each word of a document comes from ---------------------------------------------

MOST_COLOURS = 7  # topics of a document that have a colour; all others share one more
# Private-use characters mark a word: one before it for each colour, and one after it. This is short
# and compresses well. Such characters of the text itself are removed.
STARTS = [chr(0xE000 + slot) for slot in range(MOST_COLOURS + 1)]
END = chr(0xE000 + MOST_COLOURS + 1)
_NO_MARKS = dict.fromkeys(map(ord, [*STARTS, END]))


class TokenFinder:
    """Finds the terms of a vocabulary in texts, written as they are or in lower case."""

    def __init__(self, data: ReportData) -> None:
        self._columns = {str(term): v for v, term in enumerate(data.vocabulary)}
        self._pattern = re.compile(data.token_pattern)
        self._group = min(self._pattern.groups, 1)  # as scikit-learn reads a pattern

    def __call__(self, text: str) -> list[tuple[int, int, int]]:
        """(start, end, column) of every term of the vocabulary."""
        found = []
        for match in self._pattern.finditer(text):
            word, (start, end) = match[self._group], match.span(self._group)
            column = self._columns.get(word)
            column = self._columns.get(word.lower()) if column is None else column
            if column is not None and end > start:
                found.append((start, end, column))
        return found


def marked_text(
    data: ReportData, document: int, text: str, finder: TokenFinder
) -> tuple[str, list[int]]:
    """The text with marks around its words, and the topics of layer 1 that have a colour in it,
    those of most words first."""
    text = text.translate(_NO_MARKS)
    tokens = finder(text)
    if not tokens:
        return text, []
    columns = np.array([column for _, _, column in tokens])
    likely = data.phi[0][:, columns] * data.theta[0][document][:, None]
    topics = likely.argmax(axis=0)
    counts = np.bincount(topics, minlength=data.widths[0])
    order = np.argsort(-counts, kind="stable")[:MOST_COLOURS]
    coloured = [k for k in order.tolist() if counts[k]]
    pieces, last = [], 0
    for (start, end, _), k in zip(tokens, topics.tolist(), strict=True):
        slot = coloured.index(k) if k in coloured else MOST_COLOURS
        pieces += [text[last:start], STARTS[slot], text[start:end], END]
        last = end
    return "".join([*pieces, text[last:]]), coloured


# ---- the documents: search, text with words coloured by topic, topics ---------------------------

_LONGEST, _SHORTEST = 1500, 200  # characters of a text
_GROWN = 3.0  # bytes of records that become one compressed byte, about
_SHARES, _LEAST_SHARE = 5, 0.02  # topics of a layer that are listed for a document
_FLUSH = 16  # records after which the size is checked
_END = 16  # bytes that end the compressed stream


def documents_html(data: ReportData) -> str:
    """The search, and the list of its results; a document opens next to it."""
    texts = ", and their texts" if data.texts is not None else ""
    return f"""<p class="note">Search the names{texts}. A document opens with
its topics in every layer{"" if data.texts is None else " and its words coloured by their topics"}.
<span id="documents-left"></span></p>
<div class="tools" role="search"><label class="grow">Search
<input type="search" id="document-search" placeholder="words" autocomplete="off"></label>
<span id="documents-found" role="status"></span></div>
<ol class="documents" id="documents-list" aria-label="Documents that were found"></ol>
<p><button type="button" class="button" id="documents-more" hidden></button></p>"""


def documents_payload(data: ReportData, space: int) -> dict[str, Any]:
    """Records of documents in at most ``space`` bytes of base64, and how many there are: first the
    examples of the overview and those that lead in some topic, then the others, evenly chosen."""
    leading = list(dict.fromkeys(chain(examples(data).values(), _leading(data))))
    finder = TokenFinder(data) if data.texts is not None else None
    # If all texts were this long, half of the documents would fit, or all that lead.
    each = 0.75 * space * _GROWN / max(len(leading), data.size // 2)
    length = int(min(_LONGEST, max(_SHORTEST, each / 1.5)))
    packer, packed, kept = zlib.compressobj(9), b"", 0
    pending: list[bytes] = []
    for done, number in enumerate(chain(leading, _spread(data.size, set(leading))), 1):
        record = _record(data, number, length, finder)
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        pending.append(line.encode() + b"\n")
        if len(pending) == _FLUSH or done == data.size:
            longer = packer.copy()
            piece = longer.compress(b"".join(pending)) + longer.flush(zlib.Z_SYNC_FLUSH)
            if len(packed) + len(piece) > 3 * space // 4 - _END:
                break
            packer, packed, kept, pending = longer, packed + piece, done, []
    packed += packer.flush()
    return {"documents": {"data": base64.b64encode(packed).decode("ascii"), "kept": kept,
                       "length": length, "texts": data.texts is not None}}  # fmt: skip


def _leading(data: ReportData) -> Iterator[int]:
    """Documents that lead in topics: the first of every topic, from the top layer down, then the
    second, …; each once."""
    ranks = [data.leading(t) for t in range(data.depth, 0, -1)]
    return chain.from_iterable(
        each[:, rank].tolist() for rank in range(ranks[0].shape[1]) for each in ranks
    )


def _spread(size: int, without: set[int]) -> Iterator[int]:
    """All other documents, in an order whose every prefix is evenly spread."""
    step = next(prime for prime in (7919, 104729, 1299709) if size % prime)
    return (j for j in (i * step % size for i in range(size)) if j not in without)


def _record(data: ReportData, number: int, length: int, finder: TokenFinder | None) -> list[Any]:
    """Number, title, shares of topics by layer, marked text, its topics, whether it was cut."""
    shares = []
    for theta in data.theta:
        order = np.argsort(-theta[number], kind="stable")[:_SHARES].tolist()
        shares.append([x for k in order if theta[number, k] >= _LEAST_SHARE
                       for x in (k, short_number(1000 * theta[number, k], 3))])  # fmt: skip
    record: list[Any] = [number, clean_text(data.name_of(number))[:90], shares]
    if finder is None or data.texts is None:
        return record
    # Between two words a space, between two paragraphs an empty line.
    full = re.sub(r"\s+", lambda found: "\n\n" if found[0].count("\n") > 1 else found[0],
                   clean_text(data.texts[number])).strip()  # fmt: skip
    text = full[:length].rsplit(None, 1)[0] if len(full) > length else full
    marked, topics = marked_text(data, number, text, finder)
    return [*record, marked, topics, int(len(text) < len(full))]


# ---- the table of topics ------------------------------------------------------------------------


def topics_html(data: ReportData) -> str:
    """The empty table, its heads and its tools."""
    heads = [("topic", "Topic", ""), ("words", "Words", ""), ("weight", "Share", "figure")]
    note = "The share is the part of all words of the corpus that a topic accounts for."
    if data.theta:
        heads.append(("leads", "Documents", "figure"))
        note += (
            " The last column counts the documents in which it has the largest share of all topics "
            "of its layer. A topic can occur everywhere without leading any document."
        )
    cells = "".join(
        f'<th scope="col" data-by="{by}" class="{kind}"><button type="button">{label}</button></th>'
        for by, label, kind in heads
    )
    layers = layer_options(data, data.depth)
    return f"""<p class="note">{note}</p><div class="tools" role="search">
<label class="grow">Search
<input type="search" id="search" placeholder="words, or layer2_topic5" autocomplete="off"></label>
<label>Layer <select id="layer">{layers}<option value="0">all, one after another</option></select>
</label>
<span id="found" role="status"></span></div>
<div class="scroll"><table id="table"><caption class="hidden">All topics</caption>
<thead><tr>{cells}</tr></thead><tbody id="table-body"></tbody></table></div>
<p><button type="button" class="button" id="more" hidden></button></p>"""


def layer_options(data: ReportData, chosen: int) -> str:
    """The layers to choose from; ``chosen`` is at first."""
    return "".join(
        f'<option value="{t}"{" selected" if t == chosen else ""}>{t}</option>'
        for t in range(data.depth, 0, -1)
    )


# ---- topics over time and by class --------------------------------------------------------------

_CLASSES = 12  # the most frequent ones; the others are one


def groups_html(data: ReportData) -> str:
    """The containers of both charts, and the layer that they show."""
    options = layer_options(data, theme_layer(data))
    out = f"""<div class="tools"><label>Layer
<select id="group-layer">{options}</select></label></div>"""
    if data.dates is not None:
        missing = int((periods_of(data.dates).of < 0).sum())
        out += f"""<h3>Over time{_called(data, "date")}</h3>
<p class="note">The mean share of a topic in the documents of each period; a gap is a period
without documents.{_without(missing)}</p><div class="small" id="time-place"></div>
<p><button type="button" class="button" id="time-more" hidden></button></p>"""
    if data.classes is not None:
        missing = sum(not _class(each) for each in data.classes)
        out += f"""<h3>By class{_called(data, "class")}</h3>
<p class="note">The mean share of a topic in the documents of each class; the more colour, the
larger.{_without(missing)}</p><div class="scroll" id="class-place" tabindex="0" role="region"
aria-label="Topics by class"></div>"""
    return out


def groups_payload(data: ReportData) -> dict[str, Any]:
    """For both kinds of groups: their labels, sizes, and shares in thousandths by layer."""
    out = {}
    if data.dates is not None:
        periods = periods_of(data.dates)
        out["time"] = _shares(data, periods.of, list(periods.labels))
    if data.classes is not None:
        out["class"] = _shares(data, *_classes(data.classes))
    return {"groups": out}


def _shares(data: ReportData, of: NDArray[np.int64], labels: list[str]) -> dict[str, Any]:
    there = of >= 0
    sizes = np.bincount(of[there], minlength=len(labels))
    layers = []
    for theta in data.theta:
        sums = np.zeros((len(labels), theta.shape[1]))
        np.add.at(sums, of[there], theta[there])
        means = sums / np.maximum(sizes, 1)[:, None]
        layers.append([[short_number(1000 * x, 3) for x in row] for row in means])
    return {"labels": labels, "sizes": sizes.tolist(), "layers": layers}


def _classes(classes: Sequence[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """The number of the class of each document, and the names, the most frequent first."""
    names = [_class(each) for each in classes]
    counted = Counter(name for name in names if name)
    order = sorted(counted, key=lambda name: (-counted[name], name))
    labels = order if len(order) <= _CLASSES + 1 else [*order[:_CLASSES], "all others"]
    place = {name: min(at, len(labels) - 1) for at, name in enumerate(order)}
    return np.array([place.get(name, -1) for name in names], np.int64), labels


def _class(value: Any) -> str:
    return "" if value is None or value != value else clean_text(value)[:60].strip()


def _called(data: ReportData, kind: str) -> str:
    name = data.columns.get(kind)
    return f": {html_text(name)}" if name else ""


def _without(missing: int) -> str:
    return f" {grouped(missing)} documents without one are omitted." if missing else ""


# ---- the map of the documents -------------------------------------------------------------------

_POINTS = 12_000  # documents on the map
_NAMES = 120_000  # bytes that the names of all points on the map may take


def map_html(data: ReportData) -> str:
    """The containers of the map and of its legend."""
    if by_neighbours(data.theta[0]):
        how = (
            "Documents with similar topics in layer 1 are near each other (t-SNE). Distances "
            "between groups mean little."
        )
    else:
        how = (
            "Documents are placed by the first two principal components of the square roots of "
            f"their topic shares in layer 1 ({explained(data.theta[0]):.0%} of their variance), "
            "with the crowded middle spread out. With scikit-learn installed, documents with "
            "similar topics are near each other."
        )
    return f"""\
<p class="note">Each point is a document. {how} Colour shows its main topic. Choose a
point to read the document. By keyboard, arrows go from point to point, and Enter opens one.</p>
<div class="tools"><label>Colour by layer
<select id="map-layer">{layer_options(data, theme_layer(data))}</select></label></div>
<div class="map">
<canvas id="map-canvas" tabindex="0" role="application" aria-label="Map of {data.size} documents:
arrow keys go from one to the next, Enter opens one"></canvas>
<div id="map-tip" class="tip" hidden></div></div>
<ul class="legend" id="map-legend" aria-label="Topics that lead in most documents"></ul>
<p class="note" id="map-rest"></p>"""


def map_payload(data: ReportData) -> dict[str, Any]:
    """Places of the documents as 16-bit numbers, the topics that lead in them, their names."""
    chosen = even_choice(data.size, _POINTS)
    position = document_positions(data.theta[0][chosen], data.seed)
    low, high = position.min(axis=0), position.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    grid = np.round((position - low) / spread * 65535.0).astype("<u2")
    leading = [theta[chosen].argmax(axis=1).astype("<u2") for theta in data.theta]
    out: dict[str, Any] = {
        "count": int(chosen.size),
        "points": base64_array(grid),
        "leading": [base64_array(each) for each in leading],
    }
    if chosen.size < data.size:
        out["numbers"] = base64_array(chosen.astype("<u4"))
    if data.names is not None:
        names = [clean_text(data.names[j])[:60] for j in chosen.tolist()]
        if sum(len(name.encode()) for name in names) <= _NAMES:
            out["names"] = names
    return {"map": out}


# ---- the hierarchy as a tree that folds ---------------------------------------------------------


def tree_html(data: ReportData) -> str:
    """The container of the tree, and its switches."""
    return f"""<p class="note">Every topic in use stands here once, under the theme of the layer
above that holds most of it, with its share of the corpus. A topic that several themes have in
common may be larger than the one it stands under. The largest topic of each layer has a bar of full
length. Keys: arrows move, unfold and fold, Enter chooses.</p>
<div class="tools"><button type="button" class="button" id="unfold">Unfold all</button>
<button type="button" class="button" id="fold">Fold all</button>
<label class="grow">Find <input type="search" id="tree-search" autocomplete="off"
placeholder="a word"></label>
<span id="tree-found" role="status"></span></div>
<ul class="tree" id="tree" role="tree" aria-label="Themes and topics of {data.depth} layers"></ul>
"""


# ---- the widths of the layers -------------------------------------------------------------------


def widths_html(data: ReportData) -> str:
    """A table, and a warning if the first layer uses its maximum width."""
    rows = []
    for t in range(data.depth, 0, -1):
        used, effective = int(data.active[t - 1].sum()), effective_width(data.weights[t - 1])
        duplicates, diversity = duplicates_and_diversity(data.ranked(t, TOP))
        rows.append(
            [str(t), f'<td class="wide" data-width="{t}"></td>', str(used),
             str(data.budget[t - 1] or "–"), f"{effective:.1f}", str(duplicates),
             f"{diversity:.2f}"]
        )  # fmt: skip
    heads = [("Layer", ""), ("", ""), ("Active", "figure"), ("Maximum", "figure"),
             ("Effective", "figure"), ("Duplicates", "figure"),
             ("Diversity", "figure")]  # fmt: skip
    note = (
        f"Active: {html_text(data.active_means)}. Maximum: the width that training started with. "
        "Effective: exp of the entropy of the topics’ shares. Duplicates: topics that share six of "
        "their ten words with another one of the layer. Diversity: distinct words among all of "
        "these; 1 if no two topics share any."
    )
    full = bool(data.budget[0]) and int(data.active[0].sum()) >= data.budget[0]
    warning = (
        '<p class="warn">Layer 1 uses all topics that it may have: try a larger maximum width.</p>'
    )
    table = html_table(heads, rows, "Width of each layer")
    return f'<p class="note">{note}</p>{warning * full}{table}'


# ---- any network: its graph and nodes -----------------------------------------------------------

_VECTORS, _CATEGORIES = 200, 10  # of a simplex node that are shown


def network_html(data: ReportData) -> str:
    """The graph, and every node with its law and its posterior."""
    text = base64.b64encode(data.picture.encode()).decode("ascii")
    alt = "The graph of the network; its nodes are in the table below."
    source = f"data:image/svg+xml;base64,{text}"
    heads = [("Node", ""), ("Law", ""), ("Dims", ""), ("Posterior", "")]
    rows = [[html_text(cell) for cell in row] for row in data.nodes]
    table = html_table(heads, rows, "The nodes of the network")
    return f'<div class="scroll"><img alt="{alt}" src="{source}"></div>{table}'


def proportions_html(data: ReportData) -> str:
    """The leading categories of every node whose vectors sum to one."""
    note = "Posterior means of the first chain, the largest entries first."
    return f'<p class="note">{note}</p>' + "".join(map(_simplex, data.simplexes))


def _simplex(simplex: Simplex) -> str:
    top = np.argsort(-simplex.mean, axis=1, kind="stable")[:, :_CATEGORIES]
    rows = [
        [
            html_text(name),
            " ".join(f"<bdi>{html_text(simplex.columns[v])}</bdi>" for v in top[i].tolist()),
            f"{simplex.mean[i, top[i, 0]]:.3f}",
        ]
        for i, name in enumerate(simplex.rows[:_VECTORS])
    ]
    more = f'<p class="note">The first {_VECTORS} of {len(simplex.rows)} vectors are shown.</p>'
    name, over = html_text(simplex.name), html_text(simplex.over)
    heads = [("Vector", ""), (over, ""), ("Largest", "figure")]
    table = html_table(heads, rows, f"Vectors of {name}")
    return f"<h3>{name}</h3>{more * (len(simplex.rows) > _VECTORS)}{table}"


# ---- convergence: traces of quantities that do not depend on the numbering of units -------------

_TRACE_POINTS = 500  # points of a trace
_FALLS = (
    "The log likelihood is that of the training documents. It can drop when a layer is added: the "
    "new layer ties the topics of a document to those of similar documents, so that they follow "
    "its own words less closely. Other documents are often predicted better for the same reason; "
    "held-out perplexity shows it."
)
_MEANS = {
    "run longer": (
        "“Run longer”: the figures have not settled. They are fine for a first look. For reliable "
        "figures, run more sweeps and compare several seeds."
    ),
    "too few draws": (
        "“Too few draws”: the effective sample size is below 100 for each chain, so that R-hat "
        "cannot show whether the chain has settled. Run more sweeps."
    ),
}


def traces_html(data: ReportData) -> str:
    """The table, the container of the traces, and notes on their limits."""
    topics = f'<p class="note">{_FALLS}</p>' if data.depth > 1 else ""
    topics += _held_out(data) if data.phi else ""
    return f'{diagnosis_html(data.series)}{topics}<div id="trace-place"></div>'


def _held_out(data: ReportData) -> str:
    """The perplexity of documents that were held out, for each number of layers."""
    if not data.held_out:
        return (
            '<p class="note">No held-out documents were given. <code>pgbn report model --held-out '
            "FILE</code>, or <code>held_out=</code> in Python, shows how well other documents are "
            "predicted.</p>"
        )
    shown = ", ".join(
        f"{perplexity:.4g} with {several(depth, 'layer')}" for depth, perplexity in data.held_out
    )
    return (
        f'<p id="held-out"><strong>Held-out perplexity</strong> (lower is better): {shown}. One '
        "half of the words of other documents was predicted from the other half.</p>"
    )


def diagnosis_html(traces: Sequence[Series]) -> str:
    """A table of mean, spread, ESS and R-hat over the shaded sweeps of the charts."""
    chains = traces[0].values.shape[0]
    many = chains > 1
    heads = [("Quantity", ""), ("Mean", "figure"), ("Spread", "figure"), ("ESS", "figure"),
             ("R-hat", "figure"), ("", "")]  # fmt: skip
    note = (
        f"{chains} chains with different seeds. "
        if many
        else "One chain: R-hat compares its halves; several chains with different seeds show more. "
    ) + (
        "Only quantities that do not depend on the numbering of topics are shown. ESS (bulk "
        "effective sample size) and R-hat (rank-normalised, split) are of the shaded sweeps."
    )
    table = html_table(heads, map(_diagnosis, traces), "Convergence of label-free quantities")
    found = {series.verdict for series in traces}
    meant = "".join(f'<p class="note">{_MEANS[each]}</p>' for each in _MEANS if each in found)
    return f'<p class="note">{note}</p>{table}{meant}'


def _diagnosis(series: Series) -> list[str]:
    values = series.values[:, series.settled :]
    ess, rhat, verdict = series.ess, series.rhat, series.verdict
    if verdict == "run longer":
        verdict = f'<span class="warn">{verdict}</span>'
    return [
        html_text(series.name),
        _number(float(values.mean()), 5) if values.size else "–",
        _number(float(values.std()), 3) if values.size else "–",
        f"{ess:.0f}" if np.isfinite(ess) else "–",
        f"{rhat:.3f}".replace("inf", "∞") if not np.isnan(rhat) else "–",
        verdict,
    ]


def _number(value: float, digits: int) -> str:
    return grouped(round(value)) if 1e3 <= abs(value) < 1e12 else f"{value:.{digits}g}"


def traces_payload(data: ReportData) -> dict[str, Any]:
    """The traces, and the sweeps at which training added layers."""
    return {
        "series": [_trace(series) for series in data.series],
        "stages": [[sweep, clean_text(label)] for sweep, label in data.stages],
    }


def _trace(series: Series) -> dict[str, Any]:
    chosen = even_choice(series.sweeps.size, _TRACE_POINTS)
    return {
        "name": clean_text(series.name),
        "sweeps": [short_number(value, 8) for value in series.sweeps[chosen]],
        "values": [[short_number(value, 7) for value in row[chosen]] for row in series.values],
        "settled": short_number(series.sweeps[min(series.settled, series.sweeps.size - 1)], 8),
    }


# ---- derivation and settings --------------------------------------------------------------------


def derivation_html(data: ReportData) -> str:
    """The derivation of the sampler as `pgbn.explain` writes it, collapsed."""
    body = html_body(data.derivation, ("h3", "h3", "h4"))  # headings below that of the section
    return (
        '<p class="note">Made from the network itself: the equations are written by the rules that '
        "the sampler runs.</p>"
        "<details><summary>Show the derivation</summary>"
        f'<div class="derivation">{clean_text(body)}</div></details>'
    )


def settings_html(data: ReportData) -> str:
    """Names and values as given, and the code that repeats the run."""
    rows = [[html_text(name), html_text(value)] for name, value in data.settings.items()]
    code = ""
    if data.repeat:
        code = f'<h3>To repeat this run</h3><pre tabindex="0">{html_text(data.repeat)}</pre>'
    table = html_table([("Setting", ""), ("Value", "")], rows, "Settings of this run")
    return f'<div class="settings">{table}{code}</div>'


# ---- sections -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Section:
    """A section: its id, its title, when it applies, its HTML, and what its script reads."""

    name: str
    title: str
    applies: Callable[[ReportData], bool]
    html: Callable[[ReportData], str]
    payload: Callable[[ReportData], dict[str, Any]] = lambda data: {}


def _has_topics(data: ReportData) -> bool:
    return bool(data.phi)


def _has_documents(data: ReportData) -> bool:
    return bool(data.theta)


def _has_groups(data: ReportData) -> bool:
    return bool(data.theta) and (data.dates is not None or data.classes is not None)


SECTIONS = (
    Section(
        "overview",
        "What is in this corpus",
        _has_topics,
        overview_html,
        lambda data: {"themes": theme_layer(data)},
    ),  # which other sections start with
    Section("hierarchy", "Themes and topics", lambda data: data.depth > 1, tree_html),
    Section("graph", "Topic graph", _has_topics, graph_html, graph_payload),
    Section("documents", "Documents", _has_documents, documents_html),
    Section("map", "Map", _has_documents, map_html, map_payload),
    Section("groups", "Time and class", _has_groups, groups_html, groups_payload),
    Section("topics", "Table of topics", _has_topics, topics_html),
    Section("widths", "Layer widths", _has_topics, widths_html),
    Section("network", "The network", lambda data: bool(data.nodes), network_html),
    Section("proportions", "Proportions", lambda data: bool(data.simplexes), proportions_html),
    Section("traces", "Convergence", lambda data: bool(data.series), traces_html, traces_payload),
    Section("derivation", "Derivation", lambda data: bool(data.derivation), derivation_html),
    Section("settings", "Settings", lambda data: bool(data.settings), settings_html),
)
