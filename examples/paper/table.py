"""The tables of docs/paper.md, from the files of results: one command writes them anew.

    python examples/paper/table.py --out docs/results --page docs/paper.md

What stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` is replaced; the rest of the
page is left as it is. The paper's numbers are in published.py.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import published
from common import check_results, read_json
from structure import to_markdown

Record = dict[str, Any]
NOT_RUN = "not run"
EXPERIMENTS = ("multiclass", "binary", "perplexity", "heldout", "words", "structure")
GRID = {2000: [128, 256, 512], published.FULL: [50, 100, 200, 400, 600, 800]}
WIDTHS = [25, 50, 100, 200, 400, 600, 800]  # of the binary tasks and of NIPS12


class Found:
    """The records of all experiments in a folder."""

    def __init__(self, folder: Path, images: Path) -> None:
        self.images = images
        self.of = {name: list(read_json(folder / f"{name}.json").values()) for name in EXPERIMENTS}
        for name in ("multiclass", "words"):  # ours has some terms more than the paper's
            for record in self.of[name]:
                record["V"] = published.FULL if record["terms"] > 30_000 else record["terms"]

    def records(self, name: str, **wanted: Any) -> list[Record]:
        """Those with these values."""
        return [record for record in self.of[name]
                if all(record[field] == value for field, value in wanted.items())]  # fmt: skip

    def picture(self, name: str, caption: str) -> list[str]:
        """A line that shows a picture of plots.py, if it was drawn."""
        path = self.images / f"paper-{name}.png"
        return ["", f"![{caption}]({self.images.name}/{path.name})"] if path.exists() else []


def grid(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(str(cell) for cell in line)} |" for line in lines]


def cell(records: list[Record], value: str, digits: int = 1) -> str:
    """The mean over seeds, with the standard deviation if there are several."""
    numbers = [record[value] for record in records]
    if not numbers:
        return NOT_RUN
    spread = f" ± {statistics.stdev(numbers):.{digits}f}" if len(numbers) > 1 else ""
    return f"{statistics.fmean(numbers):.{digits}f}{spread}"


def difference(records: list[Record], theirs: tuple[float, float] | None) -> str:
    if not records or theirs is None:
        return "–"
    return f"{statistics.fmean(record['accuracy'] for record in records) - theirs[0]:+.1f}"


def seeds(records: list[Record]) -> str:
    return ", ".join(str(seed) for seed in sorted({record["seed"] for record in records})) or "–"


# ---- sections -------------------------------------------------------------------------


def accuracy(found: Found) -> list[str]:
    lines: list[str] = []
    for terms, widths in GRID.items():
        rows = []
        for width in widths:
            ours = [found.records("multiclass", V=terms, max_width=width, depth=depth)
                    for depth in range(1, 6)]  # fmt: skip
            theirs = published.ACCURACY.get((terms, width), {})
            row = [str(width), *(cell(records, "accuracy") for records in ours)]
            for depth in (1, 5):
                paper = theirs.get(depth)
                row += [f"{paper[0]} ± {paper[1]}" if paper else "–",
                        difference(ours[depth - 1], paper)]  # fmt: skip
            rows.append([*row, seeds([record for records in ours for record in records])])
        title = "all terms" if terms == published.FULL else f"V = {terms}"
        head = ["K1max", *(f"T = {t}" for t in range(1, 6)), "paper, T = 1", "ours − paper",
                "paper, T = 5", "ours − paper", "seeds"]  # fmt: skip
        name = "full" if terms == published.FULL else f"V{terms}"
        lines += [f"**{title[0].upper()}{title[1:]}**", "", *grid(head, rows)]
        lines += [*found.picture(f"multiclass-{name}", f"Accuracy against depth, {title}"), ""]
    return lines[:-1]


def runs(found: Found) -> list[str]:
    """Seconds, sweeps and widths of every network that was classified."""
    keys = sorted({(r["terms"], r["max_width"], r["seed"]) for r in found.of["multiclass"]})
    rows = []
    for terms, width, seed in keys:
        layers = found.records("multiclass", terms=terms, max_width=width, seed=seed)
        layers.sort(key=lambda record: record["depth"])
        commits = {r["training_commit"] for r in layers} | {r["commit"] for r in layers}
        rows.append([
            terms, width, seed, ", ".join(map(str, layers[-1]["widths"])), layers[-1]["sweeps"],
            *(total(layers, what) for what in
              ("training_seconds", "feature_seconds", "classifier_seconds")),
            ", ".join(f"{record['C']:g}" for record in layers), ", ".join(sorted(commits)),
        ])  # fmt: skip
    head = ["V", "K1max", "seed", "widths", "sweeps", "training, s", "features, s",
            "classifiers, s", "C for T = 1, 2, …", "commits"]  # fmt: skip
    return grid(head, rows or [[NOT_RUN, *["–"] * 9]])


def total(records: list[Record], value: str) -> str:
    """The sum over layers; a "–" if one of them is not known."""
    numbers = [record[value] for record in records]
    return "–" if None in numbers else f"{sum(numbers):.0f}"


def sweeps(found: Found) -> list[str]:
    """CPU seconds of a sweep against the paper's; a layer of this width takes B_t + C_t = 1500."""
    layers = found.records("multiclass", V=published.FULL, max_width=400)
    layers.sort(key=lambda record: record["depth"])
    by_seed = {record["seed"]: record.get("cpu_seconds", []) for record in layers}
    rows = []
    for depth, theirs in published.SWEEP_SECONDS.items():
        known = [seconds[depth - 1] for seconds in by_seed.values() if len(seconds) >= depth]
        number = [seconds / 1500 for seconds in known if seconds is not None]
        unknown = "not noted" if layers else NOT_RUN
        rows.append([depth, f"{statistics.fmean(number):.2f}" if number else unknown, theirs])
    return grid(["T", "ours", "paper"], rows)


