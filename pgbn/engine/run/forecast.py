"""The future of a network in time: the recursion continues from the last row of posterior draws.

    θ_{T+h} ~ p(θ_{T+h} | θ_{T+h−1}, globals),   x_{T+h} ~ p(x_{T+h} | θ_{T+h}, globals)

A future of ``steps`` rows is drawn as a network of steps + 1 rows whose first row is given: the
last one of the past. With a longest lag of L it has steps + L rows, the last L of the past, or all
if the past has fewer. Each draw is a replicate, with its own past and its own globals.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import cells_of
from pgbn.engine.data.reading import (
    check_coords,
    check_fits,
    complete_sizes,
    given_arrays,
    read_stack,
)
from pgbn.engine.rows.independent import couples
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.generate import (
    common_lead,
    generate_into,
    prior_step,
    to_axes,
    to_storage,
)
from pgbn.engine.steps.time import time_prior
from pgbn.errors import DataError, NetworkError
from pgbn.network.network import Network
from pgbn.network.terms import FIRST
from pgbn.nodes.base import Latent, Observed
from pgbn.samplers.executor import executor_of
from pgbn.samplers.random import stream_key, word_of

_FORECAST = word_of("forecast")


def forecast_network(network: Network, draws: Any, steps: int, seed: int = 0) -> Draws:
    """See `pgbn.Network.forecast`."""
    time = _time_of(network)
    observed = [node for node in network if isinstance(node, Observed) and time in node.axes]
    local = Network(*observed)
    _check_slots(local, time)
    local = local.with_indexes(**{n: network.indexes[n] for n in local.categories
                                  if n in network.indexes})  # fmt: skip
    moving = [node.name for node in local if local.wiring.connections.time_dim(node.name)]
    first = local[moving[0]]
    place = first.axes.index(time) - len(first.axes)
    value = given_arrays(draws).get(first.name)
    length = 1 if value is None else np.shape(value)[place]  # of the past
    lags = (lag for each in local.wiring.polynomials.values() for lag in each.lags)
    rows = min(max(lags), length)
    known = [name for name in local.latent if _is_needed(local, name, time, rows)]
    past, lead = _read(local, [*moving, *known], draws)
    number = prod(lead)
    shapes = {name: past[name].shape[1:] for name in known}
    sizes = {dim: size for dim, size in network.sizes.items() if dim in local.dims and dim != time}
    inner = {
        dim: size
        for name in moving
        for dim, size in zip(local[name].axes, past[name].shape[1:], strict=True)
        if dim != time
    }
    every = complete_sizes(local, {**sizes, **inner, time: steps + rows}, shapes)
    check_fits(local, every, number, data=True, argument=f"steps={steps}: ")
    program = Program(local, {}, every, number)
    future = _run(program, seed, time, past, moving, known, rows)
    values = {
        name: np.delete(value, slice(rows), local[name].axes.index(time) + 1)
        for name, value in future.items()
    }
    chains = (*(1,) * (2 - len(lead)), *lead)
    values = {name: value.reshape(*chains, *value.shape[1:]) for name, value in values.items()}
    dims = {name: ("chain", "draw", *local[name].axes) for name in values}
    return Draws(values, dims, {"seed": seed, "steps": steps})


def _time_of(network: Network) -> str:
    """The dim along which nodes depend on their own previous row."""
    dims = {network.wiring.connections.time_dim(node.name) for node in network} - {None}
    if len(dims) == 1:
        return str(dims.pop())
    if dims:
        raise NetworkError(f"forecast: recursions along several dims, {', '.join(map(str, dims))}")
    raise NetworkError(
        "forecast: no node depends on its own previous row (a Shift), so that there is no future; "
        "for rows of a plate use net.infer(data, given=draws, rows=...)"
    )


def _check_slots(network: Network, time: str) -> None:
    """Reject a slot that needs more of the past, or of the future, than the previous row."""
    for (name, slot), polynomial in network.wiring.polynomials.items():
        dims = {dim for term in polynomial.terms for dim in term.dims}
        if time not in network[name].axes and time not in dims:
            continue
        reason = couples(polynomial, time)
        if reason or time in network[name].sums_over:
            raise NetworkError(
                f"forecast: in the {slot} of {name}, "
                f"{reason or f'entries sum to one over {time!r}'}: the future of it is not known"
            )


def _is_needed(network: Network, name: str, time: str, rows: int) -> bool:
    """Whether a node without time is in a slot of one with it, beyond these first rows."""
    return time not in network[name].axes and any(
        factor.name == name and (term.phase != FIRST or term.lag > rows)
        for (child, _), polynomial in network.wiring.polynomials.items()
        if time in network[child].axes
        for term in polynomial.terms
        for factor in term.factors
    )


def _read(
    network: Network, names: list[str], draws: Any
) -> tuple[dict[str, NDArray[Any]], tuple[int, ...]]:
    """The draws of the past as (number, *axes), and their own dims."""
    values = given_arrays(draws)
    for name in names:
        if name not in values:
            raise DataError(
                f"forecast: no draws of {name!r}; keep them: net.sample(..., keep="
                f"[{', '.join(map(repr, names))}])"
            )
    read = {name: read_stack(network[name], values[name]) for name in names}
    lead = common_lead("forecast", {name: lead for name, (_, lead) in read.items()})
    return {name: stack for name, (stack, _) in read.items()}, lead


def _run(
    program: Program,
    seed: int,
    time: str,
    past: Mapping[str, NDArray[Any]],
    moving: list[str],
    known: list[str],
    rows: int,
) -> dict[str, NDArray[Any]]:
    """All nodes with the dim of time, parents first, in the order of their dims."""
    out = {}
    for name, node in program.network.nodes.items():
        if name in known:
            program.values[name] = to_storage(program, name, past[name].astype(np.float64))
        if time not in node.axes:
            continue
        key = stream_key(seed, _FORECAST, word_of(name))
        if name in moving:
            last = np.moveaxis(past[name], node.axes.index(time) + 1, 0)[-rows:]
            first = np.stack([_row(program, name, time, row) for row in last])
            value = time_prior(program, node, first)(key)
        else:
            value = prior_step(program, name)(key)
        if isinstance(node, Latent):
            program.values[name] = np.ascontiguousarray(value, np.float64)
        elif isinstance(node, Observed):
            program.cells[name] = cells_of(node, value, program.replicates)
        out[name] = to_axes(program, name, value)
    return out


def _row(program: Program, name: str, time: str, row: NDArray[Any]) -> NDArray[Any]:
    """One row of a node, from the order of its dims to that in memory."""
    axes = [dim for dim in program.network[name].axes if dim != time]
    stored = [dim for dim in program.storage[name] if dim != time]
    return row.transpose([0, *(axes.index(dim) + 1 for dim in stored)])


def prior_draws(
    network: Network,
    draws: int,
    sizes: Mapping[str, int],
    seed: int,
    threads: int | None = None,
    coords: Mapping[str, Any] | None = None,
) -> Draws:
    """Draws from the joint distribution, data and all, (1, draws, *dims) of every node: they are
    replicates of one program."""
    labels = check_coords(network, coords, {})
    every = complete_sizes(network, {d: len(v) for d, v in labels.items()} | dict(sizes), {})
    check_coords(network, coords, every)
    check_fits(network, every, draws, data=True)
    program = Program(network, {}, every, draws, executor_of(threads))
    values = generate_into(program, seed, {})
    return Draws(
        {name: np.array(to_axes(program, name, value))[None] for name, value in values.items()},
        {name: ("chain", "draw", *network.nodes[name].axes) for name in values},
        {"seed": seed, "prior": True},
        network=network,
        coords=labels,
    )
