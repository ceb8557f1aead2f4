"""From a grown network of any family to RunData."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pgbn.engine.run.draws import Draws
from pgbn.report.data import Series
from pgbn.report.run_data import Coords, RunData, run_data

if TYPE_CHECKING:
    from pgbn.training.grown import GrownNetwork

__all__ = ["run_data_from_grown"]


def run_data_from_grown(
    grown: GrownNetwork,
    *,
    coords: Coords | None = None,
    title: str = "A network grown layer by layer",
    settings: Mapping[str, Any] | None = None,
    repeat: str = "",
    picture: str = "",
) -> RunData:
    """What the report shows of a `pgbn.GrownNetwork`: the nodes that all rows share, by the draws
    that training kept or else their means, and the traces of its deepest layer."""
    model = grown.model
    kept = grown.draws or {name: value[None] for name, value in grown.means.items()}
    values = {name: value[None] for name, value in kept.items()}  # one chain
    dims = {name: ("chain", "draw", *model[name].axes) for name in values}
    widths = " – ".join(map(str, grown.widths))
    data = run_data(
        Draws(values, dims, network=model), coords=coords, title=title, repeat=repeat,
        picture=picture, settings={"widths": widths, "sweeps": grown.sweeps, **(settings or {})},
    )  # fmt: skip
    traces = dict(grown.traces)
    sweeps = traces.pop("sweep")
    return replace(
        data, series=tuple(Series(name.replace("_", " "), sweeps, value[None])
                           for name, value in traces.items()),
    )  # fmt: skip
