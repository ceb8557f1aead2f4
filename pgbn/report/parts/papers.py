"""The documents themselves: search, text with words coloured by topic, topics of every layer.

Records of documents are lines of JSON, compressed together, as many as there is room for: first
the examples of the overview and those that lead in some topic, then the others, evenly chosen.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from pgbn.report.compact import short_number
from pgbn.report.data import ReportData
from pgbn.report.parts.overview import examples
from pgbn.report.text import clean_text
from pgbn.report.word_topics import TokenFinder, marked_text

__all__ = ["papers_html", "papers_payload"]

_LONGEST, _SHORTEST = 1500, 200  # characters of a text
_GROWN = 3.0  # bytes of records that become one compressed byte, about
_SHARES, _LEAST_SHARE = 5, 0.02  # topics of a layer that are told of a document
_FLUSH = 16  # records after which the size is looked at
_END = 16  # bytes that end the compressed stream


def papers_html(data: ReportData) -> str:
    """The search, and the list of what it finds; a document opens beside."""
    texts = ", and their texts" if data.texts is not None else ""
    return f"""<p class="note">Search the titles{texts}. A document opens with
its topics in every layer{"" if data.texts is None else " and its words coloured by their topics"}.
<span id="papers-left"></span></p>
<div class="tools" role="search"><label class="grow">Search
<input type="search" id="paper-search" placeholder="words" autocomplete="off"></label>
<span id="papers-found" role="status"></span></div>
<ol class="papers" id="papers-list" aria-label="Documents that were found"></ol>
<p><button type="button" class="button" id="papers-more" hidden></button></p>"""


def papers_payload(data: ReportData, room: int) -> dict[str, Any]:
    """Records of documents in at most ``room`` bytes of base64, and how many there are."""
    if not data.theta:
        return {}
    leading = list(dict.fromkeys(chain(examples(data).values(), _leading(data))))
    others = _spread(data.size, set(leading))
    finder = TokenFinder(data) if data.texts is not None else None
    # Were all texts as long as that, one half of the documents would fit, or all that lead.
    each = 0.75 * room * _GROWN / max(len(leading), data.size // 2)
    length = int(min(_LONGEST, max(_SHORTEST, each / 1.5)))
    packer, packed = zlib.compressobj(9), b""
    pending: list[bytes] = []
    kept = 0
    for done, number in enumerate(chain(leading, others), 1):
        record = _record(data, number, length, finder)
        pending.append(
            json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        )
        if len(pending) == _FLUSH or done == data.size:
            longer = packer.copy()
            piece = longer.compress(b"".join(pending)) + longer.flush(zlib.Z_SYNC_FLUSH)
            if len(packed) + len(piece) > 3 * room // 4 - _END:
                break
            packer, packed, kept, pending = longer, packed + piece, done, []
    packed += packer.flush()
    return {"papers": {"data": base64.b64encode(packed).decode("ascii"), "kept": kept,
                       "length": length, "texts": data.texts is not None}}  # fmt: skip


def _leading(data: ReportData) -> Iterator[int]:
    """Documents that lead in topics: the first of every topic, from the top layer down, then the
    second, …; each once."""
    ranks = [data.leading(t) for t in range(data.depth, 0, -1)]
    order = chain.from_iterable(
        each[:, rank].tolist() for rank in range(ranks[0].shape[1]) for each in ranks
    )
    return iter(dict.fromkeys(order))


def _spread(size: int, without: set[int]) -> Iterator[int]:
    """All other documents, in an order of which every beginning is evenly spread."""
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
    whole = re.sub(r"\s+", _space, clean_text(data.texts[number])).strip()
    text = whole[:length].rsplit(None, 1)[0] if len(whole) > length else whole
    marked, topics = marked_text(data, number, text, finder)
    return [*record, marked, topics, int(len(text) < len(whole))]


def _space(found: re.Match[str]) -> str:
    """The space between two words, or an empty line between two paragraphs."""
    return "\n\n" if found[0].count("\n") > 1 else found[0]
