r"""Long formulas in several lines: ``a &= b + c + …`` → ``a &= b``, ``&\qquad {} + c``, …"""

from __future__ import annotations

import re

from pgbn.explain.formulas.plain import to_unicode

__all__ = ["CONTINUED", "fold"]

# a line with more characters than the first is wider than a page, and is made of pieces that have
# at most the second; a fraction counts twice, above and below
_WIDTH, _PIECE = 130, 50
CONTINUED = r"&\qquad {}"
# growing brackets and braces, which stay in one line; where a line may end; other brackets
_SIGNS = re.compile(
    r"(?P<open>\\left.|(?<!\\)\{)|(?P<close>\\right.|(?<!\\)\})"
    r"|(?P<end> \+ |(?<!\\), |\\ (?=\\prod))|[()]"
)


def fold(line: str) -> list[str]:
    """The pieces of a line, cut before a plus sign or a product, or behind a comma, where neither a
    brace nor a bracket that grows with its contents is open: those stay in one line."""
    if len(to_unicode(line)) <= _WIDTH:
        return [line]
    pieces, last = [], ""
    for part in _parts(line):
        if last and len(to_unicode(last + part)) > _PIECE:
            pieces.append(last.rstrip())
            last = CONTINUED
        last += part
    return [*pieces, last]


def _parts(line: str) -> list[str]:
    """The line, cut wherever it may be, in as few brackets as possible."""
    places: dict[int, list[int]] = {}
    depth = brackets = 0
    for match in _SIGNS.finditer(line):
        if match["open"] or match["close"]:
            depth += 1 if match["open"] else -1
        elif depth == 0 and match["end"]:
            places.setdefault(brackets, []).append(
                match.end() if match[0] == ", " else match.start()
            )
        elif depth == 0:
            brackets += 1 if match[0] == "(" else -1
    starts = [0, *places[min(places)]] if places else [0]
    return [line[start:stop] for start, stop in zip(starts, [*starts[1:], None], strict=True)]
