"""The page as a file: its size, its escaping, and that it is written whole or not at all."""

import re
from dataclasses import replace

import numpy as np
import pytest

import pgbn as pg
from pgbn.errors import DataError, PgbnError
from pgbn.report import report_html, write_report
from tests.helpers.report_models import texts, titles, trained, vocabulary


@pytest.mark.long
def test_a_usual_model_stays_under_a_megabyte() -> None:
    g = np.random.default_rng(0)
    documents, widths = 11_000, (128, 64, 32)
    model = trained(widths, terms=2000, documents=documents)
    words = ["".join(chr(97 + c) for c in g.integers(0, 26, 9)) for _ in range(2000)]
    page = report_html(
        model,
        vocabulary=words,
        titles=[f"The title of document number {j}" for j in range(documents)],
        texts=["Some text of ordinary length. " * 40] * documents,
    )
    assert len(page.encode()) < 1_000_000
    kept = int(re.search(r'"kept":(\d+)', page)[1])
    assert 500 < kept < documents, "documents take the room that is left"


def test_the_page_is_repeatable_and_encodable() -> None:
    options = {"vocabulary": vocabulary(), "titles": titles(), "texts": texts()}
    page = report_html(trained(), title="<i>&", **options)
    assert page == report_html(trained(), title="<i>&", **options)
    page.encode("utf-8")
    assert "<title>&lt;i&gt;&amp;</title>" in page
    outside = re.sub(r'(?s)<script type="application/json".*?</script>', "", page)
    assert "<img" not in outside
    assert outside.count("onerror") == outside.count("&lt;img src=x onerror=window.hacked=1&gt;")
    assert page.count("</script>") == 2
    assert "http:" not in page.replace("http://www.w3.org/", "")
    assert "https:" not in page


def test_the_first_line_has_the_effective_widths() -> None:
    model = trained((4, 2)).deepest
    uneven = replace(model, weights=(np.array([97.0, 1.0, 1.0, 1.0]), np.array([5.0, 5.0])))
    lead = re.search(r'<p class="lead">(.*?)</p>', report_html(uneven))[1]
    assert "2 layers of 4 – 2 topics, effectively 1 – 2 · 60 terms · 80 documents" in lead


def test_the_tree_says_why_a_topic_may_be_larger_than_its_theme() -> None:
    page = " ".join(report_html(trained()).split())
    assert "in common may be larger than the one it stands under" in page


def test_writing_is_all_or_nothing(tmp_path) -> None:
    target = tmp_path / "report.html"
    assert write_report(trained(), target) == target
    before = target.read_bytes()
    with pytest.raises(DataError, match="vocabulary: 3 names, but 60"):
        write_report(trained(), target, vocabulary=["a", "b", "c"])
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(PgbnError, match=r"cannot write the report to .*missing"):
        write_report(trained(), tmp_path / "missing" / "report.html")


def test_results_write_their_own_report(tmp_path) -> None:
    counts = np.random.default_rng(0).poisson(1.0, (20, 12))
    result = pg.train_layerwise(counts, max_width=4, depth=1, burn_in=3, collect=2, seed=0)
    for number, model in enumerate((result, result.deepest)):
        page = model.report(tmp_path / f"{number}.html", counts)
        assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")
        assert "<div>" in model._repr_html_()
    from pgbn.estimators import PFA

    fitted = PFA(3, burn_in=3, collect=2, random_state=0).fit(counts)
    options = {"texts": ["a text"] * 20, "dates": range(2000, 2020), "classes": ["x", "y"] * 10}
    page = fitted.report(tmp_path / "pfa.html", **options).read_text(encoding="utf-8")
    assert '"labels":["x","y"]' in page
    assert '"labels":["2000",' in page


def test_names_do_not_command_a_terminal_that_shows_the_file() -> None:
    names = [f"\x1b]0;x\x07\x9b2J{v}" for v in range(60)]
    page = report_html(trained(), vocabulary=names, title="\x1b[2J")
    assert not re.search("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", page)
