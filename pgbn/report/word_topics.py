"""Which topic each word of a document comes from.

k(v) = argmax_k φ_vk θ_kj,   the most likely topic of a token of term v in document j
"""

from __future__ import annotations

import re

import numpy as np

from pgbn.report.data import ReportData

__all__ = ["END", "MOST_COLOURS", "STARTS", "TokenFinder", "marked_text"]

MOST_COLOURS = 7  # topics of a document that have a colour; all others share one more
# Characters for private use stand before a word, one for each colour, and after it: that is short,
# and compresses well. Where a text has such characters of its own, they are left out.
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
        """(start, end, column) of every term that is known."""
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
