"""Where a chain begins: at the initial values that were given, else at draws from the prior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_unmasked, in_order, numbers
from pgbn.engine.compile.program import Program
from pgbn.engine.run.generate import prior_step, to_storage
from pgbn.errors import DataError, did_you_mean
from pgbn.nodes.base import Latent
from pgbn.samplers.executor import cut_rows, keeps_rows, let_go, rows_array
from pgbn.samplers.random import stream_key, word_of

__all__ = ["begin_values"]


def begin_values(program: Program, key: int, init: Mapping[str, Any]) -> None:
    """Set the latent nodes that are not held to the values in ``init``, and the others to draws
    from the prior."""
    given = _read(program, init)
    for name in program.network.free:
        value: NDArray[Any]
        if name in given:
            value = given[name]
        else:
            node = program.network.nodes[name]
            assert isinstance(node, Latent)
            draw = prior_step(program, name)
            value = draw(stream_key(key, word_of("initial"), word_of(name)))
        program.values[name] = _kept(program, name, value, begun=name in given)


def _kept(program: Program, name: str, value: NDArray[Any], begun: bool) -> NDArray[Any]:
    """A value where the program keeps it, a block of rows at a time; if it has not ``begun``, as
    the node begins from it."""
    executor, node = program.executor_for(program.storage[name]), program.network.nodes[name]
    assert isinstance(node, Latent)
    if not keeps_rows(executor):
        return np.array(value, np.float64) if begun else np.ascontiguousarray(node.begin(value))
    kept = rows_array(executor, value.shape, np.float64)
    for start, stop in cut_rows(executor, value.shape[1], value, kept):
        part = value[:, start:stop]
        kept[:, start:stop] = part if begun else node.begin(part)
        let_go(executor)
    return kept


def _read(program: Program, init: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Checked initial values, in storage order."""
    out = {}
    latent = program.network.free
    if not isinstance(init, Mapping):
        raise DataError(f"init={init!r}: give a dict from names of latent nodes to arrays")
    for name, value in init.items():
        if name not in latent:
            held = f"init: {name!r} is given; leave it out of init"
            unknown = f"init: {name!r} is not a latent node.{did_you_mean(name, latent)}"
            raise DataError(held if name in program.network.held else unknown)
        node = program.network.nodes[name]
        assert isinstance(node, Latent)
        check_unmasked(f"init: {name}", value)
        value = in_order(f"init: {name}", node.axes, value)
        array = numbers(f"init: {name}", value).astype(np.float64)
        if array.ndim != len(node.axes):
            raise DataError(f"init: {name} has shape {array.shape}, but its dims are {node.axes}")
        complaint = node.refuses(array)
        if complaint:
            raise DataError(f"init: {name} {complaint}")
        out[name] = to_storage(program, name, array[None])
    return out
