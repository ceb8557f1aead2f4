"""What a saved model says about the counting of terms: taken, or refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
import pgbn
from pgbn.cli import run_command
from pgbn.errors import DataError
from pgbn.storage.tokens import saved_counting
from tests.helpers.trained import X, model_of

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


@pytest.mark.parametrize("name", ["token_pattern", "terms", "input"])
def test_a_forged_model_reads_no_documents(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, texts = tmp_path / "model", tmp_path / "texts.txt"
    record = {"vectorizer": {name: FORGED[name][0]}}
    pgbn.save(model_of(), model, vocabulary=[f"w{v}" for v in range(12)], record=record, data=X)
    texts.write_text("w" * 60 + "!\n")  # (\w+)+x would take until the end of days
    assert run_command(["transform", str(model), str(texts)]) == 1
    assert (
        f"{model}: its record says that terms were counted with {name}=" in capsys.readouterr().err
    )


def test_a_page_does_without_a_slow_pattern(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, page = tmp_path / "model", tmp_path / "page.html"
    record = {"vectorizer": {"token_pattern": r"(\w+)+x"}}
    columns = {"text": ["w" * 60 + "!"] * X.shape[0]}
    pgbn.save(model_of(), model, vocabulary=[f"w{v}" for v in range(12)], record=record, data=X,
              labels=[str(n) for n in range(X.shape[0])], columns=columns)  # fmt: skip
    assert run_command(["report", str(model), "-o", str(page)]) == 0
    assert "may take very long on some texts" in capsys.readouterr().err
    assert page.exists()
