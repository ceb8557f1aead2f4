"""The sizes of all dims, and whether what has them fits into memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from pgbn.errors import DataError, did_you_mean
from pgbn.network.network import Network, check_size
from pgbn.network.terms import Factor, Lagged, Lookup, ViaEdge
from pgbn.nodes.base import Latent
from pgbn.storage.read_limits import check_bytes, memory

_ENTRY = 26  # bytes of an entry without rows: two values, a count, its level and place in lists
_ROW = 64  # bytes of numbers that a row has in one layer, and of sums on their way


def complete_sizes(
    network: Network, sizes: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, int]:
    """All sizes: the network's, those given, and those of arrays; they must agree."""
    if not isinstance(sizes, Mapping):
        raise DataError(f"sizes={sizes!r}: give a dict from dims to sizes, such as {{'doc': 10}}")
    every = dict(network.sizes)
    for dim, size in sizes.items():
        if dim not in network.dims:
            raise DataError(f"sizes: no node has a dim {dim!r}.{did_you_mean(dim, network.dims)}")
        every[dim] = check_size(dim, size)
    for name, shape in shapes.items():
        axes = network.nodes[name].axes
        if len(axes) != len(shape):
            raise DataError(f"{name}: an array of shape {shape}, but its dims are {axes}")
        for dim, size in zip(axes, shape, strict=True):
            if every.setdefault(dim, size) != size:
                raise DataError(
                    f"{name}: dim {dim!r} has size {size} here, but {every[dim]} elsewhere; give "
                    f"an array of that size, or another sizes={{{dim!r}: {size}}}"
                )
    factors = [
        (name, factor)
        for (name, _), polynomial in network.wiring.polynomials.items()
        for term in polynomial.terms
        for factor in term.factors
    ]
    earlier = [(name, replace(factor, dims=each.dims, own_dims=(each.dim,), constant=None))
               for name, factor in factors for each in factor.lookups
               if isinstance(each, Lagged)]  # fmt: skip
    factors += earlier  # the two names of the rows have one size
    throughs = [(name, factor.through) for name, factor in factors if factor.through]
    factors += [(name, each) for name, t in throughs for each in t.operation.operands.values()]
    lookups = [(factor, lookup) for _, factor in factors for lookup in factor.lookups
               if not isinstance(lookup, Lagged | ViaEdge)]  # fmt: skip
    for _, lookup in lookups:
        _add_rows(network, lookup, every)
    known = -1
    while len(every) > known:  # a size that was found may tell others
        known = len(every)
        for name, factor in factors:
            _add_sizes(every, name, factor)
    lookups.sort(key=lambda pair: -int(network.indexes[pair[1].name].max()))  # the largest tells
    for factor, lookup in lookups:
        _add_entries(network, factor, lookup, every)
    for dim in network.dims:
        if dim not in every:
            raise DataError(
                f"the size of dim {dim!r} is not known; give Network(..., sizes={{{dim!r}: ...}})"
            )
    return every


def _add_rows(network: Network, lookup: Lookup, every: dict[str, int]) -> None:
    """The sizes of the dims of categories, which their numbers tell."""
    name, array = lookup.name, network.indexes.get(lookup.name)
    if array is None:
        raise DataError(
            f"{name}: no numbers of these categories; give them with the data, "
            f"{{{name!r}: […], …}}, or before: net.with_indexes({name}=[…])"
        )
    for dim, size in zip(lookup.dims, array.shape, strict=True):
        if every.setdefault(dim, size) != size:
            raise DataError(
                f"{name}: {size} numbers along {dim!r}, but {dim!r} has size {every[dim]}; give a "
                f"number for each, {{{name!r}: […], …}}"
            )


def _add_entries(network: Network, factor: Factor, lookup: Lookup, every: dict[str, int]) -> None:
    """The number of entries that categories name; if nothing else tells it, the largest number."""
    named = int(network.indexes[lookup.name].max()) + 1
    entries = every.setdefault(lookup.dim, named)
    if factor.constant is not None:
        entries = factor.constant.shape[factor.entries.index(lookup.dim)]
    if named > entries:
        raise DataError(
            f"{lookup.name}: has the number {named - 1}, but {lookup.dim!r} has size {entries}; "
            f"numbers go from 0 to {entries - 1}"
        )


def _add_sizes(every: dict[str, int], name: str, factor: Factor) -> None:
    """What a factor in a slot of a node says about sizes: those of a constant array, and that two
    names of a dim, or the two dims of pairs, have one size."""
    if factor.constant is not None:
        shape = dict(zip(factor.entries or factor.dims, factor.constant.shape, strict=True))
        through = {dim for lookup in factor.lookups for dim in lookup.dims}
        names = zip(factor.dims, factor.own_dims or factor.dims, strict=True)
        same = [(dim, shape[mine]) for dim, mine in names if mine not in through]
    else:
        own = factor.own_dims if factor.relation is None else factor.dims[::-1]
        same = [(dim, every[mine]) for dim, mine in zip(factor.dims, own, strict=True)
                if mine in every]  # fmt: skip
        for dim, mine in zip(factor.dims, own, strict=True):
            if dim in every:
                every.setdefault(mine, every[dim])
    for dim, size in same:
        if every.setdefault(dim, size) != size:
            raise DataError(
                f"{name}: {factor.name or 'pairs'} has size {size} along {dim!r}, "
                f"but {dim!r} has size {every[dim]}"
            )


def check_fits(
    network: Network,
    sizes: Mapping[str, int],
    replicates: int = 1,
    data: bool = False,
    argument: str = "",
    rows_in: int | None = None,
) -> None:
    """Refuse sizes at which the values and counts of the nodes would not fit into memory.

    ``data``: the observed nodes are drawn, as whole arrays. ``argument`` is what the user gave.
    ``rows_in``: of what has rows, so many bytes are in memory at a time.
    """
    if rows_in is not None:
        beside = bytes_beside_rows(network, sizes)
        check_bytes(f"{rows_in} bytes for rows and {beside} for what all rows share",
                    rows_in + beside, "give a smaller memory=, or fewer topics")  # fmt: skip
        return
    need = {
        node.name: 16 * replicates * prod(sizes.get(dim, 1) for dim in node.axes)  # two arrays
        for node in network
        if data or isinstance(node, Latent)
    }
    total = sum(need.values())
    if total <= memory():
        return
    worst = network.nodes[max(need, key=lambda name: need[name])]
    shape = ", ".join(f"{dim}={sizes.get(dim, 1)}" for dim in worst.axes)
    largest = max(worst.axes, key=lambda dim: sizes.get(dim, 1), default="replicates")
    check_bytes(f"{argument}{worst.name} [{shape}]", total, f"make {largest} smaller")


def bytes_beside_rows(network: Network, sizes: Mapping[str, int]) -> int:
    """What a chain has in memory beside the rows that an executor keeps elsewhere: the values and
    counts of what all rows share, and a few numbers for each row and layer."""
    rows = {dim for name in network.observed for dim in network.nodes[name].axes[:1]}
    shared = beside = 0
    for name in network.latent:
        axes = network.nodes[name].axes
        if not rows.intersection(axes):
            shared += prod(sizes[dim] for dim in axes)
        elif len(axes) > 1:
            beside += prod(sizes[dim] for dim in axes if dim in rows)
    return _ENTRY * shared + _ROW * beside
