"""Slides and a printable sheet from the sources of the course.

    python docs/course/slides.py docs/course/lecture2.md -o lecture2.html
    python docs/course/slides.py rules -o rules.html
    python docs/course/slides.py rules -o rules.tex

A slide is a section of a lecture, or a part of one between two ``---``; solutions are left out. The
sheet has every rule that is registered. Pages hold all that they need; formulas are MathML.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

import pgbn
from pgbn.explain.formulas import aligned_mathml, inline_mathml

__all__ = ["main", "rule_sheet_html", "rule_sheet_latex", "slides_html"]

STYLE = """
:root { color-scheme: light dark; }
body { font: 24px/1.45 system-ui, "Segoe UI", sans-serif; margin: 0; }
section { min-height: 100vh; box-sizing: border-box; padding: 5vh 5vw; outline: 0; }
.deck { font-size: min(3.3vh, 1.9vw); }
.deck section { display: none; }
.deck section.now { display: block; }
h1, h2 { line-height: 1.2; margin: 0 0 .6em; }
h1 { font-size: 1.9em; }
h2 { font-size: 1.5em; }
table { border-collapse: collapse; font-size: .8em; }
td, th { border: 1px solid #8888; padding: .3em .7em; text-align: start; }
pre { background: #8882; padding: .6em; margin: .8em 0; font-size: .72em; overflow-x: auto; }
code { font-size: 1em; }
p code, td code { font-size: .9em; }
.formula { display: block; margin: .7em 0; overflow-x: auto; overflow-y: hidden; }
.formula mtable { math-style: normal; }
blockquote { border-left: 4px solid #8888; margin: 0; padding-left: 1em; }
h2 small { font-weight: 400; opacity: .75; }
footer { position: fixed; right: 1em; bottom: .6em; font-size: .6em; opacity: .7; }
.sheet { font-size: 12px; }
.sheet section { min-height: 0; padding: 1.5em; }
.sheet h1 { font-size: 1.4em; }
.sheet p { margin: .4em 0; }
.sheet table { font-size: 1em; width: 100%; }
.sheet td, .sheet th { padding: .1em .5em; }
@media print {
  body.deck { font-size: 15px; }
  .deck section { display: block; page-break-after: always; min-height: 0; }
  .sheet { font-size: 11px; }
  .sheet section { padding: 0; }
  footer { display: none; }
}
@page { margin: 10mm; }
"""
# A section that is taller than the window goes on on the next slide: whole blocks move, none is
# left that announces the next one, and only code that is taller than a slide is cut, between two
# statements where it can be.
SCRIPT = """
const sources = [...document.querySelectorAll("section")];
let slides = [], at = 0;
const isHeading = (block) => /^H[12]$/.test(block.tagName);
const announces = (block) => block.tagName === "P" && /[:,]$/.test(block.textContent.trim());
const isTall = (slide) => slide.scrollHeight > innerHeight;
function cut(slide, code, rest) {
  const lines = code.textContent.trimEnd().split("\\n"), left = code.cloneNode(true);
  const put = (block, part) => { block.querySelector("code").textContent = part.join("\\n"); };
  let first = lines.length;
  while (first > 1 && isTall(slide)) put(code, lines.slice(0, --first));
  const opens = (i) => !lines[i - 1] && /^[^ \\t)\\]]/.test(lines[i]);
  for (let i = first; i > first / 2; i--) if (i < lines.length && opens(i)) { first = i; break; }
  put(code, lines.slice(0, first).join("\\n").trimEnd().split("\\n"));
  put(left, lines.slice(first));
  if (lines.slice(first).join("").trim()) rest.unshift(left);
}
function fit(slide) {
  const rest = [];
  const last = () => slide.children[slide.children.length - 1];
  const least = isHeading(slide.firstElementChild) ? 2 : 1;
  while (isTall(slide) && slide.children.length > least) { rest.unshift(last()); last().remove(); }
  while (rest.length && slide.children.length > least && announces(last())) {
    rest.unshift(last()); last().remove();
  }
  if (isTall(slide) && last().tagName === "PRE") cut(slide, last(), rest);
  if (!rest.length) return;
  const next = slide.cloneNode(false), heading = slide.querySelector("h1, h2");
  if (heading) {
    const title = document.createElement("h2");
    title.innerHTML = heading.innerHTML.replace(/ <small>.*/, "") + " <small>(continued)</small>";
    next.append(title);
  }
  next.append(...rest);
  slide.after(next);
  slide.classList.remove("now");
  next.classList.add("now");
  fit(next);
  next.classList.remove("now");
}
function build() {
  slides.forEach((slide) => slide.remove());
  sources.forEach((source) => {
    const slide = source.cloneNode(true);
    document.querySelector("footer").before(slide);
    slide.classList.add("now");
    fit(slide);
    slide.classList.remove("now");
  });
  slides = [...document.querySelectorAll("section")];
}
function show(next) {
  at = Math.max(0, Math.min(slides.length - 1, next));
  slides.forEach((slide, i) => slide.classList.toggle("now", i === at));
  document.querySelector("footer").textContent = `${at + 1} / ${slides.length}`;
  history.replaceState(null, "", `#${at + 1}`);
  slides[at].focus({ preventScroll: true });
}
addEventListener("keydown", (event) => {
  if (["ArrowRight", "PageDown", " "].includes(event.key)) { show(at + 1); event.preventDefault(); }
  if (["ArrowLeft", "PageUp"].includes(event.key)) { show(at - 1); event.preventDefault(); }
  if (event.key === "Home") show(0);
  if (event.key === "End") show(slides.length - 1);
});
addEventListener("click", (event) => { if (!event.target.closest("a, pre")) show(at + 1); });
addEventListener("resize", () => {
  const share = at / slides.length;
  build();
  show(Math.floor(share * slides.length));
});
document.body.classList.add("deck");
sources.forEach((source) => source.remove());
build();
show(Number(location.hash.slice(1)) - 1 || 0);
"""


def render(text: str) -> str:
    """Markdown with $formulas$ as HTML. Code keeps its dollars."""
    formulas: list[str] = []

    def keep(html: str) -> str:
        formulas.append(html)
        return f"FORMULA{len(formulas) - 1}ALUMROF"

    def block(match: re.Match[str]) -> str:
        lines = [line for line in match[1].replace("\\\\", "\n").splitlines() if line.strip()]
        return keep(f'<span class="formula">{aligned_mathml(lines)}</span>')

    pieces = re.split(r"(^```.*?^```$|`[^`\n]+`)", text, flags=re.MULTILINE | re.DOTALL)
    for i in range(0, len(pieces), 2):  # between the pieces of code
        pieces[i] = re.sub(r"\$\$(.*?)\$\$", block, pieces[i], flags=re.DOTALL)
        pieces[i] = re.sub(r"\$([^$\n]+)\$", lambda m: keep(inline_mathml(m[1])), pieces[i])
    html = MarkdownIt("commonmark").enable("table").render("".join(pieces))
    return re.sub(r"FORMULA(\d+)ALUMROF", lambda m: formulas[int(m[1])], html)


def slides_html(text: str) -> str:
    """A lecture as one page of slides: arrow keys, a click or the space bar go on. What is taller
    than the window goes on on the next slide."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    cell = re.compile(r"```\{code-cell\}[^\n]*\n(.*?)```\n?", re.DOTALL)
    text = cell.sub(lambda m: "" if ":tags:" in m[1] else f"```\n{m[1]}```\n", text)
    text = re.sub(r"<details>.*?</details>\n?", "", text, flags=re.DOTALL)
    text = re.sub(r"\{doc\}`(?:[^`]*/)?([^`/]+)`", r"*\1*", text)
    parts = re.split(r"^(?=## )|^---$", text, flags=re.MULTILINE)
    sections = [
        f'<section tabindex="-1">{render(part)}</section>' for part in parts if part.strip()
    ]
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    return _page(title[1] if title else "Slides", "\n".join(sections) + "<footer></footer>", SCRIPT)


def rule_sheet_html() -> str:
    """All registered rules on one page to print."""
    body = render(_rules_markdown())
    page = _page(
        "Rules of pgbn", f"<section><h1>Count and exposure: the rules</h1>{body}</section>"
    )
    return page.replace("<body>", '<body class="sheet">')


def rule_sheet_latex() -> str:
    """The same as a LaTeX document of one page."""
    lines = [
        r"\documentclass[10pt]{article}",
        r"\usepackage[a4paper,margin=10mm]{geometry}",
        r"\usepackage{amsmath}",
        r"\setlength{\parindent}{0pt}\setlength{\tabcolsep}{4pt}\pagestyle{empty}",
        r"\begin{document}\small",
        r"{\large\textbf{Count and exposure: the rules of pgbn}}\par\medskip",
    ]
    for line in _rules_markdown().splitlines():
        if line.startswith("**"):
            lines.append(rf"\textbf{{{_latex(line.strip('*'))}}}\\[2pt]")
            lines.append(r"\begin{tabular}{@{}llll@{}}")
        elif line.startswith("|") and "---" not in line and "equation" not in line:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            place, relation, kind, formula = cells
            place = _latex(place.strip("`"))
            formula = formula if formula.startswith("$") else _latex(formula)
            lines.append(rf"\texttt{{{place}}} & {relation} & {kind} & {formula} \\")
        elif not line.strip() and lines[-1].endswith(r"\\"):
            lines.append(r"\end{tabular}\par\medskip")
    if lines[-1].endswith(r"\\"):
        lines.append(r"\end{tabular}")
    return "\n".join([*lines, r"\end{document}", ""])


def _rules_markdown() -> str:
    """The table of rules as notebooks show it, without the list of types."""
    text = pgbn.rules()._repr_markdown_()
    return text[: text.index("Node types:")] if "Node types:" in text else text


def _latex(text: str) -> str:
    return re.sub(r"([_&%#$])", r"\\\1", text)


def _page(title: str, body: str, script: str = "") -> str:
    end = f"<script>{script}</script>" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n{end}</body></html>\n"
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", help="a lecture, or the word rules")
    parser.add_argument("-o", "--output", type=Path, required=True, help=".html; .tex for rules")
    options = parser.parse_args(argv)
    if options.source == "rules":
        text = rule_sheet_latex() if options.output.suffix == ".tex" else rule_sheet_html()
    elif not Path(options.source).is_file():
        parser.error(f"{options.source}: there is no such lecture")
    else:
        text = slides_html(Path(options.source).read_text("utf-8"))
    options.output.write_text(text, "utf-8")
    print(options.output)


if __name__ == "__main__":
    main()
