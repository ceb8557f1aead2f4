"""A run of chains in a folder, chain by chain.

The folder holds the data once and, for every chain, its state after some sweep, the draws up to
there in blocks (`pgbn.engine.run.run_store`) and a few label-free numbers of each draw. A commit of
one chain leaves the files of the others as they are. When all chains are done, only draws are left,
with the data and the values that were given.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt, PositiveInt

from pgbn.checks import check_integer
from pgbn.engine.data.coords import Coords
from pgbn.engine.data.nonzero import Cells
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.chain_files import (
    Shapes,
    chain_content,
    chain_data,
    chain_state,
    data_arrays,
    decode_chain,
    read_data_arrays,
)
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.given import Given
from pgbn.engine.run.progress import Clock
from pgbn.engine.run.run_plan import RunningChain, RunPlan, about_draws
from pgbn.errors import StorageError
from pgbn.network.network import Network
from pgbn.storage.archive import Files, Group, Parts, check_form, register_codec, register_decoder
from pgbn.storage.arrays import InParts
from pgbn.storage.folders import load, read_folder
from pgbn.storage.read_limits import memory
from pgbn.storage.runner import Runner
from pgbn.storage.stopping import Stop
from pgbn.storage.writing import write

if TYPE_CHECKING:
    from pgbn.samplers.executor import Executor


# ---- blocks -------------------------------------------------------------------------------------
#
# Draws in a folder: blocks of rows, one file for each node, chain and stretch of the run.
#
#     draws/theta/0/0     rows 0, 1, … of chain 0; an array (draws, *dims of theta)
#     draws/theta/0/240   those from row 240 on
#
# A block is written once and never changed; a node is read when it is asked for, the others stay
# on the disk.


Layout = dict[str, list[list[int]]]  # of each node and chain: the first row of every block
DATA = "data"  # the group of what was sampled
GIVEN = "given"  # and of the values at which nodes were held
_ROWS = "rows"  # the array of a block
_BLOCKS_FORM: dict[str, Any] = {"layout": Layout, "shapes": Shapes, "dims": dict[str, list[str]],
                         "attributes": dict[str, Any], "interrupted": bool}  # fmt: skip
_OF_SOME: dict[str, Any] = {"coords": dict[str, list[Any]],
                            "network": dict[str, Any], "data shapes": Shapes,
                            "given": list[str]}  # fmt: skip
_OF_ATTRIBUTES: dict[str, Any] = {"burn_in": NonNegativeInt, "thin": PositiveInt, "layer1": str}


def block_group(name: str, chain: int, start: int) -> str:
    """What the rows of a node from ``start`` on are called."""
    return f"draws/{name}/{chain}/{start}"


class BlockValues(Mapping[str, NDArray[np.float64]]):
    """The values of `Draws` that are read when they are asked for: (chain, draw, *dims).

    ``shapes`` are theirs: of chains that are not equally long, as many draws as all have. Of
    ``nodes``, unlike of expressions, no value is NaN.
    """

    def __init__(
        self,
        files: Files,
        layout: Layout,
        shapes: Mapping[str, Sequence[int]],
        nodes: Collection[str] = (),
    ) -> None:
        self.files, self.layout, self.nodes = files, layout, nodes
        self.shapes = {name: tuple(shapes[name]) for name in layout}
        for name, shape in self.shapes.items():
            self._check(name, shape[:2])  # a number for each draw, as a trace has, must fit
        if len({shape[:2] for shape in self.shapes.values()}) > 1:
            raise StorageError(f"nodes with unequal numbers of draws, {self.shapes}: damaged")
        self._read: WeakValueDictionary[str, NDArray[np.float64]] = WeakValueDictionary()

    def _check(self, name: str, shape: Sequence[int]) -> None:
        if min(shape, default=-1) < 0 or 8 * math.prod(shape) > memory():
            raise StorageError(
                f"the draws of {name} have the shape {self.shapes[name]}: damaged, or more than "
                "fits into memory; draws.values.blocks(name) reads them block by block"
            )

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self.layout:
            raise KeyError(name)
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = self._stack(name)
        return found

    def blocks(self, name: str) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
        """The rows of a node, block after block: the chain, the number of the first row, and the
        rows. Whoever takes them one by one needs no memory for all."""
        _, most, *entries = self.shapes[name]
        for chain, starts in enumerate(self.layout[name]):
            filled = 0
            for start in starts:
                rows = self.files(block_group(name, chain, start))[_ROWS]
                end = min(start + len(rows), most)
                if start > filled or rows.shape[1:] != (*entries,) or rows.dtype != np.float64:
                    break
                if name in self.nodes and np.isnan(rows).any():
                    raise StorageError(f"the draws of {name} in chain {chain} have NaN: damaged")
                if end > filled:
                    yield chain, filled, rows[filled - start : end - start]
                    filled = end
            if filled < most:
                raise StorageError(f"the draws of {name} in chain {chain} end at {filled}: damaged")

    def _stack(self, name: str) -> NDArray[np.float64]:
        self._check(name, self.shapes[name])
        out = np.empty(self.shapes[name])
        for chain, start, rows in self.blocks(name):
            out[chain, start : start + len(rows)] = rows
        return out

    def __reduce__(self) -> Any:
        return BlockValues, (self.files, self.layout, self.shapes, self.nodes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.layout)

    def __len__(self) -> int:
        return len(self.layout)


def rows_of(array: NDArray[Any]) -> Group:
    """The arrays of a block."""
    return {_ROWS: np.ascontiguousarray(array, np.float64)}


def _encode(draws: Draws) -> Parts:
    """Draws as one block for each node and chain."""
    arrays: dict[str, Group] = {}
    for name in draws:
        for chain, rows in enumerate(draws[name]):
            arrays[block_group(name, chain, 0)] = rows_of(rows)
    content = {
        "layout": {name: [[0]] * len(draws[name]) for name in draws},
        "shapes": {name: list(draws[name].shape) for name in draws},
        "dims": {name: list(dims) for name, dims in draws.dims.items()},
        "attributes": draws.attributes,
        "interrupted": draws.interrupted,
        "coords": {dim: list(labels) for dim, labels in draws.coords.items()},
    }
    if draws.network is not None and draws.data:
        content |= described(draws.network, draws.data, draws.given)
        arrays[DATA] = data_arrays(draws.data)
        if draws.given:
            arrays[GIVEN] = dict(draws.given)
    return Parts(content, arrays)


def described(
    network: Network, data: Mapping[str, Cells], given: Mapping[str, Any]
) -> dict[str, Any]:
    """What was sampled, as `decode_draws` reads it."""
    return {
        "network": json.loads(network.to_json()),
        "data shapes": {name: list(cells.shape) for name, cells in data.items()},
        **({"given": list(given)} if given else {}),
    }


def decode_draws(
    content: Mapping[str, Any],
    files: Files,
    /,
    *,
    threads: int | None = None,
    names: Sequence[str] | None = None,
) -> Draws:
    """Draws whose values stay in the folder until they are asked for."""
    check_form(content, _BLOCKS_FORM, _OF_SOME)
    check_form(content["attributes"], {}, _OF_ATTRIBUTES)
    layout, shapes = content["layout"], content["shapes"]
    dims = {name: tuple(content["dims"][name]) for name in layout}
    sizes: dict[str, int] = {}
    for name, chains in layout.items():
        fits = len(shapes[name]) == len(dims[name]) and shapes[name][0] == len(chains)
        if not fits or dims[name][:2] != ("chain", "draw"):
            raise StorageError(f"the draws of {name} have dims {dims[name]} and {shapes[name]}")
        _note_sizes(f"the draws of {name}", dims[name][2:], shapes[name][2:], sizes)
    known = _sampled(content, files, sizes) if "network" in content else {}
    known["coords"] = _labels(content.get("coords", {}), sizes)
    nodes = tuple(known["network"].nodes) if "network" in known else ()
    values: Any = BlockValues(partial(_read_block, files), layout, shapes, nodes)
    return Draws(values, dims, dict(content["attributes"]), content["interrupted"], **known)


def _sampled(content: Mapping[str, Any], files: Files, sizes: dict[str, int]) -> dict[str, Any]:
    """The network that was sampled, its data and what was given, of the sizes of the draws."""
    network = Network.from_json(json.dumps(content["network"]))
    data = read_data_arrays(network, content["data shapes"], files(DATA))
    given = Given(network, files(GIVEN) if content.get("given") else {}).stacks
    _note_sizes("the dims of the network", network.sizes, [*network.sizes.values()], sizes)
    for name, cells in data.items():
        _note_sizes(f"the data of {name}", cells.dims, cells.shape, sizes)
    for name, stack in given.items():
        _note_sizes(f"the given values of {name}", network[name].axes, stack.shape[1:], sizes)
    return {"network": network, "data": data, "given": given}


def _note_sizes(
    what: str, dims: Iterable[str], shape: Sequence[int], sizes: dict[str, int]
) -> None:
    """Add the sizes of dims to those that are known; a dim has one size everywhere."""
    for dim, size in zip(dims, shape, strict=True):
        if sizes.setdefault(dim, size) != size:
            raise StorageError(f"{what} are damaged: {size} and {sizes[dim]} {dim}")


def _labels(coords: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, list[Any]]:
    """Labels along dims, as long as the draws that have the dim."""
    for dim, labels in coords.items():
        fits = len(labels) == sizes.get(dim, len(labels))
        if not fits or any(isinstance(label, list | dict) for label in labels):
            raise StorageError(f"the labels along {dim!r} are damaged")
    return dict(coords)


def _read_block(files: Files, group: str) -> Group:
    block = files(group)
    if _ROWS not in block or block[_ROWS].ndim < 1:
        raise StorageError(f"{group}: damaged: no rows of draws")
    return block


register_codec("draws", Draws, _encode, decode_draws, "Draws")


# ---- run store ----------------------------------------------------------------------------------


KIND = "run"
_OF_DRAWS = ("layout", "shapes", "dims", "attributes", "interrupted", "coords", "network",
             "data shapes", "given")  # fmt: skip
_FORM: dict[str, Any] = {"chains": dict[str, dict[str, Any]], "layout": Layout,
                         "entries": Shapes}  # fmt: skip
BLOCK_BYTES = 2**25  # draws that wait for a commit


class FolderStore:
    """A run in the folder of a `Runner`: chains commit their parts, also from several threads."""

    def __init__(
        self,
        runner: Runner,
        plan: RunPlan,
        threads: int | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.runner, self.plan = runner, plan
        self.threads, self.executor = threads, executor
        self.content: dict[str, Any] = {}
        self.lock = Lock()
        self._begun: Chain | None = None

    @classmethod
    def opened(cls, runner: Runner) -> FolderStore:
        """The run that a folder holds."""

        def read(body: Mapping[str, Any], files: Files) -> FolderStore:
            content = body["content"]
            if body["kind"] != KIND:
                raise StorageError(f"{runner.path}: holds no run but a {body['kind']}")
            check_form(content, {"settings": dict[str, Any]})
            check_form(content["object"], _FORM)
            store = cls(runner, RunPlan(**content["settings"]))
            _check_chains(store.plan, content["object"])
            store.content = runner.resume()
            return store

        return read_folder(runner.path, read)

    def begin(self, chains: Iterable[Chain], labels: Callable[[Chain], Coords]) -> None:
        """All chains at their beginning, in one write: from here on the run can be resumed."""
        arrays: dict[str, Group | InParts] = {}
        states: dict[str, Any] = {}
        for chain in chains:
            if self.plan.chains == 1 and chain.program.shards is not None:
                self._begun = chain  # its rows, which are elsewhere, need not come here and go back
            if not arrays:
                self.content = self._shared(chain, labels(chain))
                arrays[DATA] = chain_data(chain)
                if chain.given.stacks:
                    arrays[GIVEN] = dict(chain.given.stacks)
            states[str(chain.number)] = chain_content(chain)
            arrays[f"state/{chain.number}"] = chain_state(chain)
            arrays[f"trace/{chain.number}"] = {}
        self.content["chains"] = states
        self.runner.commit(self._told(self.content), arrays)

    def _shared(self, chain: Chain, coords: Coords) -> dict[str, Any]:
        """What all chains share, of which one begins."""
        keep, sizes = self.plan.kept(chain.network), chain.program.sizes
        return {
            **about_draws(chain, self.plan, coords),
            **described(chain.network, chain.program.cells, chain.given.stacks),
            "entries": {name: list(keep.shape(name, sizes)) for name in keep.names},
            "layout": {name: [[] for _ in range(self.plan.chains)] for name in self.plan.keep},
        }

    def _told(self, content: dict[str, Any], interrupted: bool = True) -> dict[str, Any]:
        """The content with what a reader of the draws so far needs."""
        least = min(self.plan.kept_after(each["sweeps"]) for each in content["chains"].values())
        entries = content["entries"].items()
        shapes = {name: [self.plan.chains, least, *sizes] for name, sizes in entries}
        return {**content, "shapes": shapes, "interrupted": interrupted}

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

        begun, self._begun = self._begun, None
        if begun is not None:
            return RunningChain(begun, self.plan, {})
        return read_folder(self.runner.path, read)

    def after_sweep(self, at: RunningChain) -> None:
        """Commit if it is time to, or too many draws wait."""
        rhythm = self.runner.rhythms[at.chain.number]
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
                f"{error}; when that is mended, go on with pgbn.resume({str(self.runner.path)!r})"
            ) from error

    def _write(self, at: RunningChain) -> None:
        """The state of one chain and its new draws; all else is kept."""
        number = at.chain.number
        mine: dict[str, Group | InParts] = {
            f"state/{number}": chain_state(at.chain),
            f"trace/{number}": {n: np.array(t) for n, t in at.trace.items()},
        }
        with self.lock:
            layout = {n: [list(starts) for starts in each] for n, each in
                      self.content["layout"].items()}  # fmt: skip
            start = self.plan.kept_after(self.sweeps(number))
            for name, rows in at.waiting.items():
                mine[block_group(name, number, start)] = rows_of(np.stack(rows))
                layout[name][number].append(start)
            chains = {**self.content["chains"], str(number): chain_content(at.chain)}
            content = {**self.content, "chains": chains, "layout": layout}
            self.runner.commit(self._told(content), mine, {DATA: lambda: chain_data(at.chain)})
            self.content = content
        at.taken()

    def finish(self) -> Draws:
        """The folder now holds the draws and what was sampled, and nothing else."""
        kept = {group: file for group, file in self.runner.groups.items()
                if group in (DATA, GIVEN) or group.startswith("draws/")}  # fmt: skip
        told = self._told(self.content, interrupted=False)
        content = {"object": {key: told[key] for key in _OF_DRAWS if key in told}}
        write(self.runner.path, "draws", content, {}, kept)
        return load(self.runner.path)  # type: ignore[no-any-return]

    def interrupted(self, stop: Stop, clock: Clock) -> Draws:
        path = self.runner.path
        raise stop.interrupted(
            f"stopped after sweep {clock.done} of {clock.total} and saved; go on with the command: "
            f"pgbn resume {path}, or in Python: pgbn.resume({str(path)!r}); "
            f"pgbn.load({str(path)!r}) has the draws so far"
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
    plan, chains = RunPlan(**content["settings"]), content["object"]["chains"]
    sweeps = [int(chains[str(n)]["sweeps"]) for n in range(plan.chains)]
    return {**asdict(plan), "sweeps": sweeps, "of": plan.sweeps,
            "draws so far": [plan.kept_after(n) for n in sweeps]}  # fmt: skip


register_decoder(KIND, decode_draws)  # the draws so far
