"""Twins of upper layers, merged after `pgbn fit` and `pgbn demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pgbn.cli.console import output
from pgbn.cli.spread import SPREAD

if TYPE_CHECKING:
    from pgbn.samplers.executor import Executor

__all__ = ["untwin"]


def untwin(folder: Path, seed: int, threads: int | None, executor: Executor | None = None) -> None:
    """Merge the twins of a model's upper layers, train on, and save it in its place."""
    from pgbn.evaluation.untwinning import SWEEPS, without_twins
    from pgbn.storage.folders import open_saved, save
    from pgbn.training.layerwise import train_layerwise
    from pgbn.training.trained import TrainedNetwork

    saved = open_saved(folder)

    def train(merged: TrainedNetwork) -> TrainedNetwork:
        output.note(f"twins were merged, to {'-'.join(map(str, merged.widths))} topics; {SWEEPS} "
                    "sweeps more …")  # fmt: skip
        found: TrainedNetwork = train_layerwise(
            saved.data, max(merged.widths), merged.depth, collect=SWEEPS, link=merged.link,
            seed=seed, threads=threads, executor=executor, start_from=merged,
            layer1="auto" if executor is None or merged.link != "poisson" else SPREAD,
            keep_draws=min(len(next(iter(merged.draws.values()), ())), SWEEPS),
        ).deepest  # fmt: skip
        return found

    result = without_twins(saved.object, train)
    if result is not saved.object:
        save(result, folder, vocabulary=saved.vocabulary, labels=saved.labels, record=saved.record,
             data=saved.data, columns=saved.columns)  # fmt: skip
