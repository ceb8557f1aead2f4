"""Texts, dates and classes that pgbn fit keeps, and that the report finds."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
from pgbn.cli import run_command as run
from pgbn.storage import open_saved
from tests.helpers.commands import FAST, ask
from tests.helpers.corpora import texts


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "news.jsonl"
    rows = [
        {
            "body": text,
            "id": name,
            "published": f"2019-0{1 + n % 9}-15",
            "category": "sea" if n % 3 else "law",
        }
        for n, (name, text) in enumerate(texts().items())
    ]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def test_columns_reach_the_page(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "m"
    kept = ["--text", "body", "--label", "id", "--date", "published", "--class", "category"]
    words = ["fit", str(table), "-o", str(model), *FAST, "--max-df", "1.0"]
    assert run([*words, *kept]) == 0
    saved = open_saved(model)
    assert saved.labels == list(texts())
    assert saved.columns["text"] == list(texts().values())
    assert saved.columns["date"][:2] == ["2019-01-15", "2019-02-15"]
    assert saved.columns["class"][:2] == ["law", "sea"]
    ask(capsys, "report", model, "-o", tmp_path / "r.html", "--held-out", table, "--column", "body")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert '<h1 dir="auto">Topics in news.jsonl</h1>' in page
    assert "Over time: published" in page
    assert "By class: category" in page
    held = re.search(r"Held-out perplexity.*?: ([\d.]+) with 1 layer, ([\d.]+) with 2 layers", page)
    assert held is not None
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])  # type: ignore[index]
    assert data["groups"]["class"]["labels"] == ["sea", "law"]
    packed = zlib.decompress(base64.b64decode(data["documents"]["data"])).decode()
    assert "harbour" in packed
    assert run([*words, "--overwrite", "--column", "body"]) == 0
    assert open_saved(model).columns == {}, "texts are kept only when they are asked for"
    assert run([*words, "--overwrite", "--column", "body", "--keep-texts"]) == 0
    assert list(open_saved(model).columns) == ["text"]


@pytest.mark.parametrize(("options", "code", "said"), [
    (["--text", "boby"], 2, "--text boby"),
    (["--text", "body", "--date", "day"], 2, "but: body, id, published, category"),
    (["--text", "body", "--label", "name"], 2, "--label name"),
    (["--column", "body", "--class", "kind"], 2, "--class kind"),
    (["--text", "body", "--column", "id"], 2, "give --text alone"),
    (["--text", "body", "--date", "category"], 1, "'law' of document 0 is no date"),
])  # fmt: skip
def test_wrong_columns_are_refused(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int,
    said: str,
) -> None:  # fmt: skip
    assert run(["fit", str(table), "-o", str(tmp_path / "m"), *FAST, *options]) == code
    shown = " ".join(capsys.readouterr().err.split())
    assert said in re.sub(r"[│╭╮╰╯─]", "", shown).replace("  ", " ")
    assert not (tmp_path / "m").exists()


def test_what_has_no_columns(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fit = ["fit", "-o", str(tmp_path / "m"), *FAST]
    assert run([*fit, str(place / "texts"), "--date", "day"]) == 2
    assert "has no columns" in capsys.readouterr().err
    assert run([*fit, str(place / "counts.npz"), "--keep-texts"]) == 1
    assert "holds counts, no texts" in capsys.readouterr().err
    assert run(["report", str(place / "model"), "--column", "x"]) == 1
    assert "say how --held-out is read" in capsys.readouterr().err
