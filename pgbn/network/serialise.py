"""Networks to JSON and back. Nodes refer to each other by name; nothing is executed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from pydantic import ValidationError
from pydantic_core import to_jsonable_python
from scipy.sparse import csr_array, issparse

from pgbn.errors import DataError, NetworkError, did_you_mean
from pgbn.network.network import Network
from pgbn.nodes.base import Node, Observed, node_types
from pgbn.nodes.edge import Edge, edge_types
from pgbn.nodes.expression import Constant, Expression, Mix, Product, Rename, Sum
from pgbn.nodes.index import Categories, Index
from pgbn.nodes.pairs import Pairs
from pgbn.nodes.rules import load_plugins
from pgbn.nodes.shift import Self, Shift
from pgbn.storage.archive import Files, Parts, register_codec

FORMAT = "pgbn-network/1"
_edges: dict[str, type[Expression]] = {
    cls.tag: cls
    for cls in (Categories, Constant, Index, Mix, Pairs, Product, Sum, Shift, Self, Rename)
}


def network_json(network: Network, indent: int | None = 2) -> str:
    """The nodes in topological order, the sizes, the order and the given nodes, as JSON."""
    if not isinstance(indent, Integral | str | None):
        raise DataError(f"indent={indent!r:.60}: give a number of spaces, or None for one line")
    given: dict[str, Any] = {}
    if network.given:
        given |= {"given": network.given, "above": network.above}
    if network.indexes:
        given["indexes"] = {name: array.tolist() for name, array in network.indexes.items()}
    return json.dumps(
        {
            "format": FORMAT,
            "sizes": network.sizes,
            "order": network.order,
            **given,
            "nodes": [_encode_node(node) for node in network.declared.values()],
        },
        indent=indent,
    )


def _encode_node(node: Node) -> dict[str, Any]:
    cls = type(node)
    if node_types().get(node.tag) is not cls:
        raise NetworkError(
            f"{node.name}: the node type {cls.__name__} has no tag, so JSON cannot name "
            'it; add to the class: tag: ClassVar[str] = "my_package.my_type"'
        )
    fields = {}
    for name in cls.model_fields:
        value = getattr(node, name)
        if name == "update" and not value:  # files of networks without kernels have no such key
            continue
        fields[name] = expression_json(value) if name in cls.slots() else _plain(node, name, value)
    return {"type": node.tag, **fields}


def _plain(owner: Node | Edge, name: str, value: Any) -> Any:
    """A field without expressions, as JSON that pydantic reads back."""
    try:
        if isinstance(value, Expression):
            raise TypeError(f"{value} is an expression; annotate {name} as pgbn.extend.Slot")
        return to_jsonable_python(value)
    except (TypeError, ValueError) as error:
        raise NetworkError(f"{owner}: {name} cannot be written as JSON: {error}") from None


def expression_json(value: Any) -> Any:
    """An expression of the nodes of a network, or one of its fields, as JSON that names them."""
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, Constant) and not value.dims and value.value.ndim == 0:
        return float(value.value)
    if isinstance(value, Constant):
        return {"edge": "constant", "value": _encode_array(value.value), "dims": list(value.dims)}
    if isinstance(value, Categories):  # the network has their numbers
        return {"edge": value.tag, "name": value.name, "dims": list(value.dims), "of": value.of}
    if isinstance(value, Edge):
        own = {name: getattr(value, name) for name in type(value).model_fields}
        slots = type(value).slots()
        return {"edge": value.tag} | {
            name: expression_json(field) if name in slots else _plain(value, name, field)
            for name, field in own.items()
        }
    if isinstance(value, Expression):
        fields = {name: expression_json(getattr(value, name)) for name in type(value).model_fields}
        if fields.get("lag") == 1:  # files with a lag of 1 have no such key
            del fields["lag"]
        return {"edge": value.tag, **fields}
    if isinstance(value, (tuple, list)):
        return [expression_json(part) for part in value]
    return dict(value) if isinstance(value, Mapping) else value


def _encode_array(value: Any) -> Any:
    """Numbers as nested lists; a sparse matrix by the columns and values of its rows."""
    if not issparse(value):
        return value.tolist()
    parts = {name: getattr(value, name).tolist() for name in ("indptr", "indices", "data")}
    return {"sparse": list(value.shape), **parts}


def _decode_array(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    try:
        parts = [np.asarray(value[name]) for name in ("data", "indices", "indptr")]
        matrix = csr_array(tuple(parts), shape=tuple(value["sparse"]))
        matrix.check_format(full_check=True)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise NetworkError(f"not a network: a sparse constant is not complete: {error}") from None
    return matrix


def expression_from_json(network: Network, value: Any) -> Any:
    """The expression that `expression_json` wrote."""
    reader = _Reader([])
    reader.built = dict(network.declared)
    return reader.value(value, "an expression")


def network_from_json(text: str) -> Network:
    """Build the network, with a clear error for a text that is not a network."""
    load_plugins()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError, TypeError) as error:
        path = isinstance(text, str) and len(text) < 300 and "{" not in text
        raise NetworkError(
            f"{text!r:.60} is not a network, the text of net.to_json(); if it is a path, give "
            "Path(path).read_text(), or load a folder of pgbn.save with pgbn.load(path)"
            if path
            else f"not a network: the text is not JSON ({error})"
        ) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        found = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise NetworkError(f"not a network: format is {found!r}, expected {FORMAT!r}")
    entries = document.get("nodes")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise NetworkError("not a network: 'nodes' must be a list of objects")
    for key in ("sizes", "indexes"):
        if not isinstance(document.get(key, {}), dict):
            raise NetworkError(f"not a network: {key!r} must be an object")
    given = document.get("given", document.get("held", []))  # "held" in older files
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise NetworkError("not a network: 'given' must be a list of names")
    reader = _Reader(entries)
    try:
        nodes = [reader.node(entry["name"], "the list") for entry in entries]
        observed = [node for node in nodes if isinstance(node, Observed)]
        network = Network(*observed, sizes=document.get("sizes", {}), order=document.get("order"),
                          given=given, above=bool(document.get("above", True)),
                          indexes=document.get("indexes"))  # fmt: skip
    except RecursionError:
        raise NetworkError("not a network: its expressions are nested too deeply") from None
    for node in nodes:
        if node.name not in network.declared:
            raise NetworkError(f"{node.name}: no observed node depends on it; remove it")
    return network


class _Reader:
    """Builds nodes on demand, so that their order in the file does not matter."""

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        names = [entry.get("name") for entry in entries]
        for name, entry in zip(names, entries, strict=True):
            if not isinstance(name, str):
                raise NetworkError(
                    f"a node of type {entry.get('type')!r} has the name {name!r}; give it a string"
                )
        self.entries: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in entries}
        if len(self.entries) < len(entries):
            twice = next(name for name in names if names.count(name) > 1)
            raise NetworkError(f"two nodes are called {twice!r}; rename one")
        self.built: dict[str, Node] = {}
        self.open: list[str] = []

    def node(self, name: Any, owner: str) -> Node:
        if not isinstance(name, str):
            raise NetworkError(f"{owner}: {name!r} is not the name of a node; give a string")
        if name in self.built:
            return self.built[name]
        if name in self.open:
            path = " → ".join([*self.open[self.open.index(name) :], name])
            raise NetworkError(f"the nodes form a cycle: {path}; use a Shift for a chain in time")
        if name not in self.entries:
            known = did_you_mean(name, self.entries)
            raise NetworkError(f"{owner}: there is no node {name!r}.{known}")
        self.open.append(name)
        fields = dict(self.entries[name])
        tag = fields.pop("type", None)
        types = node_types()
        if not isinstance(tag, str) or tag not in types:
            raise NetworkError(
                f"{name}: unknown node type {tag!r}.{did_you_mean(str(tag), types)} A type of "
                "another package must be installed and registered in the group pgbn.nodes; or "
                "import the module that defines it first"
            )
        fields.pop("name", None)
        slots = types[tag].slots()
        values = {k: self.value(v, name) if k in slots else v for k, v in fields.items()}
        self.built[name] = types[tag](name, **values)
        self.open.pop()
        return self.built[name]

    def value(self, value: Any, owner: str) -> Any:
        if isinstance(value, list):
            return tuple(self.value(part, owner) for part in value)
        if not isinstance(value, dict):
            return value
        if "node" in value:
            return self.node(value["node"], owner)
        tag, edges = value.get("edge"), _edges | edge_types()
        if not isinstance(tag, str) or tag not in edges:
            raise NetworkError(
                f"{owner}: unknown edge {tag!r}.{did_you_mean(str(tag), edges)} An edge of another "
                "package must be installed and registered in the group pgbn.nodes; or import the "
                "module that defines it first"
            )
        kind, fields = edges[tag], {k: v for k, v in value.items() if k != "edge"}
        if issubclass(kind, Edge):
            slots = kind.slots()
            fields = {k: self.value(v, owner) if k in slots else v for k, v in fields.items()}
        elif tag not in ("constant", "self", "rename", "categories"):
            fields = {k: self.value(v, owner) for k, v in fields.items()}
        if tag == "constant" and "value" in fields:
            fields["value"] = _decode_array(fields["value"])
        elif tag == "rename":
            fields["of"] = self.value(fields.get("of"), owner)
        try:
            return kind(**fields)
        except (ValidationError, TypeError) as error:
            raise NetworkError(f"{owner}: the edge {tag!r} is not complete: {error}") from None


# ---- networks as JSON in a folder ---------------------------------------------------------------


def _encode_network(network: Network) -> Parts:
    return Parts({"network": json.loads(network.to_json())})


def _decode_network(
    content: Mapping[str, Any],
    files: Files,
    /,
    *,
    threads: int | None = None,
    names: Sequence[str] | None = None,
) -> Network:
    return Network.from_json(json.dumps(content["network"]))


register_codec("network", Network, _encode_network, _decode_network)
