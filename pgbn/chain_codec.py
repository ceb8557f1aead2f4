"""Chains and data, as JSON and arrays.

Reading trusts nothing: what the kernels would index with is checked first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.chain import Chain
from pgbn.data import Cells, read_array
from pgbn.errors import StorageError
from pgbn.network import Network
from pgbn.nodes.base import Observed
from pgbn.trained import observed_node

__all__ = [
    "Files",
    "Group",
    "chain_content",
    "chain_data",
    "chain_state",
    "compact",
    "decode_chain",
    "matrix_arrays",
    "read_matrix",
]

Group = dict[str, NDArray[Any]]
Files = Callable[[str], Group]  # the arrays of a group, read when they are asked for


def compact(array: NDArray[Any]) -> NDArray[Any]:
    """Integers in as few bytes as their values need; other arrays as they are."""
    if array.dtype.kind not in "iu" or not array.size or array.min() < 0:
        return array
    return array.astype(np.min_scalar_type(array.max()), copy=False)


def chain_content(chain: Chain) -> dict[str, Any]:
    """All but the arrays. The sampler of the first layer is named, since "auto" may choose
    otherwise in another version; "blocked" stands for general rules with fused tables."""
    general = chain.layer1 == "composed" and chain.program.fused
    return {
        "network": json.loads(chain.network.to_json()),
        "seed": chain.seed,
        "number": chain.number,
        "sweeps": chain.sweeps,
        "layer1": "blocked" if general else chain.layer1,
        "shapes": {name: list(cells.shape) for name, cells in chain.program.cells.items()},
    }


def chain_state(chain: Chain) -> Group:
    """The arrays of `Chain.state`."""
    return {name: compact(array) for name, array in chain.state().items()}


def chain_data(chain: Chain) -> Group:
    """The data of all observed nodes, as cells."""
    out: Group = {}
    for name, cells in chain.program.cells.items():
        out[f"{name}/indptr"], out[f"{name}/indices"] = cells.indptr, compact(cells.indices)
        out[f"{name}/values"] = compact(cells.values)
        if cells.missing is not None:
            out[f"{name}/missing"] = cells.missing
    return out


def decode_chain(content: Mapping[str, Any], files: Files, threads: int | None) -> Chain:
    """A chain at the place where it was saved."""
    network = Network.from_json(json.dumps(content["network"]))
    arrays = files("data")
    data = {
        name: _read_cells(network[name], tuple(content["shapes"][name]), name, arrays)
        for name in network.observed
    }
    seed, number, layer1 = (content[name] for name in ("seed", "number", "layer1"))
    chain = Chain(network, data, seed, number, None, layer1, threads)
    return chain.restore(files("state"), content["sweeps"])


def _read_cells(node: Any, shape: tuple[int, ...], name: str, arrays: Group) -> Cells:
    indptr, indices = (arrays[f"{name}/{part}"] for part in ("indptr", "indices"))
    values, missing = arrays[f"{name}/values"], arrays.get(f"{name}/missing")
    rows, columns = int(np.prod(shape[:-1], dtype=object)), shape[-1] if shape else 1
    _check_rows(indptr, indices, values, rows, columns)
    assert isinstance(node, Observed)
    if missing is not None and (missing.shape != values.shape or missing.dtype != bool):
        raise StorageError(f"the data of {name} are damaged: missing")
    complaint = node.check(values)
    if complaint or len(shape) != len(node.axes):
        raise StorageError(f"the data of {name} are damaged: {complaint or shape}")
    kind = np.int64 if values.dtype.kind in "iu" else np.float64
    return Cells(node.axes, shape, 1, indptr.astype(np.int64), indices.astype(np.int32),
                 values.astype(kind), missing)  # fmt: skip


def _check_rows(indptr: Any, indices: Any, values: Any, rows: int, columns: int) -> None:
    """Compressed sparse rows that may be indexed with."""
    good = (
        indptr.shape == (rows + 1,)
        and indptr.dtype.kind in "iu"
        and indices.dtype.kind in "iu"
        and values.dtype.kind in "iuf"
        and indices.shape == values.shape == (int(indptr[-1]),)
        and indptr[0] == 0
        and bool((np.diff(indptr.astype(np.int64)) >= 0).all())
        and (not indices.size or (int(indices.min()) >= 0 and int(indices.max()) < columns))
        and bool(np.isfinite(values).all())
    )
    if not good:
        raise StorageError("the data are damaged: not the rows of a sparse matrix")


def matrix_arrays(X: Any) -> Group:
    """The documents that belong to a model; unknown cells count as 0."""
    cells = read_array(observed_node("gamma", "data"), X)
    return {"shape": np.array(cells.shape), "indptr": cells.indptr,
            "indices": compact(cells.indices), "values": compact(cells.values)}  # fmt: skip


def read_matrix(arrays: Group) -> sp.csr_array:
    """The documents again."""
    rows, columns = (int(size) for size in arrays["shape"])
    indptr, indices, values = (arrays[name] for name in ("indptr", "indices", "values"))
    _check_rows(indptr, indices, values, rows, columns)
    kind = np.int64 if values.dtype.kind in "iu" else np.float64
    parts = (values.astype(kind), indices.astype(np.int32), indptr.astype(np.int64))
    return sp.csr_array(parts, shape=(rows, columns))
