"""Pictures of what the other scripts found: accuracy and perplexity against depth.

Needs matplotlib. Reads OUT/*.json and writes IMAGES/paper-*.png, which table.py puts on the page.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common import check_results, read_json


def curves(records: list[dict[str, Any]], value: str) -> dict[int, dict[int, list[float]]]:
    """value by width, then by depth: one number for each seed."""
    out: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        out[record["max_width"]][record["depth"]].append(record[value])
    return out


def draw(
    plt: Any, records: list[dict[str, Any]], value: str, title: str, path: Path, relative: bool
) -> None:
    """A line for each width; with ``relative``, a second panel of differences to one layer."""
    figure, axes = plt.subplots(1, 2 if relative else 1, figsize=(10 if relative else 5, 4))
    sides = list(axes) if relative else [axes]
    for width, by_depth in sorted(curves(records, value).items()):
        depths = sorted(by_depth)
        means = [sum(by_depth[depth]) / len(by_depth[depth]) for depth in depths]
        sides[0].plot(depths, means, marker="o", label=f"$K_{{1max}}={width}$")
        if relative:
            sides[1].plot(depths, [mean - means[0] for mean in means], marker="o")
    depths = sorted({record["depth"] for record in records})
    for panel in sides:
        panel.set_xlabel("layers T")
        panel.set_xticks(depths)
    sides[0].set_ylabel(title)
    if relative:
        sides[1].set_ylabel(f"{title}, minus T=1")
    sides[0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)


def boxes(plt: Any, records: list[dict[str, Any]], title: str, path: Path) -> None:
    """Box plots over seeds for the widest network (figure 2 (a), (b) of the paper)."""
    by_depth = curves(records, "accuracy")[max(record["max_width"] for record in records)]
    figure, axis = plt.subplots(figsize=(5, 4))
    axis.boxplot([by_depth[depth] for depth in sorted(by_depth)])
    axis.set_xticklabels([str(depth) for depth in sorted(by_depth)])
    axis.set_xlabel("layers T")
    axis.set_ylabel(title)
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)


def panels(out: Path) -> Iterator[tuple[str, list[dict[str, Any]], str, str]]:
    """(name of the picture, records, value, title) of everything that there is to draw."""
    by_terms: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in read_json(out / "multiclass.json").values():
        by_terms["full" if record["terms"] > 30_000 else f"V{record['terms']}"].append(record)
    for name, records in sorted(by_terms.items()):
        yield f"multiclass-{name}", records, "accuracy", "accuracy, %"
    by_task: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in read_json(out / "binary.json").values():
        by_task[record["task"]].append(record)
    for name, records in sorted(by_task.items()):
        yield f"binary-{name}", records, "accuracy", "accuracy, %"
    records = list(read_json(out / "perplexity.json").values())
    if records:
        yield "perplexity", records, "perplexity", "perplexity"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of results")
    parser.add_argument("--images", type=Path, default=None, help="folder of pictures; else OUT")
    options = parser.parse_args(argv)
    check_results(options.out, ("multiclass", "binary", "perplexity"))
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        raise SystemExit("plots.py needs matplotlib: pip install matplotlib") from None
    images = options.images or options.out
    images.mkdir(parents=True, exist_ok=True)
    for name, records, value, title in panels(options.out):
        path = images / f"paper-{name}.png"
        draw(plt, records, value, title, path, relative=name == "perplexity")
        if name.startswith("binary"):
            boxes(plt, records, title, path.with_stem(f"{path.stem}-boxes"))
        print(path)


if __name__ == "__main__":
    main()
