"""Twins of upper layers, merged when `pgbn fit` and `pgbn demo` have trained.

That twins are to be merged stands in the record of the training until it is done, so that
`pgbn resume` does it where a fit was stopped before, or on the way: it begins anew, and gives the
same bits.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgbn.cli.console import output
from pgbn.storage.archive import read_manifest

if TYPE_CHECKING:
    from pgbn.samplers.executor import Executor

__all__ = ["has_twins_to_merge", "to_merge", "untwin"]

_KEY = "merge_twins"


def to_merge(wanted: bool) -> dict[str, bool]:
    """What the record of a training says if its twins are to be merged."""
    return {_KEY: True} if wanted else {}


def has_twins_to_merge(folder: Path) -> bool:
    """Whether a training is finished, but its twins have not been looked for."""
    manifest = read_manifest(folder)
    record = manifest["content"].get("record")
    marked = isinstance(record, dict) and isinstance(record.get("arguments"), dict)
    return manifest["kind"] == "training" and marked and record.get(_KEY) is True


def untwin(folder: Path, threads: int | None, executor: Executor | None = None) -> None:
    """Merge the twins of a model's upper layers, train on, and save it in its place."""
    from pgbn.engine.run.stopping import stop_gently
    from pgbn.evaluation.untwinning import SWEEPS, without_twins
    from pgbn.storage.folders import open_saved, save
    from pgbn.storage.writing import writing
    from pgbn.training.layerwise import Progress, train_layerwise
    from pgbn.training.trained import TrainedNetwork

    saved = open_saved(folder)
    arguments: dict[str, Any] = saved.record["arguments"]

    def listen(event: Progress) -> None:
        if stop.requested:
            raise stop.interrupted(
                f"stopped while twins were merged; the training before is saved, and the command "
                f"pgbn resume {folder} merges them"
            )

    def train(merged: TrainedNetwork) -> TrainedNetwork:
        output.note(f"twins were merged, to {'-'.join(map(str, merged.widths))} topics; {SWEEPS} "
                    "sweeps more …")  # fmt: skip
        found: TrainedNetwork = train_layerwise(
            saved.data, max(merged.widths), merged.depth, collect=SWEEPS, link=merged.link,
            seed=arguments.get("seed", 0), layer1=arguments.get("layer1", "auto"), threads=threads,
            executor=executor, start_from=merged, callback=listen,
            keep_draws=min(len(next(iter(merged.draws.values()), ())), SWEEPS),
        ).deepest  # fmt: skip
        return found

    with writing(folder), stop_gently() as stop:
        result = without_twins(saved.object, train)
        record = {name: value for name, value in saved.record.items() if name != _KEY}
        save(result, folder, vocabulary=saved.vocabulary, labels=saved.labels, record=record,
             data=saved.data, columns=saved.columns)  # fmt: skip
