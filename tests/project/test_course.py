"""The course: lectures, their exercises, slides and the sheet of rules."""

import base64
import importlib.util
import re
import shutil
import subprocess
import sys
from html import unescape

import nbformat
import pytest

import pgbn
from pgbn.explain import formulas as signs
from tests.helpers.browser import needs_browser, start_browser
from tests.helpers.repository import DOCS, doc_pages

COURSE = DOCS / "course"
LECTURES = sorted(COURSE.glob("lecture*.md"))
spec = importlib.util.spec_from_file_location("course_slides", COURSE / "slides.py")
slides = importlib.util.module_from_spec(spec)
spec.loader.exec_module(slides)


def test_there_are_seven_lectures_in_the_index():
    index = (COURSE / "index.md").read_text("utf-8")
    assert len(LECTURES) == 7
    assert all(f"{{doc}}`{lecture.stem}`" in index for lecture in LECTURES)


NOTEBOOKS = [page for page in doc_pages() if "file_format: mystnb" in page.read_text("utf-8")]


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_page_converts_to_a_notebook(page):
    """The header is that of a notebook, whose schema asks for the name of a kernel to show."""
    header = page.read_text("utf-8").split("---\n")[1]
    kernel = dict(re.findall(r"^  (\w+): (.+)$", header, re.MULTILINE))
    book = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    nbformat.validate(book)


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


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_an_exercise_shows_its_question_alone(lecture):
    """Solutions in words fold away on the page, as those in code do, and are not on the slides."""
    exercises = lecture.read_text("utf-8").split("\n## Exercises\n")[1]
    shown = re.sub(r"```\{code-cell\}.*?```|<details>.*?</details>", "", exercises, flags=re.DOTALL)
    paragraphs = [part for part in shown.split("\n\n") if part.strip()]
    begins = [re.match(r"\s*\*\*\d\.\d", part) for part in paragraphs]
    assert all(begins[1:]), paragraphs
    last = slides.slides_html(lecture.read_text("utf-8")).split("<section")[-1]
    assert last.count("<p>") == len(paragraphs)


def test_every_command_of_a_formula_is_drawn():
    """A command that is not known would be shown by its name, in the text."""
    known = {*signs.LETTERS, *signs.LARGE, *signs.OPERATORS, *signs.WORDS, *signs.SPACES,
             *signs.SILENT, *signs.ARGUMENTS, "begin"}  # fmt: skip
    for page in DOCS.rglob("*.md"):
        prose = re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text("utf-8"), flags=re.M | re.S)
        for formula in re.findall(r"\$\$.*?\$\$|\$[^$\n]+\$", prose, re.DOTALL):
            unknown = set(re.findall(r"\\([A-Za-z]+)", formula)) - known
            assert not unknown, (page.name, formula)


@needs_browser
def test_slides_fit_the_projector(tmp_path):
    """No slide is taller or wider than the screen, none has a heading alone, no line is lost."""
    browser = start_browser(tmp_path / "profile")
    try:
        for lecture in LECTURES:
            page = slides.slides_html(lecture.read_text("utf-8"))
            (tmp_path / "slides.html").write_text(page, "utf-8")
            code = re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)
            lines = [unescape(line) for part in code for line in part.split("\n") if line.strip()]
            for width, height in ((1280, 720), (1024, 768)):
                screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
                browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
                browser.get((tmp_path / "slides.html").as_uri())
                found = browser.execute_script(SLIDES)
                assert len(found) >= page.count("<section"), lecture.name
                for title, tall, wide, blocks in found:
                    assert (tall, wide) == (0, 0), (lecture.name, title)
                    assert blocks > 1, (lecture.name, title)
                assert browser.execute_script(LINES) == lines
        # In a process of its own: other tests have registered rules.
        sheet = tmp_path / "rules.html"
        subprocess.run([sys.executable, COURSE / "slides.py", "rules", "-o", sheet], check=True)
        browser.get(sheet.as_uri())
        paper = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": False}
        printed = browser.execute_cdp_cmd("Page.printToPDF", paper)["data"]
        assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed))) == 1
    finally:
        browser.quit()


SLIDES = """
return slides.map((slide, i) => {
  show(i);
  const wide = [...slide.querySelectorAll("pre, .formula, table")]
    .map((block) => Math.max(0, block.scrollWidth - Math.max(block.clientWidth, innerWidth * 0.9)));
  return [slide.textContent.slice(0, 40),
    Math.max(0, document.documentElement.scrollHeight - innerHeight),
    Math.max(0, document.documentElement.scrollWidth - innerWidth, ...wide),
    slide.children.length];
});
"""
LINES = """
return slides.flatMap((slide) => [...slide.querySelectorAll("pre code")])
  .flatMap((code) => code.textContent.split("\\n")).filter((line) => line.trim());
"""


def test_the_sheet_has_every_rule(tmp_path):
    rules = [line.split()[0] for line in str(pgbn.rules()).splitlines() if line.startswith("  ")]
    # other tests of this process may have registered rules of types of their own
    table = [place for place in rules if hasattr(pgbn, place.partition(".")[0])]
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
