"""A chain whose rows are with workers, saved: each of them writes its part of the files.

The driver tells where; what all rows share it writes itself. Where a worker does not see the folder
of the driver, which must then be one that all machines have, the driver gathers the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.data.nonzero import Cells, CoordinateCells
from pgbn.engine.run.state import as_stored, sampler_path, state_places
from pgbn.engine.shards.crew import ShardDriver
from pgbn.engine.shards.worker import Place, WorkerState
from pgbn.errors import notify
from pgbn.storage.archive import Group
from pgbn.storage.arrays import InParts, WrittenPart, write_part
from pgbn.storage.sparse import compact


def state_in_parts(
    program: Program, crew: ShardDriver, pending: set[str], whole: Callable[[], Group]
) -> InParts:
    """The state of a chain, of which the workers write their rows; ``whole()`` gathers it."""
    crew.push()
    places = state_places(program, pending)
    axes = {path: crew.axis(*place) for path, place in places.items()}
    away = {path: axis for path, axis in axes.items() if axis is not None}
    here = {
        path: compact(as_stored(table, getattr(program, table)[key]))
        for path, (table, key) in places.items()
        if path not in away
    }
    samplers = {}
    for observed, sampler in program.first_layers.items():
        shared = sampler.shared_state() if observed in crew.cells else sampler.state()
        here |= {sampler_path(program, sampler, n): compact(a) for n, a in shared.items()}
        if observed in crew.cells:
            samplers[observed] = sampler_path(program, sampler, "{}")

    def write(probe: Path, stem: str) -> list[WrittenPart] | None:
        rows = {path: places[path] for path in away}
        answers = crew.mail.ask(write_state, probe, stem, rows, samplers)
        return _all_written(crew, probe.parent, answers)

    return InParts(here, away, write, whole)


def data_in_parts(crew: ShardDriver, here: Group, whole: Callable[[], Group]) -> InParts:
    """The data of a chain, of which the workers write their rows."""

    def write(probe: Path, stem: str) -> list[WrittenPart] | None:
        answers = crew.mail.ask(write_data, probe, stem, list(crew.cells))
        return _all_written(crew, probe.parent, answers)

    return InParts(here, {}, write, whole)


def _all_written(crew: ShardDriver, folder: Path, answers: list[Any]) -> list[WrittenPart] | None:
    """The parts, or None, and a word about it, if a worker wrote none."""
    blind = [number for number, answer in enumerate(answers) if answer is None]
    if not blind:
        return answers
    for answer in answers:
        if answer is not None:
            (folder / answer.file).unlink(missing_ok=True)
    if not crew.gathers:
        crew.gathers = True
        notify(
            f"{folder}: worker {blind[0]} of {crew.executor!r} does not see this folder, so that "
            "all rows go through the driver when they are saved; use a folder that all machines "
            "share"
        )
    return None


def cell_arrays(name: str, cells: Cells) -> Group:
    """The cells of a node as arrays of a file."""
    out = {f"{name}/indptr": cells.starts, f"{name}/indices": compact(cells.indices)}
    if isinstance(cells, CoordinateCells):
        out[f"{name}/numbers"] = cells.numbers
    out[f"{name}/values"] = compact(cells.values)
    if cells.missing is not None:
        out[f"{name}/missing"] = cells.missing
    return out


# ---- what a worker does -----------------------------------------------------------------


def write_state(
    room: WorkerState,
    name: str,
    probe: Path,
    stem: str,
    places: Mapping[str, Place],
    samplers: Mapping[str, str],
) -> WrittenPart | None:
    """Write the rows of a state beside the probe: arrays of tables by their paths, and those of
    samplers of the first layer, by what they are called."""
    shard = room[name]
    arrays: dict[str, NDArray[Any]] = {
        path: compact(as_stored(table, shard.table(table)[key]))
        for path, (table, key) in places.items()
    }
    for observed, path in samplers.items():
        rows = shard.program.first_layers[observed].row_state()
        arrays |= {path.replace("{}", own): compact(array) for own, array in rows.items()}
    return write_part(probe, stem, shard.rows, arrays)


def write_data(
    room: WorkerState, name: str, probe: Path, stem: str, names: Sequence[str]
) -> WrittenPart | None:
    """Write the cells of the rows beside the probe; all parts together are as `cell_arrays` of all
    rows."""
    shard = room[name]
    arrays: Group = {}
    for own in names:
        cells = shard.program.cells[own]
        arrays |= cell_arrays(own, cells)
        starts = cells.starts + cells.before
        arrays[f"{own}/indptr"] = starts[1:] if shard.rows[0] else starts
    return write_part(probe, stem, shard.rows, arrays)
