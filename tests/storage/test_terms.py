"""Terms of texts: patterns and stop words that fit each other, and options that come with a file."""

from __future__ import annotations

import re
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgbn
from pgbn.errors import DataError
from pgbn.storage.terms import LANGUAGES, TOKEN, is_quick, saved_counting, stop_words_of
from tests.helpers.trained import X, model_of

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


# ---- options that come with a file -------------------------------------------------------

QUICK = [
    TOKEN, r"(?u)\b\w\w+\b", r"[A-Za-z]{3,}", r"\S+", r"(?i)[a-z]+", r"[^\W\d_]+", r"\w+(?:-\w+)*",
    r"#(\w+)", r"[\u4e00-\u9fff]", r"\b[a-z]{3,20}\b", r"[a-zA-Z][a-zA-Z'-]+", r"\w+|[^\w\s]",
    r"[a-z]+(?:'[a-z]+)?", r"\w+(?:[-'’]\w+)*", r"\b[^\W\d_]\w+(?:[-']\w+)*\b", r"\d{4}", ".",
]  # fmt: skip
SLOW = [
    r"(\w+)+x", r"(a|a)*b", r"(a*)*b", r"\w+\w+x", r"\w+x", r"(?:a?){50}a{50}", "a?" * 30 + "a" * 30,
    r"(.+)\1", r"(?:\w+-?)*", r"(?:-?\w+)*x", r"\w+(?:w\w+)*", r"[a-z]+\b", r"\w{1000}",
    r"(?:a{1,9}){1,9}b", r"\w+?x", r"(?=\w+x)a", r"(?:a|b)+", r"(?:-\w+)*\w+x", r"(?:.\w+)*",
    r"\w+(?:-\w+)*(?:-\w+)*x", r"(?:[^a]\w+)*",
]  # fmt: skip
NONE = [r"(?:\ba)?", "(", "[", "((a)", "(?x) a b", "(a)(b)", 7, None, "a" * 600, r"\w+(?:)*"]


@pytest.mark.parametrize("pattern", QUICK)
def test_patterns_that_are_taken(pattern: str) -> None:
    assert is_quick(pattern)


@pytest.mark.parametrize("pattern", [*SLOW, *NONE])
def test_patterns_that_are_not(pattern: object) -> None:
    assert not is_quick(pattern)


TEXTS = ["a" * 3000 + "!", "ab" * 1500, "a-" * 1500 + "!", "a1" * 1500 + " ", "'a" * 1500,
         "b" * 3000 + "a", " " * 3000]  # fmt: skip
PIECES = ["a", "b", "-", r"\w", "[ab]", "[^a]", ".", r"\s", r"\S", r"\b", "(?:", "(", ")", "|", "?",
          "*", "+", "{2}", "{1,3}", "{2,}", "'", "^"]  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join))
def test_what_is_taken_is_quick(pattern: str) -> None:
    """A pattern with a second run would need 3000² steps or more, half a second."""
    if is_quick(pattern):
        found = re.compile(pattern)
        before = time.process_time()
        for text in TEXTS:
            found.findall(text)
        assert time.process_time() - before < 0.3


GOOD = {"min_df": 2, "max_df": 0.5, "max_features": None, "stop_words": "english",
        "token_pattern": "[a-z]+", "ngram_range": [1, 2], "lowercase": False, "analyzer": "word",
        "strip_accents": None, "binary": False}  # fmt: skip
FORGED: dict[str, list[Any]] = {
    "token_pattern": [r"(\w+)+x", "(", 3],
    "ngram_range": [[1, 10**9], [1], "ab", [0, 1], [2, 1]],
    "stop_words": ["klingon", [1], 7, ["a", None]],
    "lowercase": ["yes", None],
    "min_df": ["2", [2], True, 10**400],
    "analyzer": ["pickle", [], 10**400],
    "strip_accents": [1],
    "input": ["filename"],  # scikit-learn would open the files that the documents name
    "terms": ["/etc/passwd"],
    "encoding": ["rot13"],
    "format": ["npz"],
    "vocabulary": [["a"]],
    "tokenizer": ["os.system"],
}


def test_options_that_are_taken() -> None:
    assert saved_counting({"vectorizer": GOOD}, "model") == GOOD
    assert saved_counting({}, "model") == {}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in FORGED.items() for v in vs])
def test_options_that_are_not(name: str, value: Any) -> None:
    with pytest.raises(DataError, match=rf"model: its record says .* {name}="):
        saved_counting({"vectorizer": {name: value}}, "model")


@pytest.fixture
def run_command() -> Any:
    pytest.importorskip("sklearn")
    pytest.importorskip("typer")
    return pytest.importorskip("pgbn.cli").run_command


def test_a_forged_model_reads_no_documents(
    run_command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, texts = tmp_path / "model", tmp_path / "texts.txt"
    record = {"vectorizer": {"token_pattern": r"(\w+)+x"}}
    pgbn.save(model_of(), model, vocabulary=[f"w{v}" for v in range(12)], record=record, data=X)
    texts.write_text("w" * 60 + "!\n")  # (\w+)+x would take until the end of days
    assert run_command(["transform", str(model), str(texts)]) == 1
    assert "its record says that terms were counted with token_pattern=" in capsys.readouterr().err


def test_a_page_does_without_a_slow_pattern(
    run_command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, page = tmp_path / "model", tmp_path / "page.html"
    record = {"vectorizer": {"token_pattern": r"(\w+)+x"}}
    columns = {"text": ["w" * 60 + "!"] * X.shape[0]}
    pgbn.save(model_of(), model, vocabulary=[f"w{v}" for v in range(12)], record=record, data=X,
              names=[str(n) for n in range(X.shape[0])], columns=columns)  # fmt: skip
    assert run_command(["report", str(model), "-o", str(page)]) == 0
    assert "may take very long on some texts" in capsys.readouterr().err
    assert page.exists()