def words(found: Found) -> list[str]:
    rows = []
    for terms, theirs in published.WORDS.items():
        row: list[object] = ["all" if terms == published.FULL else terms]
        for kind, paper in zip(("counts", "frequencies"), theirs, strict=True):
            row += [cell(found.records("words", V=terms, kind=kind), "accuracy"), paper]
        rows.append(row)
    return grid(["V", "counts", "paper", "term frequencies", "paper"], rows)


def binary(found: Found) -> list[str]:
    lines: list[str] = []
    for task in ("hardware", "science"):
        head = ["K1max", *(f"T = {t}" for t in range(1, 9)), "seeds"]
        lines += [
            f"**{task.capitalize()}**",
            "",
            *by_depth(found, "binary", "accuracy", head, task=task),
        ]
        lines += found.picture(f"binary-{task}", f"Accuracy against depth, {task}")
        lines += [*found.picture(f"binary-{task}-boxes", f"Accuracy over seeds, {task}"), ""]
    return lines[:-1]


def perplexity(found: Found) -> list[str]:
    head = ["K1max", *(f"T = {t}" for t in range(1, 6)), "seeds"]
    table = by_depth(found, "perplexity", "perplexity", head)
    return table + found.picture("perplexity", "Perplexity against depth, NIPS12")


def heldout(found: Found) -> list[str]:
    """The same of 20newsgroups; each run for itself, as other programs were run once or twice."""
    runs = sorted({(r["max_width"], r["seed"]) for r in found.of["heldout"]})
    depths = range(1, max((r["depth"] for r in found.of["heldout"]), default=5) + 1)
    rows = []
    for width, seed in runs:
        layers = [found.records("heldout", max_width=width, seed=seed, depth=t) for t in depths]
        rows.append([width, seed, *(cell(layer, "perplexity") for layer in layers)])
    head = ["K1max", "seed", *(f"T = {t}" for t in depths)]
    return grid(head, rows or [[NOT_RUN, *["–"] * (len(head) - 1)]])


def by_depth(found: Found, name: str, value: str, head: list[str], **wanted: Any) -> list[str]:
    """A row for each width, a column for each depth."""
    rows = []
    for width in WIDTHS:
        ours = [found.records(name, max_width=width, depth=depth, **wanted)
                for depth in range(1, len(head) - 1)]  # fmt: skip
        every = [record for records in ours for record in records]
        rows.append([width, *(cell(records, value) for records in ours), seeds(every)])
    return grid(head, rows)


def widths(found: Found) -> list[str]:
    """Ours against those that the paper prints, and their ratio layer by layer."""
    rows = []
    for (name, width), theirs in published.WIDTHS.items():
        experiment, _, task = name.partition(" ")
        wanted: Record = {"task": task} if task else {}
        if experiment == "multiclass":
            wanted = {"V": published.FULL}
        deepest: dict[int, Record] = {}
        for record in found.records(experiment, max_width=width, **wanted):
            if record["depth"] >= deepest.get(record["seed"], record)["depth"]:
                deepest[record["seed"]] = record
        paper = ", ".join(map(str, theirs))
        if not deepest:
            rows.append([name, width, paper, NOT_RUN, "–", "–"])
        for seed, record in sorted(deepest.items()):
            ratios = (a / b for a, b in zip(record["widths"], theirs, strict=False))
            rows.append([name, width, paper, ", ".join(map(str, record["widths"])),
                         ", ".join(f"{ratio:.2f}" for ratio in ratios), seed])  # fmt: skip
    return grid(["experiment", "K1max", "paper", "ours", "ours ÷ paper", "seed"], rows)


def structure(found: Found) -> list[str]:
    """The topics and documents of one network of each corpus: the widest that was described."""
    lines: list[str] = []
    for corpus in ("20newsgroups", "nips12"):
        records = found.records("structure", corpus=corpus)
        lines += [f"### {corpus}", ""]
        if not records:
            lines += [f"{NOT_RUN[0].upper()}{NOT_RUN[1:]}.", ""]
            continue
        best = max(records, key=lambda r: (r["terms"], r["max_width"], r["depth"], -r["seed"]))
        lines += [f"V = {best['terms']}, K1max = {best['max_width']}, seed {best['seed']}.", ""]
        lines += [to_markdown(best, topics=5).rstrip(), ""]
    return lines[:-1]


SECTIONS: dict[str, Callable[[Found], list[str]]] = {
    "accuracy": accuracy, "runs": runs, "sweeps": sweeps, "words": words, "binary": binary,
    "perplexity": perplexity, "heldout": heldout, "widths": widths, "structure": structure,
}  # fmt: skip


def rewrite(page: str, found: Found) -> str:
    """The page with every section written anew."""

    def write(match: re.Match[str]) -> str:
        name = match[1]
        if name not in SECTIONS:
            raise SystemExit(f"<!-- begin {name} -->: no such table; there are {list(SECTIONS)}")
        body = "\n".join(SECTIONS[name](found))
        return f"<!-- begin {name} -->\n\n{body}\n\n<!-- end {name} -->"

    return re.sub(r"<!-- begin (\w+) -->\n.*?<!-- end \1 -->", write, page, flags=re.DOTALL)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of results")
    parser.add_argument("--page", type=Path, default=Path("docs/paper.md"))
    options = parser.parse_args(argv)
    check_results(options.out, EXPERIMENTS)
    text = options.page.read_text(encoding="utf-8")
    new = rewrite(text, Found(options.out, options.page.parent / "images"))
    options.page.write_text(new, encoding="utf-8")
    print(f"{options.page}: {'changed' if new != text else 'as it was'}")


if __name__ == "__main__":
    main()
