"""Pictures of what the other scripts found: accuracy and perplexity against depth.

Needs matplotlib. Reads FOLDER/*.json and writes FOLDER/*.png.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any


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
    panels = list(axes) if relative else [axes]
    for width, by_depth in sorted(curves(records, value).items()):
        depths = sorted(by_depth)
        means = [sum(by_depth[depth]) / len(by_depth[depth]) for depth in depths]
        panels[0].plot(depths, means, marker="o", label=f"$K_{{1max}}={width}$")
        if relative:
            panels[1].plot(depths, [mean - means[0] for mean in means], marker="o")
    for panel in panels:
        panel.set_xlabel("layers T")
    panels[0].set_ylabel(title)
    if relative:
        panels[1].set_ylabel(f"{title}, minus T=1")
    panels[0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
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
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of results")
    options = parser.parse_args()
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        raise SystemExit("plots.py needs matplotlib: pip install matplotlib") from None
    groups = {"multiclass": ("terms", "accuracy, %"), "binary": ("task", "accuracy, %"),
              "perplexity": (None, "perplexity")}  # fmt: skip
    for name, (by, title) in groups.items():
        path = options.out / f"{name}.json"
        if not path.exists():
            continue
        records = list(json.loads(path.read_text()).values())
        value = "perplexity" if name == "perplexity" else "accuracy"
        for group in sorted({record[by] if by else "" for record in records}, key=str):
            chosen = [record for record in records if not by or record[by] == group]
            target = options.out / f"{name}{f'-{group}' if by else ''}.png"
            draw(plt, chosen, value, title, target, relative=name == "perplexity")
            print(target)
            if name == "binary":
                boxes(plt, chosen, title, target.with_stem(f"{target.stem}-boxes"))


if __name__ == "__main__":
    main()
