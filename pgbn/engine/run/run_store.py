"""A run of chains in a folder, chain by chain.

The folder holds the data once and, for every chain, its state after some sweep, the draws up to
there in blocks (`pgbn.engine.run.blocks`) and a few label-free numbers of each draw. A commit of
one chain leaves the files of the others as they are. When all chains are done, only draws are left,
with the data and the values that were given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from pgbn.checks import check_integer, check_place
from pgbn.engine.data.coords import Coords
from pgbn.engine.run.blocks import (
    DATA,
    GIVEN,
    Layout,
    block_group,
    decode_draws,
    described,
    rows_of,
)
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.codec import Shapes, chain_content, chain_data, chain_state, decode_chain
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.progress import Clock
from pgbn.engine.run.run_plan import RunningChain, RunPlan, about_draws
from pgbn.engine.run.saving import Rhythm, Timing
from pgbn.engine.run.stopping import Stop
from pgbn.errors import StorageError
from pgbn.storage.codecs import Files, Group, register_decoder
from pgbn.storage.folders import load, read_folder
from pgbn.storage.forms import check_form
from pgbn.storage.in_parts import InParts
from pgbn.storage.writing import still_there, write

if TYPE_CHECKING:
    from pgbn.samplers.executor import Executor

__all__ = ["KIND", "FolderStore", "run_facts"]

KIND = "run"
_OF_DRAWS = ("layout", "shapes", "dims", "attributes", "interrupted", "coords", "network",
             "data shapes", "given")  # fmt: skip
_FORM: dict[str, Any] = {"plan": dict[str, Any], "chains": dict[str, dict[str, Any]],
                         "layout": Layout, "entries": Shapes}  # fmt: skip
BLOCK_BYTES = 2**25  # draws that wait for a commit


class FolderStore:
    """A run in a folder: chains commit their parts, also from several threads."""

    def __init__(
        self,
        path: Path,
        plan: RunPlan,
        timing: Timing,
        threads: int | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.path, self.plan, self.timing = check_place("path", path), plan, timing
        self.threads, self.executor = threads, executor
        self.content: dict[str, Any] = {"plan": asdict(plan), "chains": {}}
        self.layout: Layout = {name: [[] for _ in range(plan.chains)] for name in plan.keep}
        self.groups: dict[str, str] = {}
        self.rhythms: dict[int, Rhythm] = {}
        self.lock = Lock()
        self._begun: Chain | None = None

    @classmethod
    def opened(cls, path: Path, timing: Timing) -> FolderStore:
        """The run that a folder holds."""

        def read(body: Mapping[str, Any], files: Files) -> FolderStore:
            content = body["content"]["object"]
            if body["kind"] != KIND:
                raise StorageError(f"{path}: holds no run but a {body['kind']}")
            check_form(content, _FORM)
            plan = RunPlan(**content["plan"])
            _check_chains(plan, content)
            store = cls(path, plan, timing)
            store.content, store.layout = dict(content), content["layout"]
            store.groups = dict(body["groups"])
            return store

        return read_folder(path, read)

    def begin(self, chains: Iterable[Chain], labels: Callable[[Chain], Coords]) -> None:
        """All chains at their beginning, in one write: from here on the run can be resumed."""
        arrays: dict[str, Group | InParts] = {}
        for chain in chains:
            if self.plan.chains == 1 and chain.program.crew is not None:
                self._begun = chain  # its rows, which are elsewhere, need not come here and go back
            if DATA not in arrays:
                self.content |= about_draws(chain, self.plan, labels(chain))
                self.content |= described(chain.network, chain.program.cells, chain.given.stacks)
                keep, sizes = self.plan.kept(chain.network), chain.program.sizes
                self.content["entries"] = {n: list(keep.shape(n, sizes)) for n in keep.names}
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
            chain = decode_chain(content, lambda group: files(own[group]), threads=self.threads,
                                 executor=self.executor)  # fmt: skip
            trace = {name: list(map(float, t)) for name, t in files(f"trace/{number}").items()}
            found = RunningChain(chain, self.plan, trace)
            keep, sizes = found.keep, chain.program.sizes
            entries = {name: list(keep.shape(name, sizes)) for name in keep.names}
            if chain.number != number or self.content["entries"] != entries:
                raise StorageError(f"damaged: chain {number} is not one of this run")
            return found

        self.rhythms[number] = Rhythm(self.timing)
        begun, self._begun = self._begun, None
        return read_folder(self.path, read) if begun is None else RunningChain(begun, self.plan, {})

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
        mine: dict[str, Group | InParts] = {
            f"state/{number}": chain_state(at.chain),
            f"trace/{number}": {n: np.array(t) for n, t in at.trace.items()},
        }
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
        self,
        kind: str,
        content: dict[str, Any],
        arrays: Mapping[str, Group | InParts],
        keep: dict[str, str],
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
                if group in (DATA, GIVEN) or group.startswith("draws/")}  # fmt: skip
        self._put("draws", self.content, {}, kept)
        return load(self.path)  # type: ignore[no-any-return]

    def interrupted(self, stop: Stop, clock: Clock) -> Draws:
        raise stop.interrupted(
            f"stopped after sweep {clock.done} of {clock.total} and saved; go on with the command: "
            f"pgbn resume {self.path}, or in Python: pgbn.resume({str(self.path)!r}); "
            f"pgbn.load({str(self.path)!r}) has the draws so far"
        )


def _check_chains(plan: RunPlan, content: Mapping[str, Any]) -> None:
    """A file tells of as many chains as it says there are, each of them within the plan."""
    chains, layout = content["chains"], content["layout"]
    if len(chains) != plan.chains or any(
        str(number) not in chains for number in range(len(chains))
    ):
        raise StorageError(f"damaged: {plan.chains} chains, but the states of {list(chains)!r:.60}")
    for number, chain in chains.items():
        if not 0 <= check_integer(f"sweeps of chain {number}", chain["sweeps"], 0) <= plan.sweeps:
            raise StorageError(f"damaged: chain {number} has more sweeps than {plan.sweeps}")
    if not set(plan.keep) == set(layout) == set(content["entries"]) or any(
        len(each) != plan.chains for each in layout.values()
    ):
        raise StorageError(f"damaged: the draws are not those of {', '.join(plan.keep)}")


def run_facts(content: Mapping[str, Any]) -> dict[str, Any]:
    """Where a run stands, from the content alone."""
    plan = RunPlan(**content["plan"])
    sweeps = [int(content["chains"][str(n)]["sweeps"]) for n in range(plan.chains)]
    return {**asdict(plan), "sweeps": sweeps, "of": plan.sweeps,
            "draws so far": [plan.kept_after(n) for n in sweeps]}  # fmt: skip


register_decoder(KIND, decode_draws)  # the draws so far
