"""The course: lectures, their exercises, slides and the sheet of rules."""

import importlib.util
import re
import shutil
import subprocess
import sys

import pytest

import pgbn
from tests.helpers.repository import DOCS

COURSE = DOCS / "course"
LECTURES = sorted(COURSE.glob("lecture*.md"))
spec = importlib.util.spec_from_file_location("course_slides", COURSE / "slides.py")
slides = importlib.util.module_from_spec(spec)
spec.loader.exec_module(slides)


def test_there_are_seven_lectures_in_the_index():
    index = (COURSE / "index.md").read_text("utf-8")
    assert len(LECTURES) == 7
    assert all(f"{{doc}}`{lecture.stem}`" in index for lecture in LECTURES)


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_exercises_have_solutions_that_can_fail(lecture):
    """Every hidden cell is a solution, and asserts something; so does the lecture itself."""
    text = lecture.read_text("utf-8")
    lesson, exercises = text.split("\n## Exercises\n")
    assert len(re.findall(r"^\*\*\d\.\d", exercises, re.MULTILINE)) >= 3
    solutions = re.findall(
        r"```\{code-cell\}[^\n]*\n:tags: \[hide-cell\]\n(.*?)```", exercises, re.DOTALL
    )
    assert len(solutions) >= 2
    assert all("assert" in solution for solution in solutions)
    assert lesson.count("assert") >= 2


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_slides_have_the_sections_and_no_solutions(lecture):
    text = lecture.read_text("utf-8")
    page = slides.slides_html(text)
    assert page.count("<section") == 1 + len(re.findall(r"^## ", text, re.MULTILINE))
    assert "hide-cell" not in page
    assert "FORMULA" not in page
    assert "$" not in re.sub(r"<(pre|script)>.*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r'(?:src|href)="', page)
    formulas = len(re.findall(r"\$\$.*?\$\$", text, re.DOTALL))
    assert page.count('class="formula"') == formulas


def test_the_sheet_has_every_rule(tmp_path):
    table = [line.split()[0] for line in str(pgbn.rules()).splitlines() if line.startswith("  ")]
    assert len(table) > 10
    slides.main(["rules", "-o", str(tmp_path / "rules.html")])
    slides.main(["rules", "-o", str(tmp_path / "rules.tex")])
    html, latex = ((tmp_path / f"rules.{kind}").read_text("utf-8") for kind in ("html", "tex"))
    for place in table:
        assert f"<code>{place}</code>" in html
        assert rf"\texttt{{{place}}}" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 3


def test_an_unknown_lecture_is_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        slides.main(["lecture9.md", "-o", str(tmp_path / "x.html")])
    assert "there is no such lecture" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on the PATH")
def test_the_sheet_is_one_page(tmp_path):
    sheet = [sys.executable, str(COURSE / "slides.py"), "rules", "-o", str(tmp_path / "rules.tex")]
    subprocess.run(sheet, check=True, timeout=120)  # without the rules of types of other tests
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "rules.tex"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)
    log = run.stdout.decode("latin-1")
    assert run.returncode == 0
    assert "(1 page," in log
    assert "Overfull" not in log
