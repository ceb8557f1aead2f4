"""Chains as JSON and arrays.

Reading trusts nothing: what the kernels would index with is checked first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import NonNegativeInt

from pgbn.engine.data.nonzero import Cells, CoordinateCells
from pgbn.engine.run.chain import Chain, sampler_name
from pgbn.engine.shards.worker import cell_arrays
from pgbn.errors import StorageError
from pgbn.network.network import Network
from pgbn.nodes.base import Observed
from pgbn.storage.archive import Files, Group, Parts, check_form, register_codec
from pgbn.storage.arrays import InParts
from pgbn.storage.sparse import check_rows, compact

if TYPE_CHECKING:
    from pgbn.samplers.executor import Executor


Shapes = dict[str, list[NonNegativeInt]]
_FORM: dict[str, Any] = {"network": dict[str, Any], "seed": int, "number": int,
                         "sweeps": NonNegativeInt, "layer1": str, "shapes": Shapes}  # fmt: skip


def chain_content(chain: Chain) -> dict[str, Any]:
    """All but the arrays."""
    return {
        "network": json.loads(chain.network.to_json()),
        "seed": chain.seed,
        "number": chain.number,
        "sweeps": chain.sweeps,
        "layer1": sampler_name(chain),
        "shapes": {name: list(cells.shape) for name, cells in chain.program.cells.items()},
    }


def chain_state(chain: Chain) -> Group | InParts:
    """The arrays of `Chain.state`; where workers have the rows, they write them."""

    def whole() -> Group:
        return {name: compact(array) for name, array in chain.state().items()}

    shards = chain.program.shards
    return whole() if shards is None else shards.state_in_parts(chain.pending, whole)


def chain_data(chain: Chain) -> Group | InParts:
    """The data of all observed nodes, as cells; workers write what they have of them."""
    shards, cells = chain.program.shards, chain.program.cells
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


def _encode(chain: Chain) -> Parts:
    if chain.program.replicates != 1:
        raise StorageError("replicated chains cannot be saved; save a Chain made by Network.chain")
    groups: dict[str, Group | InParts] = {
        "data": chain_data(chain),
        "state": chain_state(chain),
    }
    if chain.given.stacks:
        groups["given"] = dict(chain.given.stacks)
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
    check_form(content, _FORM)
    network = Network.from_json(json.dumps(content["network"]))
    data = read_data_arrays(network, content["shapes"], files("data"))
    seed, number, layer1 = (content[name] for name in ("seed", "number", "layer1"))
    given, state = files("given") if network.held else None, files("state")
    if layer1 == "blocked" and not any(name.startswith("sampler/") for name in state):
        layer1 = "general"  # what "blocked" stood for in older files, where it had no kernel
    chain = Chain.of_data(network, data, seed, number, None, layer1, threads, executor, given)
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


register_codec("chain", Chain, _encode, decode_chain)
