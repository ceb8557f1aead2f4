"""Draws in a folder: blocks of rows, one file for each node, chain and stretch of the run.

    draws/theta/0/0     rows 0, 1, … of chain 0; an array (draws, *dims of theta)
    draws/theta/0/240   those from row 240 on

A block is written once and never changed; a node is read when it is asked for, the others stay on
the disk.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt, PositiveInt

from pgbn.engine.data.nonzero import Cells
from pgbn.engine.run.chain_files import Shapes, data_arrays, read_data_arrays
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.generate import Given
from pgbn.errors import StorageError
from pgbn.network.network import Network
from pgbn.storage.archive import Files, Group, Parts, check_form, register_codec, register_decoder
from pgbn.storage.read_limits import memory

RUN = "run"  # the kind of a folder whose draws are not complete, see `pgbn.engine.run.sampling`
Layout = dict[str, list[list[int]]]  # of each node and chain: the first row of every block
DATA = "data"  # the group of what was sampled
GIVEN = "given"  # and of the values at which nodes were held
_ROWS = "rows"  # the array of a block
_BLOCKS_FORM: dict[str, Any] = {"layout": Layout, "shapes": Shapes, "dims": dict[str, list[str]],
                         "attributes": dict[str, Any], "interrupted": bool}  # fmt: skip
_OF_SOME: dict[str, Any] = {"coords": dict[str, list[Any]],
                            "network": dict[str, Any], "data shapes": Shapes,
                            "given": list[str]}  # fmt: skip
DRAWS_FIELDS = (*_BLOCKS_FORM, *_OF_SOME)
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
    values: Any = BlockValues(files, layout, shapes, nodes)
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


register_codec("draws", Draws, _encode, decode_draws, "Draws")
register_decoder(RUN, decode_draws)  # the draws so far
