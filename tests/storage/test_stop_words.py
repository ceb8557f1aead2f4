"""Patterns and lists that fit each other."""

import re
import sys
import warnings

import pytest

import pgbn
from pgbn.errors import DataError
from pgbn.storage.terms import LANGUAGES, TOKEN, stop_words_of

TEXT = "I don't think we'll go; they've said you're right, it isn't John’s: 'house' don’t"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("don't", ["don't"]),
        ("don’t", ["don’t"]),
        ("we'll they've you're", ["we", "they", "you"]),
        ("John's", ["John"]),
        ("'house'", ["house"]),
        ("l'homme qu'il", ["homme", "qu", "il"]),
        ("re-read", ["re", "read"]),
        ("a b naïve x", ["naïve"]),
    ],
)
def test_what_a_term_looks_like(text, terms):
    assert re.findall(TOKEN, text) == terms


@pytest.mark.parametrize("pattern", [None, r"(?u)\b\w\w+\b", "[A-Za-z]{3,}"])
def test_contractions_leave_no_pieces(pattern):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # CountVectorizer warns of a list that does not fit
        found = pgbn.Corpus.from_texts({"a": TEXT}, stop_words="english", token_pattern=pattern)
    expected = ["house", "john", "right", "said", "think"]
    assert found.vocabulary == expected
    assert found.options["stop_words"] == "english"


def test_won_and_can_are_words():
    assert pgbn.Corpus.from_texts({"a": "she won a can"}, stop_words="english").vocabulary == [
        "won"
    ]
    assert "won" not in stop_words_of("english", "[a-z]{3,}")


def test_a_broken_pattern_is_told_by_its_name():
    with pytest.raises(DataError, match="token_pattern"):
        pgbn.Corpus.from_texts({"a": "b c"}, stop_words="english", token_pattern="(")


def test_unknown_languages():
    with pytest.raises(DataError, match=r"stop_words='germn'.* one of arabic, .*, german, "):
        pgbn.Corpus.from_texts({"a": "das Haus"}, stop_words="germn")


def test_languages_go_by_name_or_code():
    assert stop_words_of("English") == stop_words_of("en") == stop_words_of("english")


def test_other_languages_need_their_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "stop_words", None)
    with pytest.raises(DataError, match=r"pip install 'pgbn\[languages\]'"):
        stop_words_of("german")


def test_other_languages():
    package = pytest.importorskip("stop_words", reason="the extra pgbn[languages]")
    assert set(LANGUAGES.split(", ")) <= set(package.AVAILABLE_LANGUAGES)
    found = pgbn.Corpus.from_texts({"a": "ich habe das Haus gesehen"}, stop_words="german")
    assert found.vocabulary == ["gesehen", "haus"]
    assert "ich" in found.options["stop_words"]
