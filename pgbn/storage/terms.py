"""How texts are cut into terms: stop words, the CountVectorizer, and options from a saved model.

A list of stop words and a pattern must fit each other. A pattern that cuts "don't" and "we'll" into
"don", "t", "we" and "ll" makes a topic of these pieces, if the list has none of them. The pattern
here keeps "don't" as one term and omits the endings 'll, 've and 're, and all single letters. The
list has the contractions as the pattern cuts them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unicodedata import normalize

from pgbn.checks import is_finite_number, is_integral, listed
from pgbn.errors import DataError, did_you_mean

LIMITS = ("min_df", "max_df", "max_features")  # which terms are kept

# Two letters or more, with an 't at the end; but no 'll, 've, 're that end another word.
TOKEN = r"(?u)(?<!\w)(?!(?<=\w['’])(?:ll|ve|re)\b)\w\w+(?:['’]t\b)?"

_NEGATED = (
    "ain", "aren", "can", "couldn", "daren", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn",
    "mayn", "mightn", "mustn", "needn", "oughtn", "shan", "shouldn", "wasn", "weren", "won",
    "wouldn",
)  # fmt: skip
_SUBJECTS = (
    "i", "you", "he", "she", "it", "we", "they", "that", "there", "who", "what", "where", "here",
    "let", "how", "why", "when",
)  # fmt: skip
_ENDS = ("ll", "ve", "re", "d", "m", "s")
_WORDS = {"can", "won"}  # they are words of their own without the 't
_CODES = {
    "ar": "arabic", "bg": "bulgarian", "ca": "catalan", "zh": "chinese", "cs": "czech",
    "da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french",
    "de": "german", "el": "greek", "gu": "gujarati", "he": "hebrew", "hi": "hindi",
    "hu": "hungarian", "id": "indonesian", "it": "italian", "ja": "japanese", "ko": "korean",
    "ms": "malaysian", "nb": "norwegian", "fa": "persian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sk": "slovak", "es": "spanish", "sv": "swedish",
    "tr": "turkish", "uk": "ukrainian", "vi": "vietnamese",
}  # fmt: skip
LANGUAGES = ", ".join(_CODES.values())


def is_language(text: str) -> bool:
    """Whether there is a list with this name ("german", "German") or code ("de")."""
    return text.lower() in {*_CODES, *_CODES.values()}


def language_named(text: str) -> str:
    """The language of a list, "german" for "de"."""
    if not is_language(text):
        raise DataError(
            f"stop_words={text!r}: there is no list of that name; give a list of words, or one of "
            f"{LANGUAGES}"
        )
    return _CODES.get(text.lower(), text.lower())


def stop_words_of(language: str, pattern: str = TOKEN) -> list[str]:
    """The stop words of a language, as ``pattern`` cuts them: scikit-learn's list of English words
    with the contractions, and those of the package stop-words for the others."""
    language = language_named(language)
    if language == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS | _pieces(_contractions(), pattern))
    try:
        from stop_words import get_stop_words
    except ImportError:
        raise DataError(
            f"stop_words={language!r} needs the package stop-words: pip install 'pgbn[languages]'; "
            "or give a list of words"
        ) from None
    words = set(get_stop_words(language))
    return sorted(words | _pieces(words, pattern))


def with_stop_words(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of CountVectorizer with the words of a language instead of its name, and all
    words in NFC."""
    words = options.get("stop_words")
    if isinstance(words, str):
        words = stop_words_of(words, options.get("token_pattern", TOKEN))
    if not isinstance(words, list):
        return dict(options)
    return {**options, "stop_words": [as_nfc(word) for word in words]}


def as_nfc(text: Any) -> Any:
    """A text in the Unicode form NFC, in which "é" is one character; any other value is returned as
    it is."""
    return normalize("NFC", text) if isinstance(text, str) else text


def _contractions() -> Iterable[str]:
    for quote in "'’":
        yield from (f"{word}{quote}t" for word in _NEGATED)
        yield from (f"{word}{quote}{end}" for word in _SUBJECTS for end in _ENDS)


def _pieces(words: Iterable[str], pattern: str) -> set[str]:
    """The terms that a pattern finds in words; CountVectorizer warns of a list that lacks any of
    them. An invalid pattern finds none here: CountVectorizer reports the fault itself."""
    try:
        found = re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError):
        return set()
    every = (piece for word in words for piece in found.findall(word))
    return {piece for piece in every if isinstance(piece, str)} - _WORDS


# ---- scikit-learn's CountVectorizer -------------------------------------------------------


