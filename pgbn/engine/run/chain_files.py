"""Chains and draws as JSON and arrays.

Reading trusts nothing: all numbers that the kernels use as indices are checked first. Draws are
blocks of rows, one file for each node, chain and stretch of the run:

    draws/theta/0/0     rows 0, 1, … of chain 0; an array (draws, *dims of theta)
    draws/theta/0/240   those from row 240 on

A block is written once and never changed; a node is read when it is asked for; the others stay on
disk.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from pgbn.engine.data.cells import Cells, CoordinateCells
from pgbn.engine.run.chain import Chain, sampler_name
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.generate import Given
from pgbn.engine.shards.worker import cell_arrays
from pgbn.errors import StorageError
from pgbn.network.network import Network
from pgbn.nodes.base import Observed
from pgbn.storage.archive import Files, Group, Parts, check_form, register_codec, register_decoder
from pgbn.storage.arrays import InParts
from pgbn.storage.read_limits import memory
from pgbn.storage.sparse import check_rows, compact

if TYPE_CHECKING:
    from pgbn.samplers.executor import Executor


Shapes = dict[str, list[NonNegativeInt]]
FileSeed = Annotated[int, Field(ge=0, lt=2**64)]
_CHAIN_FORM: dict[str, Any] = {"network": dict[str, Any], "seed": FileSeed, "number": FileSeed,
                         "sweeps": NonNegativeInt, "sampler": str, "shapes": Shapes}  # fmt: skip


def chain_content(chain: Chain) -> dict[str, Any]:
    """All but the arrays."""
    return {
        "network": json.loads(chain.network.to_json()),
        "seed": chain.seed,
        "number": chain.number,
        "sweeps": chain.sweeps,
        "sampler": sampler_name(chain),
        "shapes": {name: list(cells.shape) for name, cells in chain._program.cells.items()},
        **({} if chain._order is None else {"order": chain._order}),
    }


def chain_state(chain: Chain) -> Group | InParts:
    """The arrays of `Chain.state`; if workers have the rows, they write them."""

    def whole() -> Group:
        return {name: compact(array) for name, array in chain.state().items()}

    shards = chain._program.shards
    return whole() if shards is None else shards.state_in_parts(chain._pending, whole)


def chain_data(chain: Chain) -> Group | InParts:
    """The data of all observed nodes, as cells; workers write their own rows."""
    shards, cells = chain._program.shards, chain._program.cells
    if shards is None:
        return data_arrays(cells)
    here = data_arrays({name: each for name, each in cells.items() if name not in shards.cells})
    return shards.data_in_parts(here, lambda: data_arrays(cells))


def data_arrays(data: Mapping[str, Cells]) -> Group:
    """The cells of data, by the names of their nodes."""
    out: Group = {}
    for name, cells in data.items():
        out |= cell_arrays(name, cells)
    return out


def _encode_chain(chain: Chain) -> Parts:
    if chain._program.replicates != 1:
        raise StorageError("replicated chains cannot be saved; save a Chain made by Network.chain")
    groups: dict[str, Group | InParts] = {
        "data": chain_data(chain),
        "state": chain_state(chain),
    }
    if chain._given.stacks:
        groups["given"] = dict(chain._given.stacks)
    return Parts(chain_content(chain), groups)


def decode_chain(
    content: Mapping[str, Any],
    files: Files,
    /,
    *,
    threads: int | None = None,
    names: Sequence[str] | None = None,
    executor: Executor | None = None,
) -> Chain:
    """A chain at the place where it was saved."""
    check_form(content, _CHAIN_FORM, {"order": list[str]})
    network = Network.from_json(json.dumps(content["network"]))
    data = read_data_arrays(network, content["shapes"], files("data"))
    seed, number, sampler = (content[name] for name in ("seed", "number", "sampler"))
    given, state = files("given") if network.given else None, files("state")
    if sampler == "blocked" and not any(name.startswith("sampler/") for name in state):
        sampler = "general"  # the meaning of "blocked" in older files, without a kernel
    chain = Chain._of_data(network, data, seed, number, None, sampler, threads, executor, given)
    if "order" in content:
        if unknown := set(content["order"]) - set(chain.schedule.names):
            raise StorageError(f"damaged: the order has the steps {sorted(unknown)!r:.60}")
        chain._follow_names(content["order"])
    return chain.restore(state, content["sweeps"])


def read_data_arrays(
    network: Network, shapes: Mapping[str, Sequence[int]], arrays: Group
) -> dict[str, Cells]:
    """The cells that `data_arrays` wrote, checked."""
    return {
        name: _read_cells(network[name], tuple(shapes[name]), name, arrays)
        for name in network.observed
    }


def _read_cells(node: Any, shape: tuple[int, ...], name: str, arrays: Group) -> Cells:
    indptr, indices = (arrays[f"{name}/{part}"] for part in ("indptr", "indices"))
    values, missing = arrays[f"{name}/values"], arrays.get(f"{name}/missing")
    rows, columns = int(np.prod(shape[:-1], dtype=object)), shape[-1] if shape else 1
    numbers = arrays.get(f"{name}/numbers")
    check_rows(indptr, indices, values, rows if numbers is None else numbers.size, columns)
    assert isinstance(node, Observed)
    if missing is not None and (missing.shape != values.shape or missing.dtype != bool):
        raise StorageError(f"the data of {name} are damaged: missing")
    complaint = node.check(values)
    if complaint or len(shape) != len(node.axes):
        raise StorageError(f"the data of {name} are damaged: {complaint or shape}")
    kind = np.int64 if values.dtype.kind in "iu" else np.float64
    own = indptr.astype(np.int64), indices.astype(np.int32), values.astype(kind)
    if numbers is None:
        return Cells(node.axes, shape, 1, *own, missing)
    whole, numbers = numbers.dtype.kind in "iu", numbers.astype(np.int64)
    if (
        not whole
        or (np.diff(numbers) <= 0).any()
        or (numbers.size and not 0 <= numbers[0] <= numbers[-1] < rows)
    ):
        raise StorageError(f"the data of {name} are damaged: the numbers of rows")
    return CoordinateCells(node.axes, shape, numbers, *own)


register_codec("chain", Chain, _encode_chain, decode_chain)


# ---- draws ----

RUN = "run"  # the kind of a folder whose draws are not complete, see `pgbn.engine.run.sampling`
Layout = dict[str, list[list[int]]]  # the first row of every block, by node and chain
DATA = "data"  # the group of the data
GIVEN = "given"  # and of the values of given nodes
_ROWS = "rows"  # the array of a block
_DRAWS_FORM: dict[str, Any] = {"layout": Layout, "shapes": Shapes, "dims": dict[str, list[str]],
                         "attributes": dict[str, Any], "interrupted": bool}  # fmt: skip
_OF_SOME: dict[str, Any] = {"coords": dict[str, list[Any]],
                            "network": dict[str, Any], "data shapes": Shapes,
                            "given": list[str]}  # fmt: skip
DRAWS_FIELDS = (*_DRAWS_FORM, *_OF_SOME)
_OF_ATTRIBUTES: dict[str, Any] = {"burn_in": NonNegativeInt, "thin": PositiveInt, "sampler": str}


def block_group(name: str, chain: int, start: int) -> str:
    """The name of the rows of a node from ``start`` on."""
    return f"draws/{name}/{chain}/{start}"


class BlockValues(Mapping[str, NDArray[np.float64]]):
    """The values of `Draws` that are read when they are asked for: (chain, draw, *dims).

    ``shapes`` are their shapes: if chains differ in length, with the number of draws that all have.
    Values of ``nodes``, unlike those of expressions, are never NaN.
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
                "fits into memory; draws.arrays.blocks(name) reads them block by block"
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
        rows. A reader that takes them one by one needs no memory for all."""
        _, most, *entries = self.shapes[name]
        for chain, starts in enumerate(self.layout[name]):
            filled = 0
            for start in starts:
                rows = self.files(block_group(name, chain, start)).get(_ROWS, np.empty(()))
                if rows.ndim < 1:
                    raise StorageError(f"{block_group(name, chain, start)}: damaged: no rows")
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


def _encode_draws(draws: Draws) -> Parts:
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
    """The network and the data of a run, as `decode_draws` reads them."""
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
    check_form(content, _DRAWS_FORM, _OF_SOME)
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
    values: Any = BlockValues(files, layout, shapes, nodes)
    return Draws(values, dims, dict(content["attributes"]), content["interrupted"], **known)


def _sampled(content: Mapping[str, Any], files: Files, sizes: dict[str, int]) -> dict[str, Any]:
    """The network that was sampled, its data and its given values, with the sizes of the draws."""
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
    """Add the sizes of dims to those found so far; a dim has one size everywhere."""
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


register_codec("draws", Draws, _encode_draws, decode_draws, "Draws")
register_decoder(RUN, decode_draws)  # the draws so far
