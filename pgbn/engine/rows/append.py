"""New rows for a running chain: their values are drawn given the values that all rows share.

A chain on rows 1 … J is at (shared values, rows' own values). The own values of new rows are drawn
by sweeps over them alone with the shared values fixed. These sweeps leave p(own | shared, data)
invariant. Then a chain on all rows begins at the old values and these. From there on every sweep is
one of the Gibbs sampler of all rows. Only one thing is approximate: the data have changed, so that
the shared values need some sweeps to follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.checks import check_integer
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import read_data, same_labels
from pgbn.engine.rows.independent import row_network
from pgbn.engine.run.chain import Chain
from pgbn.engine.shards.driver import executor_behind
from pgbn.errors import DataError
from pgbn.samplers.random import stream_key, word_of


def append_rows(
    chain: Chain, data: Mapping[str, Any], rows: str | None = None, sweeps: int = 50
) -> Chain:
    """A chain on the rows of ``chain`` and, after them, those of ``data``; see `Chain.append`."""
    network = chain.network
    plate = network[network.observed[0]].axes[0] if rows is None else rows
    check_integer("sweeps", sweeps, 1)
    _check_plate(chain, plate)
    with chain._alone():
        return _join(chain, data, plate, sweeps)


def _join(chain: Chain, data: Mapping[str, Any], plate: str, sweeps: int) -> Chain:
    network = chain.network
    values = chain.values
    local = [name for name in network.latent if plate in network[name].axes]
    shared = {name: values[name] for name in network.latent if name not in local}
    new = read_data(network, data)
    labels = {name: _column_labels(chain._program.cells[name], new[name], name, plate)
              for name in network.observed}  # fmt: skip
    seed = stream_key(chain.seed, word_of("append"), chain.sweeps)
    executor, fixed = executor_behind(chain._program), network.with_given(*shared)
    # topics of the new rows are given, so that "collapsed" has no use
    sampler = "blocked" if chain.sampler == "collapsed" else chain.sampler
    seated = Chain._of_data(fixed, new, seed, executor=executor, sampler=sampler,
                           given=shared).sweep(sweeps).values  # fmt: skip
    init = {
        name: np.concatenate((values[name], seated[name]), network[name].axes.index(plate))
        for name in local
    }
    whole = {name: _stacked(chain._program.cells[name], new[name]) for name in network.observed}
    joined = Chain._of_data(network, whole, chain.seed, chain.number, {**shared, **init},
                           chain.sampler, executor=executor)  # fmt: skip
    joined.sweeps = chain.sweeps  # no stream is used twice
    for name, columns in labels.items():
        joined._program.cells[name].labels = columns
    return joined


def _check_plate(chain: Chain, plate: str) -> None:
    network = chain.network
    row_network(network, plate)  # rejected if the rows are not independent given the rest
    if network.given:
        raise DataError(
            f"append: {', '.join(network.given)} is given in this chain; begin a new one with all "
            "rows"
        )
    for name in network.observed:
        axes = network[name].axes
        if len(axes) != 2 or axes[0] != plate:
            raise DataError(
                f"append: {name} has the dims {axes}; rows are appended along the first of two"
            )
        if chain._program.cells[name].missing is not None:
            raise DataError(f"append: {name} has missing cells; begin a new chain with all rows")


def _column_labels(old: Cells, new: Cells, name: str, plate: str) -> dict[str, list[Any]]:
    """The labels of all dims but the rows, which must be those of the chain."""
    both = [{dim: own for dim, own in each.labels.items() if dim != plate} for each in (old, new)]
    same_labels(f"append: {name}", both[1], both[0], "the chain's data")
    return both[1] | both[0]


def _stacked(old: Cells, new: Cells) -> sp.csr_array:
    """The data of all rows."""
    if new.columns != old.columns:
        raise DataError(f"append: {new.columns} columns, but the chain has {old.columns}")
    if new.missing is not None:
        raise DataError("append: missing cells are not supported; omit these rows")
    parts = [
        sp.csr_array((cells.values, cells.indices, cells.indptr), shape=(cells.rows, cells.columns))
        for cells in (old, new)
    ]
    return sp.csr_array(sp.vstack(parts, format="csr"))
