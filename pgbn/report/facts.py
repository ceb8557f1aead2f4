"""The settings of a run: what is known of a trained network, and the code that repeats it."""

from __future__ import annotations

import platform
from ast import literal_eval
from collections.abc import Mapping
from typing import Any

import numpy as np

from pgbn.engine.data.cells import Cells
from pgbn.training.trained import TrainedNetwork
from pgbn.versions import __version__
from pgbn.zoo.links import get_link

__all__ = ["code_to_repeat", "trained_facts", "used_versions"]

_ARGUMENTS = (
    "max_width", "depth", "eta", "burn_in", "collect", "link", "seed", "layer1", "average",
    "min_width", "min_count", "trace_every",
)  # fmt: skip


def trained_facts(trained: TrainedNetwork, cells: Cells | None) -> dict[str, Any]:
    """Sizes, link and priors of a trained network, by readable names."""
    facts: dict[str, Any] = {
        "layer widths": " – ".join(map(str, trained.widths)),
        "terms": trained.vocabulary_size,
    }
    if cells is not None:
        facts |= {"documents": cells.rows, "tokens": int(cells.values.sum())}
    facts |= {"link": trained.link, "sweeps in all": trained.sweeps}
    if trained.eta:
        facts["eta, by layer"] = ", ".join(f"{eta:g}" for eta in trained.eta)
    for name in type(trained.priors).__annotations__:
        if name != "noise" or get_link(trained.link).noise:
            first, second = getattr(trained.priors, name)
            facts[f"prior of {name}"] = f"({first:g}, {second:g})"
    return facts | used_versions()


def code_to_repeat(settings: Mapping[str, Any]) -> str:
    """The call of `train_layerwise` with these settings, where enough of them are known; and what
    was done after it."""
    if not {"max_width", "depth", "seed"} <= settings.keys():
        return ""
    given = {name: settings[name] for name in _ARGUMENTS if name in settings}
    rows = [f"    {name}={_literal(value)}," for name, value in given.items()]
    merged = "twins were merged" in str(settings.get("training stopped", ""))
    after = ["# then twins were merged, as pgbn fit", "# and pgbn.PGBN do by themselves"]
    return "\n".join(["import pgbn", "", "model = pgbn.train_layerwise(", "    X,", *rows, ")",
                      *(after if merged else [])])  # fmt: skip


def _literal(value: Any) -> str:
    """A value as Python code; text that is code already, such as "[1, 2]", stays."""
    try:
        return repr(literal_eval(value) if isinstance(value, str) else value)
    except (ValueError, SyntaxError):
        return repr(value)


def used_versions() -> dict[str, str]:
    """What the numbers were made with."""
    return {"pgbn": __version__, "numpy": np.__version__, "python": platform.python_version()}
