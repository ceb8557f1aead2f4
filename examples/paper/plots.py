"""Pictures of what the other scripts found: accuracy and perplexity against depth.

Needs matplotlib. Reads OUT/*.json and writes IMAGES/paper-*.png, which table.py puts on the page.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from common import check_results, read_json


def by_seed(records: list[dict[str, Any]], value: str, width: int) -> dict[int, dict[int, float]]:
    """value of the networks of a width by seed, then by depth."""
    out: dict[int, dict[int, float]] = defaultdict(dict)
    for record in records:
        if record["max_width"] == width:
            out[record["seed"]][record["depth"]] = record[value]
    return out


def line(seeds: dict[int, dict[int, float]]) -> tuple[dict[int, float], list[tuple[int, float]]]:
    """The means by depth over the seeds that have most depths, and the points of the others: a
    line through depths of different seeds would bend where one chain differs from another."""
    most = max(map(len, seeds.values()))
    whole = [values for values in seeds.values() if len(values) == most]
    depths = sorted({depth for values in whole for depth in values})
    means = {t: fmean(values[t] for values in whole if t in values) for t in depths}
    return means, [point for values in seeds.values() if len(values) < most
                   for point in values.items()]  # fmt: skip


def draw(
    plt: Any, records: list[dict[str, Any]], value: str, title: str, path: Path, relative: bool
) -> None:
    """A line for each width; with ``relative``, a second panel of differences to one layer."""
    size = (11 if relative else 6.5, 4)
    figure, axes = plt.subplots(1, 2 if relative else 1, figsize=size, layout="constrained")
    sides = list(axes) if relative else [axes]
    for width in sorted({record["max_width"] for record in records}):
        means, others = line(by_seed(records, value, width))
        (drawn,) = sides[0].plot(means.keys(), means.values(), marker="o",
                                 label=f"$K_{{1max}}={width}$")  # fmt: skip
        sides[0].scatter([t for t, _ in others], [y for _, y in others], s=9,
                         color=drawn.get_color())  # fmt: skip
        if relative:
            sides[1].plot(means.keys(), [m - means[1] for m in means.values()], marker="o")
    depths = sorted({record["depth"] for record in records})
    for panel in sides:
        panel.set_xlabel("layers T")
        panel.set_xticks(depths)
    sides[0].set_ylabel(title)
    if relative:
        sides[1].set_ylabel(f"{title}, minus T=1")
    figure.legend(loc="outside right center")
    _save(plt, figure, path)


def boxes(plt: Any, records: list[dict[str, Any]], title: str, path: Path) -> None:
    """Box plots over seeds for the widest network (figure 2 (a), (b) of the paper)."""
    seeds = by_seed(records, "accuracy", max(record["max_width"] for record in records))
    depths = sorted({depth for values in seeds.values() for depth in values})
    figure, axis = plt.subplots(figsize=(5, 4), layout="constrained")
    axis.boxplot([[values[t] for values in seeds.values() if t in values] for t in depths])
    axis.set_xticklabels([str(depth) for depth in depths])
    axis.set_xlabel("layers T")
    axis.set_ylabel(title)
    _save(plt, figure, path)


def _save(plt: Any, figure: Any, path: Path) -> None:
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