def counting_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options that are given, and the token pattern."""
    chosen = {name: value for name, value in options.items() if value is not None}
    if "ngram_range" in chosen:
        remedy = "give two numbers, such as (1, 2)"
        chosen["ngram_range"] = tuple(listed("ngram_range", chosen["ngram_range"], remedy))
    return {"token_pattern": TOKEN, **chosen}


def make_vectorizer(options: Mapping[str, Any], vocabulary: Sequence[str] | None = None) -> Any:
    """The CountVectorizer that cuts texts into terms and counts them: all terms within the limits
    of ``options``, or those of a ``vocabulary``."""
    try:
        from sklearn.feature_extraction.text import CountVectorizer
    except ImportError:
        raise DataError("texts need scikit-learn: pip install 'pgbn[cli]'") from None
    _check_known(options, CountVectorizer().get_params())
    settings = with_stop_words(options)
    if vocabulary is not None:
        settings = {name: value for name, value in settings.items() if name not in LIMITS}
        settings["vocabulary"] = _in_texts(list(vocabulary))
    return CountVectorizer(**settings)


def _check_known(options: Mapping[str, Any], known: Iterable[str]) -> None:
    """Reject options that CountVectorizer does not have."""
    for name in options:
        if name not in known:
            raise DataError(
                f"{name}={options[name]!r:.60}: not an option of CountVectorizer."
                f"{did_you_mean(name, (*known, 'text_column', 'name_column'))}"
            )


def _in_texts(vocabulary: list[str]) -> list[str]:
    """The terms of a vocabulary in the form NFC, as texts have them. A term in another form, from
    elsewhere or an earlier version, keeps it only if its NFC form is a term too."""
    known, found = set(vocabulary), []
    for term in vocabulary:
        form = as_nfc(term)
        found.append(term if form in known else form)
        known.add(form)
    return found


@contextmanager
def counting(options: Mapping[str, Any]) -> Iterator[None]:
    """Report a bad pattern or range, an unknown option, or no remaining terms, in scikit-learn's
    words."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        given = [name for name in options if options[name] != TOKEN]
        meant = [name for name in options if name in str(error)]
        shown = ", ".join(f"{name}={options[name]!r}" for name in meant or given)
        hint = "; with few or short texts, keep all: --min-df 1 --max-df 1.0 (min_df=1, max_df=1.0)"
        hint = hint if "min_df" in options or "max_df" in options else ""
        shown = f" ({shown})" if shown else ""
        raise DataError(f"no terms could be counted{shown}: {error}{hint}") from None


# ---- patterns that take linear time for any text ------------------------------------------
#
# A regular expression can take a year for a line of text (``(\w+)+x``), and Python's cannot be
# stopped. A pattern from a file is used only if it has the following form. Most patterns of terms
# have it, such as ``\b\w\w+\b``, ``[A-Za-z]{3,}``, ``\w+(?:-\w+)*`` and ``#(\w+)``:
#
#     characters, then one run of characters, then optional parts
#
# An alternative has at most one run (+, *, {2,}), and nothing after it can fail, so that no match
# is tried twice. A group may follow, or be repeated, if it begins with a character that no run can
# take. A word boundary may follow a run if the alternative begins with one.

_LONGEST, _ALTERNATIVES, _OPTIONAL = 500, 20, 3
_EVERY = "".join(map(chr, range(0xD800)))
_FLAGS = re.compile(r"\A\(\?[aiu]+\)")
# A character of a set; how often it comes: so many times, at most once, or a run of them; and a
# group. Then an alternative, a group that comes exactly once, and the pieces of an alternative.
_ONE = (
    r"""(?:\[\^?\]?(?:\\.|[^\\\]])*\]|\\[wWdDsS]|\\u[0-9a-fA-F]{4}|\\[^\w]|[^\\()\[\]{}?*+|^$])"""
)
_TIMES = r"(?:\{[12]?\d{1,2}\})"
_SPAN = r"(?:[*+]|\{[12]?\d{1,2},(?:[12]?\d{1,2})?\})"
_END = r"(?![?*+{])"
_FIXED, _MAYBE, _RUN = (rf"(?:{_ONE}{n}{_END})" for n in (f"{_TIMES}?", r"\?", _SPAN))
_GROUP = rf"(?:\((?:\?:)?{_ONE}{_END}{_FIXED}*{_RUN}?\))"
_ALTERNATIVE = re.compile(
    rf"(?:\\b|{_FIXED}|{_MAYBE}|{_GROUP}\?{_END})*{_RUN}?"
    rf"(?P<rest>(?:\\b|{_MAYBE}|{_GROUP}[?*]{_END})*)"
)
_ONCE = re.compile(rf"({_ONE})|\((?:\?:)?((?:\\b|{_FIXED}|{_MAYBE}|{_RUN})*)\){_END}")
_PIECE = re.compile(
    rf"\((?:\?:)?(?P<first>{_ONE})|\)(?P<star>\*)?|\\b|"
    rf"(?P<one>{_ONE})(?:{_TIMES}|(?P<span>{_SPAN}|\?))?"
)


