"""Which networks have rows that are independent given the rest, and which nodes are that rest.

The rows of a plate such as "doc" are independent, given all nodes without the plate, on one
condition: a row of every node depends only on the same row of the nodes in its slots.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import DataError, NetworkError, did_you_mean
from pgbn.network.network import Network
from pgbn.network.terms import Factor, Operation, Polynomial
from pgbn.nodes.base import Observed
from pgbn.nodes.rules import find_link, names_read
from pgbn.samplers.random import word_of


def row_network(network: Network, rows: str, names: Iterable[str] | None = None) -> Network:
    """The network of the data with the plate (or those of them in ``names``) and of all nodes that
    they depend on. Nodes without the plate are given; the nodes above these are omitted. It is
    rejected if the rows are not independent given these."""
    if not isinstance(rows, str) or rows not in network.dims:
        raise DataError(
            f"rows={rows!r:.60}: no node has this dim.{did_you_mean(rows, network.dims)}"
        )
    return _row_network(network, rows, None if names is None else tuple(names))


@lru_cache(maxsize=16)  # deriving a network takes longer than the sweeps of a few rows
def _row_network(network: Network, rows: str, names: tuple[str, ...] | None) -> Network:
    observed = [
        _without_unread(network, node, rows)
        for node in network
        if isinstance(node, Observed) and rows in node.axes
        if names is None or node.name in names
    ]
    if not observed:
        raise DataError(
            f"rows={rows!r}: no observed node has this dim; data have the dims "
            f"{', '.join(d for name in network.observed for d in network[name].axes)}"
        )
    whole = Network(*observed)
    indexes = {name: a for name, a in network.indexes.items() if name in whole.categories}
    given = [name for name in whole.latent if rows not in whole[name].axes]
    check_independent(whole, rows)
    sizes = {dim: n for dim, n in network.sizes.items() if dim in whole.dims and dim != rows}
    return Network(*observed, sizes=sizes, given=given, above=False, indexes=indexes)


def check_own_values(network: Network, rows: str) -> Network:
    """The network of rows, unless they have no latent values of their own."""
    if not network.free:
        dims = dict.fromkeys(dim for name in network.latent for dim in network[name].axes)
        raise DataError(
            f"rows={rows!r}: no latent node has this dim, so that there is nothing to infer about "
            f"new rows; latent nodes have the dims {', '.join(dims)}"
        )
    return network


def _without_unread(network: Network, node: Observed, rows: str) -> Observed:
    """A data node without the arrays of the old rows that no rule reads, such as the totals of a
    Multinomial, which data bring with them."""
    link, rules = find_link(node), network.wiring.connections.rules_of(node)
    read = {*rules, *names_read(link.counts if link else None), link.slot if link else ""}
    read |= {name for r in rules.values() for name in (*r.count_reads, *r.exposure_reads)}
    unread = {
        slot: field.default
        for slot, field in type(node).model_fields.items()
        if slot in node.slots() and slot not in read and not field.is_required()
        if any(rows in term.dims for term in network.wiring.polynomials[node.name, slot].terms)
    }
    if not unread:
        return node
    fields = {f: getattr(node, f) for f in type(node).model_fields if f != "name"}
    return type(node)(node.name, **(fields | unread))


def check_independent(network: Network, rows: str) -> None:
    """Reject a network whose rows depend on each other, and say why."""
    for node in network:
        if rows not in node.axes:
            continue
        if network.wiring.connections.time_dim(node.name) == rows:
            raise NetworkError(
                f"rows={rows!r}: {node.name} depends on its own previous row along {rows!r}, so "
                f"that rows are not independent; for rows to come use net.forecast(draws, steps)"
            )
        if rows in node.sums_over:
            raise NetworkError(
                f"rows={rows!r}: {node.name} sums to one over {rows!r}, so that its rows depend on "
                "each other: there is no posterior of new rows alone"
            )
    for (name, slot), polynomial in network.wiring.polynomials.items():
        reason = couples(polynomial, rows)
        if reason:
            raise NetworkError(
                f"rows={rows!r}: in the {slot} of {name}, {reason}: there is no posterior of new "
                "rows alone; run net.sample on old and new rows together"
            )


def couples(polynomial: Polynomial, rows: str) -> str:
    """How a slot makes rows depend on each other, or on arrays of the old ones; "" if it does
    not."""
    for term in polynomial.terms:
        if rows in term.contracted:
            return f"{rows!r} is summed over"
        for factor in term.factors:
            if factor.previous:
                continue
            if factor.through:
                reason = _couples_through(factor.through.operation, rows)
                if reason:
                    return reason
                continue
            if any(lookup.dim == rows for lookup in factor.lookups):
                return f"rows of {factor.name} are read by the categories of other rows"
            if factor.relation is not None:
                if rows in factor.dims:
                    return f"pairs of {factor.dims[0]!r} and {factor.dims[1]!r} are distinguished"
                continue
            reason = _couples_alone(factor, rows)
            if reason:
                return reason
    return ""


def _couples_alone(factor: Factor, rows: str) -> str:
    """How a constant array, or a node whose dims have other names, ties rows to others."""
    if factor.constant is not None:
        if rows in factor.dims:
            return (
                f"there is a constant array along {rows!r}, which belongs to the old rows (build "
                "the network with that of the new ones, and give what was learnt: "
                "new.sample(data, given={…}))"
            )
        return ""
    for here, own in zip(factor.dims, factor.own_dims, strict=True):
        if here != own and rows in (here, own):
            return f"{factor.name} has {own!r} as {here!r}"
    return ""


def _couples_through(operation: Operation, rows: str) -> str:
    """How an edge with an evaluation of its own makes rows depend on each other, unless it declares
    them independent."""
    for operand in operation.operands.values():
        reason = _couples_alone(operand, rows)
        if reason:
            return reason
    read = {rows in operand.dims for operand in operation.operands.values()}
    if (True in read or rows in operation.dims) and rows not in operation.independent:
        kind = type(operation.edge).__name__
        return (
            f"{operation.edge} is evaluated for all rows together (if each row of it is made of "
            f"the same row of its operands alone, let {kind}.independent_dims return "
            f"{rows!r} among its dims)"
        )
    return ""


# ---- categories of new rows: each row, a replicate, has numbers of its own ----------------------


def along_rows(network: Network, rows: str) -> list[str]:
    """The categories that slots read and that have the dim of the rows."""
    read = {
        lookup.name
        for polynomial in network.wiring.polynomials.values()
        for term in polynomial.terms
        for factor in term.factors
        for lookup in factor.lookups
    }
    return [name for name, each in network.categories.items() if name in read and rows in each.dims]


def hash_indexes(
    hashes: NDArray[np.uint64], indexes: Mapping[str, NDArray[np.int64]]
) -> NDArray[np.uint64]:
    """Hashes of rows that include the numbers of categories: rows of other categories are other
    rows."""
    for name, array in indexes.items():
        for column in array.reshape(len(array), -1).astype(np.uint64).T:
            word = np.uint64(word_of(name))
            hashes = (hashes + word) * np.uint64(0x9E3779B97F4A7C15) ^ column
    return hashes


def row_indexes(
    network: Network, rows: str, count: int, given: Collection[str]
) -> tuple[Network, dict[str, NDArray[np.int64]]]:
    """The network of a single row, and the numbers of each of them: the rows first, and 1 in the
    place of their dim, (rows, *dims). Those of the old rows, which were not ``given`` with the new
    ones, are rejected."""
    arrays, largest = {}, {}
    for name in along_rows(network, rows):
        dims = network.categories[name].dims
        axis = dims.index(rows)
        if name not in given:
            raise DataError(
                f"data: {name!r}: no numbers of the new rows; give {{{name!r}: […], …}}, one for "
                f"each {rows}"
            )
        array = network.indexes[name]
        if array.shape[axis] != count:
            raise DataError(
                f"data: {name!r}: {array.shape[axis]} numbers along {rows!r}, but there are "
                f"{count} rows; give one for each"
            )
        first = np.moveaxis(array, axis, 0)
        arrays[name] = np.expand_dims(first, axis + 1)
        largest[name] = np.expand_dims(first.max(axis=0), axis)  # a row that the sizes must fit
    return (network.with_indexes(**largest) if largest else network), arrays
