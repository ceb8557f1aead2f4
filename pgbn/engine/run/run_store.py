"""What a run of chains keeps: in a folder, chain by chain, or in memory.

The folder holds the data once and, for every chain, its state after some sweep, the draws up to
there in blocks (`pgbn.engine.run.blocks`) and a few label-free numbers of each draw. A commit of
one chain leaves the files of the others as they are. When all chains are done, only draws are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, check_seed
from pgbn.engine.data.coords import Coords
from pgbn.engine.run.blocks import DATA, Layout, block_group, decode_draws, described, rows_of
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.codec import chain_content, chain_data, chain_state, decode_chain
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.progress import Clock, Stop
from pgbn.engine.run.saving import Rhythm, Timing
from pgbn.engine.run.side_by_side import label_free
from pgbn.errors import StorageError, notify
from pgbn.storage.codecs import Files, Group, register_decoder
from pgbn.storage.folders import load, read_folder
from pgbn.storage.writing import still_there, write

__all__ = ["KIND", "FolderStore", "MemoryStore", "RunPlan", "RunningChain", "run_facts"]

KIND = "run"
GIVEN = "given"
_OF_DRAWS = ("layout", "shapes", "dims", "attributes", "interrupted", "coords", "network",
             "data shapes")  # fmt: skip
BLOCK_BYTES = 2**25  # draws that wait for a commit


@dataclass(frozen=True)
class RunPlan:
    """How many sweeps, draws and chains, and what is kept of them."""

    burn_in: int
    draws: int
    thin: int
    chains: int
    seed: int
    keep: tuple[str, ...]
    parallel: int = 1

    def __post_init__(self) -> None:
        for name in ("burn_in", "draws", "thin", "chains", "parallel"):
            least = 0 if name == "burn_in" else 1
            object.__setattr__(self, name, check_integer(name, getattr(self, name), least))
        object.__setattr__(self, "seed", check_seed(self.seed))
        object.__setattr__(self, "keep", tuple(self.keep))
        object.__setattr__(self, "parallel", min(self.parallel, self.chains))

    @property
    def sweeps(self) -> int:
        """Those of one chain."""
        return self.burn_in + self.draws * self.thin

    def kept_after(self, sweeps: int) -> int:
        """The draws that a chain has after so many sweeps."""
        return max(0, sweeps - self.burn_in) // self.thin


@dataclass
class RunningChain:
    """A chain, the draws that wait for a commit, and its label-free trace."""

    chain: Chain
    trace: dict[str, list[float]] = field(default_factory=dict)
    waiting: dict[str, list[NDArray[np.float64]]] = field(default_factory=dict)
    bytes: int = 0

    def keep_draw(self, plan: RunPlan) -> None:
        """Keep the state after this sweep, if it is one of those that are kept."""
        after = self.chain.sweeps - plan.burn_in
        if after <= 0 or after % plan.thin:
            return
        for name, value in values_of(self.chain, plan.keep).items():
            row = np.array(value, np.float64)
            self.waiting.setdefault(name, []).append(row)
            self.bytes += row.nbytes
            simplex = self.chain.network.nodes[name].simplex is not None
            self.trace.setdefault(name, []).append(label_free(row, simplex))

    def taken(self) -> None:
        """The draws that waited are kept elsewhere."""
        self.waiting, self.bytes = {}, 0


def values_of(chain: Chain, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """The values of latent nodes, and the imputed data of observed ones."""
    data = [name for name in names if name in chain.network.observed]
    values: dict[str, NDArray[Any]] = dict(chain.select(n for n in names if n not in data))
    values |= {name: chain.imputed(name) for name in data}
    return {name: values[name] for name in names}


def _entries(chain: Chain, name: str) -> list[int]:
    """The shape of one draw of a node."""
    if name in chain.network.observed:
        return list(chain.program.cells[name].shape)
    return list(chain.select([name])[name].shape)


def _described(chain: Chain, plan: RunPlan, coords: Coords) -> dict[str, Any]:
    """What `Draws` has beside its values."""
    nodes = chain.network.nodes
    given = {"given": list(chain.network.held)} if chain.network.held else {}
    attributes = {"seed": plan.seed, "burn_in": plan.burn_in, "thin": plan.thin,
                  "layer1": chain.layer1, **given}  # fmt: skip
    dims = {name: ["chain", "draw", *nodes[name].axes] for name in plan.keep}
    return {"dims": dims, "attributes": attributes, "coords": dict(coords)}


class MemoryStore:
    """Draws in memory: of chains side by side that are not saved."""

    def __init__(self, plan: RunPlan, make: Callable[[int], Chain], coords: Coords) -> None:
        self.plan, self.make, self.coords = plan, make, coords
        self.chains: dict[int, RunningChain] = {}

    def open(self, number: int) -> RunningChain:
        return self.chains.setdefault(number, RunningChain(self.make(number)))

    def sweeps(self, number: int) -> int:
        return self.chains[number].chain.sweeps if number in self.chains else 0

    def after_sweep(self, at: RunningChain) -> None:
        """Nothing is written."""

    commit = after_sweep

    def finish(self, interrupted: bool = False) -> Draws:
        each = [self.chains[number].waiting for number in sorted(self.chains)]
        least = min(len(rows) for waiting in each for rows in waiting.values())
        values = {name: np.stack([np.stack(waiting[name][:least]) for waiting in each])
                  for name in self.plan.keep}  # fmt: skip
        chain = self.chains[0].chain
        known = _described(chain, self.plan, self.coords)
        dims = {name: tuple(dims) for name, dims in known["dims"].items()}
        return Draws(values, dims, known["attributes"], interrupted, network=chain.network,
                     data=dict(chain.program.cells), coords=self.coords)  # fmt: skip

    def interrupted(self, stop: Stop, clock: Clock) -> Draws:
        begun = [self.chains[n] for n in range(self.plan.chains) if n in self.chains]
        if len(begun) < self.plan.chains or not all(at.waiting for at in begun):
            raise stop.interrupted(
                f"stopped after sweep {clock.done} of {clock.total}, before every chain had a draw"
            )
        notify(f"stopped after sweep {clock.done} of {clock.total}; the draws that all chains have "
               "are kept")  # fmt: skip
        return self.finish(interrupted=True)


class FolderStore:
    """A run in a folder: chains commit their parts, also from several threads."""

    def __init__(self, path: Path, plan: RunPlan, timing: Timing, threads: int | None) -> None:
        self.path, self.plan, self.timing, self.threads = path, plan, timing, threads
        self.content: dict[str, Any] = {"plan": asdict(plan), "chains": {}}
        self.layout: Layout = {name: [[] for _ in range(plan.chains)] for name in plan.keep}
        self.groups: dict[str, str] = {}
        self.rhythms: dict[int, Rhythm] = {}
        self.lock = Lock()

    @classmethod
    def opened(cls, path: Path, timing: Timing) -> FolderStore:
        """The run that a folder holds."""

        def read(body: Mapping[str, Any], files: Files) -> FolderStore:
            content = body["content"]["object"]
            if body["kind"] != KIND:
                raise StorageError(f"{path}: holds no run but a {body['kind']}")
            store = cls(path, RunPlan(**content["plan"]), timing, None)
            store.content, store.layout = dict(content), content["layout"]
            store.groups = dict(body["groups"])
            return store

        return read_folder(path, read)

    def begin(self, chains: Iterable[Chain], labels: Callable[[Chain], Coords]) -> None:
        """All chains at their beginning, in one write: from here on the run can be resumed."""
        arrays: dict[str, Group] = {}
        for chain in chains:
            if DATA not in arrays:
                self.content |= _described(chain, self.plan, labels(chain))
                self.content |= described(chain.network, chain.program.cells)
                self.content["entries"] = {n: _entries(chain, n) for n in self.plan.keep}
                arrays[DATA] = chain_data(chain)
                if chain.given.stacks:
                    arrays[GIVEN] = dict(chain.given.stacks)
            self.content["chains"][str(chain.number)] = chain_content(chain)
            arrays[f"state/{chain.number}"] = chain_state(chain)
            arrays[f"trace/{chain.number}"] = {}
        self.content["layout"] = self.layout
        self.groups = self._put(KIND, self.content, arrays, {})

    def sweeps(self, number: int) -> int:
        return int(self.content["chains"][str(number)]["sweeps"])

    def open(self, number: int) -> RunningChain:
        """A chain where the folder has it."""

        def read(body: Mapping[str, Any], files: Files) -> RunningChain:
            own = {DATA: DATA, GIVEN: GIVEN, "state": f"state/{number}"}
            content = body["content"]["object"]["chains"][str(number)]
            chain = decode_chain(content, lambda group: files(own[group]), threads=self.threads)
            trace = files(f"trace/{number}")
            return RunningChain(chain, {name: list(map(float, t)) for name, t in trace.items()})

        self.rhythms[number] = Rhythm(self.timing)
        return read_folder(self.path, read)

    def after_sweep(self, at: RunningChain) -> None:
        """Commit if it is time to, or too many draws wait."""
        rhythm = self.rhythms[at.chain.number]
        if at.bytes >= 4 * BLOCK_BYTES or (at.bytes >= BLOCK_BYTES and not rhythm.failed):
            rhythm.now(lambda: self.commit(at))
        else:
            rhythm.tick(lambda: self._write(at))

    def commit(self, at: RunningChain) -> None:
        """Commit now; if that fails, the commit before it stands."""
        try:
            self._write(at)
        except StorageError as error:
            raise StorageError(
                f"{error}; when that is mended, go on with pgbn.resume({str(self.path)!r})"
            ) from error

    def _write(self, at: RunningChain) -> None:
        """The state of one chain and its new draws; all else is kept."""
        number = at.chain.number
        mine = {f"state/{number}": chain_state(at.chain),
                f"trace/{number}": {n: np.array(t) for n, t in at.trace.items()}}  # fmt: skip
        with self.lock:
            layout = {name: [list(starts) for starts in each] for name, each in self.layout.items()}
            start = self.plan.kept_after(self.sweeps(number))
            for name, rows in at.waiting.items():
                mine[block_group(name, number, start)] = rows_of(np.stack(rows))
                layout[name][number].append(start)
            keep = {group: file for group, file in self.groups.items() if group not in mine}
            there = still_there(self.path, keep)
            for group in set(keep) - set(there):
                if group != DATA:
                    raise StorageError(f"{self.path}: the file {keep[group]} of this run is gone")
            if DATA not in there:
                mine[DATA] = chain_data(at.chain)
            chains = {**self.content["chains"], str(number): chain_content(at.chain)}
            content = {**self.content, "chains": chains, "layout": layout}
            self.groups = self._put(KIND, content, mine, there)
            self.content, self.layout = content, layout
        at.taken()

    def _put(
        self, kind: str, content: dict[str, Any], arrays: dict[str, Group], keep: dict[str, str]
    ) -> dict[str, str]:
        least = min(self.plan.kept_after(each["sweeps"]) for each in content["chains"].values())
        entries = content["entries"].items()
        shapes = {name: [self.plan.chains, least, *sizes] for name, sizes in entries}
        content = {**content, "shapes": shapes, "interrupted": kind == KIND}
        if kind != KIND:
            content = {key: content[key] for key in _OF_DRAWS if key in content}
        beside: dict[str, Any] = {"vocabulary": None, "labels": None, "record": {}}
        return write(self.path, kind, {"object": content, **beside}, arrays, keep)

    def finish(self) -> Draws:
        """The folder now holds the draws and what was sampled, and nothing else."""
        kept = {group: file for group, file in self.groups.items()
                if group == DATA or group.startswith("draws/")}  # fmt: skip
        self._put("draws", self.content, {}, kept)
        return load(self.path)  # type: ignore[no-any-return]

    def interrupted(self, stop: Stop, clock: Clock) -> Draws:
        raise stop.interrupted(
            f"stopped after sweep {clock.done} of {clock.total} and saved; go on with the command: "
            f"pgbn resume {self.path}, or in Python: pgbn.resume({str(self.path)!r}); "
            f"pgbn.load({str(self.path)!r}) has the draws so far"
        )


def run_facts(content: Mapping[str, Any]) -> dict[str, Any]:
    """Where a run stands, from the content alone."""
    plan = RunPlan(**content["plan"])
    sweeps = [int(content["chains"][str(n)]["sweeps"]) for n in range(plan.chains)]
    return {**asdict(plan), "sweeps": sweeps, "of": plan.sweeps,
            "draws so far": [plan.kept_after(n) for n in sweeps]}  # fmt: skip


register_decoder(KIND, decode_draws)  # the draws so far
