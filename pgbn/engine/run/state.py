"""The state of a chain, as in `Chain.state` and in files: checked before it is used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import numbers
from pgbn.engine.compile.program import Program
from pgbn.engine.first_layer.samplers import FirstLayer
from pgbn.engine.run.generate import to_axes
from pgbn.errors import DataError, did_you_mean
from pgbn.network.terms import PREVIOUS
from pgbn.nodes.base import Latent

Tables = dict[str, dict[Any, NDArray[Any]]]

# How many names follow each table in the paths of a state, such as "counts/x/phi".
_NAMES = {"values": 1, "counts": 2, "drawn": 2, "latent_counts": 1, "sampler": 1}


def take_state(program: Program, pending: Collection[str]) -> dict[str, NDArray[Any]]:
    """Copies of all arrays that the next sweep reads. The values of ``pending`` nodes are not drawn
    yet, and are not read."""
    out = {
        path: as_stored(table, getattr(program, table)[key])
        for path, (table, key) in state_places(program, pending).items()
    }
    for sampler in program.first_layers.values():
        for name, value in sampler.state().items():
            out[sampler_path(program, sampler, name)] = np.array(value)
    return out


def state_places(program: Program, pending: Collection[str]) -> dict[str, tuple[str, Any]]:
    """The table and the key of each array of a state, by its path. Counts that samplers of the
    first layer keep in a form of their own are not among them."""
    samplers = program.first_layers.values()
    own = {(s.observed, name) for s in samplers for name in (s.pattern.loadings, s.pattern.scores)}
    left_out = {*pending, *program.network.given}
    keys: dict[str, list[Any]] = {
        "values": [name for name in program.values if name not in left_out],
        "counts": [pair for pair in program.counts if pair not in own],
        "drawn": list(program.drawn),
        "latent_counts": list(program.latent_counts),
    }
    return {
        "/".join((table, *(key if isinstance(key, tuple) else (key,)))): (table, key)
        for table, every in keys.items()
        for key in every
    }


def as_stored(table: str, value: NDArray[Any]) -> NDArray[Any]:
    """A copy of an array, as a state has it."""
    return np.array(value, np.int64 if table == "counts" else None)


def sampler_path(program: Program, sampler: FirstLayer, name: str) -> str:
    """The name of an array of a sampler's state; it names the data if there are several
    samplers."""
    several = len(program.first_layers) > 1
    return f"sampler/{name}" + (f" of {sampler.observed}" if several else "")


def restore_samplers(program: Program, table: Mapping[str, NDArray[Any]]) -> None:
    """Put each sampler of the first layer where its state was taken."""
    for sampler in program.first_layers.values():
        end = sampler_path(program, sampler, "").removeprefix("sampler/")
        sampler.restore({n.removesuffix(end): v for n, v in table.items() if n.endswith(end)})


def read_tables(program: Program, state: Mapping[str, Any]) -> Tables:
    """The arrays of a state by table and name, each of the right shape and with possible values."""
    if not isinstance(state, Mapping):
        raise DataError(
            f"restore: a state of type {type(state).__name__}; give the dict that Chain.state() "
            "returned"
        )
    tables: Tables = {table: {} for table in _NAMES}
    for path, value in state.items():
        table, *names = str(path).split("/")
        if len(names) != _NAMES.get(table):
            raise DataError(
                f"restore: {path!r} is no entry of a state, such as 'values/r' or 'counts/x/phi'; "
                "give the dict that Chain.state() returned"
            )
        array = numbers(f"restore: {path}", value)
        if table == "sampler":  # of the first layer, which reads it
            tables[table][names[0]] = array
        elif table == "values":
            tables[table][names[0]] = _value(program, path, names[0], array)
        elif table == "latent_counts":
            cells = program.cells.get(names[0])
            _check(path, names[0], program.cells, array, (0 if cells is None else cells.size,))
            tables[table][names[0]] = _integers(path, array)
        elif table == "drawn":
            tables[table][names[0], names[1]] = _drawn(program, path, names, array)
        elif names[1] != PREVIOUS:  # counts for the previous row are drawn before they are read
            _check(path, names[0], program.network.nodes)
            _check(path, names[1], program.network.latent, array, program.shape.get(names[1]))
            tables[table][names[0], names[1]] = _integers(path, array)
    return tables


def _check(
    path: str,
    name: str,
    known: Collection[str],
    array: NDArray[Any] | None = None,
    shape: tuple[int, ...] | None = None,
) -> None:
    """Reject a name that is not among those ``known``, and an array of another shape."""
    if name not in known:
        raise DataError(
            f"restore: {path}: this network has no such {name!r}.{did_you_mean(name, known)} Is "
            "the state of the same network?"
        )
    if array is not None and array.shape != shape:
        raise DataError(
            f"restore: {path} has the shape {array.shape}, but this chain needs {shape}; is the "
            "state of the same network and data?"
        )


def _value(program: Program, path: str, name: str, array: NDArray[Any]) -> NDArray[Any]:
    _check(path, name, program.network.latent, array, program.shape.get(name))
    value, node = np.array(array, np.float64), program.network.nodes[name]
    assert isinstance(node, Latent)
    for replicate in to_axes(program, name, value):
        complaint = node.refuses(np.asarray(replicate))
        if complaint:
            raise DataError(f"restore: {path} {complaint}")
    return value


def _drawn(program: Program, path: str, pair: list[str], array: NDArray[Any]) -> NDArray[Any]:
    """A random exposure; it may be infinite, for a shape that underflowed to 0. Gaussian evidence
    has two parts: κ, of any sign, and then the exposure ω."""
    rule = program.wiring.rules.get((pair[0], pair[1]))
    if rule is None or rule.drawn is None:
        known = ["/".join(key) for key, each in program.wiring.rules.items() if each.drawn]
        raise DataError(
            f"restore: {path}: no random exposure is kept for that in this network."
            f"{did_you_mean('/'.join(pair), known)}"
        )
    dims = rule.drawn(program.network.nodes[pair[0]])
    size = program.replicates * prod(program.sizes[dim] for dim in dims)
    size *= 2 if rule.is_quadratic else 1
    if array.size != size:
        raise DataError(f"restore: {path} has {array.size} numbers, but this chain needs {size}")
    if rule.is_quadratic and array.shape[:1] != (2,):
        raise DataError(f"restore: {path} must hold two arrays, and has the shape {array.shape}")
    if not ((array[1] if rule.is_quadratic else array) >= 0).all() or np.isnan(array).any():
        raise DataError(f"restore: {path} has values that are negative or NaN")
    return np.array(array, np.float64)


def _integers(path: str, array: NDArray[Any]) -> NDArray[np.int64]:
    if array.dtype.kind not in "iu" or bool((array < 0).any()):
        raise DataError(
            f"restore: {path} must hold integers of at least 0, the counts of a sweep; got "
            f"{array.dtype}" + (f" down to {array.min():g}" if array.size else "")
        )
    return np.array(array, np.int64)
