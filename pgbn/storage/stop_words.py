"""The form of terms, and the terms that carry no topic (stop words).

A list and a pattern must fit each other: a pattern that cuts "don't" and "we'll" into "don", "t",
"we" and "ll" makes a topic of these pieces, if the list has none of them. The pattern here keeps
"don't" as one term and omits the endings 'll, 've and 're, and all single letters. The list has the
contractions as the pattern cuts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from unicodedata import normalize

from pgbn.errors import DataError

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