def is_quick(pattern: object) -> bool:
    """Whether a pattern has the form that takes linear time for any text."""
    if pattern == TOKEN:
        return True
    if not isinstance(pattern, str) or len(pattern) > _LONGEST:
        return False
    try:
        if re.compile(pattern).groups > 1:
            return False
    except (re.error, OverflowError, RecursionError):
        return False
    text, at = _ONCE.sub(lambda found: found[1] or found[2] or "", _FLAGS.sub("", pattern)), 0
    for _ in range(_ALTERNATIVES):
        found = _ALTERNATIVE.match(text, at)
        if found is None or not _runs_once(found):
            return False
        if found.end() == len(text):
            return True
        if text[found.end()] != "|":
            return False
        at = found.end() + 1
    return False


def _runs_once(alternative: re.Match[str]) -> bool:
    """Whether little may be missing, and every group begins with a character that no run takes."""
    pieces = list(_PIECE.finditer(alternative[0]))
    firsts = [piece["first"] for piece in pieces if piece["first"]]
    runs = [piece["one"] for piece in pieces if piece["span"] not in (None, "?")]
    missing = len(firsts) + sum(piece["span"] == "?" for piece in pieces)
    again = sum(piece["star"] is not None for piece in pieces)
    bounded = alternative[0].startswith(r"\b") or r"\b" not in alternative["rest"]
    few = missing <= _OPTIONAL and again <= 1
    return few and bounded and all(_is_apart(first, runs) for first in firsts)


def _is_apart(first: str, runs: list[str]) -> bool:
    """Whether no run takes a character of the set ``first``."""
    if max(first) > _EVERY[-1] or first.startswith("[^") or re.search(r"\\[a-zA-Z]", first):
        return False
    taken = "".join(re.findall(f"(?i){first}", _EVERY))
    return bool(taken) and not any(re.search(f"(?i){run}", taken) for run in runs)


# ---- options that come with a saved model -------------------------------------------------
#
# The record of a model comes from an untrusted file. Only options that select terms are taken from
# it, none that opens a file, runs code or takes unbounded time.


_PHRASES = 20  # words of the longest phrases


def _is_number(value: Any) -> bool:
    return value is None or is_finite_number(value)


def _are_stop_words(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(word, str) for word in value)
    return value is None or (isinstance(value, str) and is_language(value))


def _is_range(value: Any) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    return all(is_integral(n) for n in value) and 1 <= value[0] <= value[1] <= _PHRASES


_NUMBER = _is_number, "a number"
_FLAG = (lambda value: isinstance(value, bool)), "true or false"
_OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "min_df": _NUMBER, "max_df": _NUMBER, "max_features": _NUMBER,
    "stop_words": (_are_stop_words, "a list of words, or a language"),
    "token_pattern": (
        lambda value: value is None or is_quick(value),
        "a pattern that takes linear time for any text (one run of characters, and nothing after "
        "it that could fail)",
    ),
    "ngram_range": (_is_range, f"two numbers from 1 to {_PHRASES}"),
    "lowercase": _FLAG, "binary": _FLAG,
    "analyzer": (lambda value: value in ("word", "char", "char_wb"), "word, char or char_wb"),
    "strip_accents": (lambda value: value in (None, "ascii", "unicode"), "ascii or unicode"),
}  # fmt: skip


def saved_counting(record: Mapping[str, Any], where: object) -> dict[str, Any]:
    """The options of CountVectorizer in the record of a model, or an error that names ``where``."""
    options = dict(record.get("vectorizer", {}))
    for name, value in options.items():
        if name not in _OPTIONS:
            raise DataError(
                f"{where}: its record says that terms were counted with {name}={value!r:.60}, "
                f"which is not taken from a file.{did_you_mean(name, _OPTIONS)}"
            )
        is_good, wanted = _OPTIONS[name]
        if not is_good(value):
            raise DataError(
                f"{where}: its record says that terms were counted with {name}={value!r:.60}; from "
                f"a file, only {wanted} is taken. If you trust it, count yourself: "
                "pgbn.Corpus.read(data, vocabulary=…, …), and give the counts"
            )
    return options
