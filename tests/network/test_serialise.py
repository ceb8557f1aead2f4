"""Networks as JSON: they come back the same, and anything else is refused in words."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgbn import Constant, Gamma, Network, NetworkError, PgbnError, Poisson, zoo
from pgbn.extend import Mix
from tests.evidence.networks import networks
from tests.helpers.hostile import campaign, words

DATA = np.random.default_rng(0).poisson(1.0, (4, 3))


def every_edge() -> Network:
    """Constants with dims, Mix over a named dim, Rename, Sum, Product, numbers."""
    a = Gamma("a", Constant([[1.0, 2.0], [3.0, 4.0]], dims=("doc", "k")), 1, dims=("doc", "k"))
    b = Gamma("b", 1, 1, dims="z")
    mix = Mix(factors=(a.rename(k="z"), 2.0 * b), over="z")
    return Network(Poisson("x", mix + 0.25 + b.rename(z="term") / 3, dims=("doc", "term")))


@pytest.mark.parametrize("name", networks())
def test_round_trip(name: str) -> None:
    """What is read is the same network, and draws the same."""
    net, sizes = networks()[name]
    text = net.to_json()
    again = Network.from_json(text)
    assert again.to_json() == text
    assert str(again) == str(net)
    assert (again.sizes, again.order) == (net.sizes, net.order)
    assert again.schedule.names == net.schedule.names
    assert sorted(again.graph.edges) == sorted(net.graph.edges)
    assert json.loads(net.to_json(indent=None)) == json.loads(text)
    first, second = (each.generate(seed=3, sizes=sizes) for each in (net, again))
    assert all(np.array_equal(first[node], second[node]) for node in first)


def test_the_order_of_nodes_does_not_matter() -> None:
    document = json.loads(zoo.pgbn([2, 2]).to_json())
    document["nodes"].reverse()
    again = Network.from_json(json.dumps(document))
    assert again.to_json() == zoo.pgbn([2, 2]).to_json()


def changed(change: Callable[[dict[str, Any]], Any]) -> str:
    document = json.loads(every_edge().to_json())
    change(document)
    return json.dumps(document)


def node(document: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry for entry in document["nodes"] if entry["name"] == name)


def put(name: str, field: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: node(document, name).update({field: value})


BAD: dict[str, tuple[Callable[[dict[str, Any]], Any], list[str]]] = {
    "format": (lambda d: d.update(format="other/2"), ["'other/2'", "pgbn-network/1"]),
    "no format": (lambda d: d.pop("format"), ["format is None", "pgbn-network/1"]),
    "no nodes": (lambda d: d.pop("nodes"), ["'nodes' must be a list"]),
    "nodes": (lambda d: d.update(nodes={"a": 1}), ["'nodes' must be a list"]),
    "a node": (lambda d: d["nodes"].append(3), ["'nodes' must be a list of objects"]),
    "sizes": (lambda d: d.update(sizes=3), ["'sizes' must be an object"]),
    "size": (lambda d: d.update(sizes={"doc": "many"}), ["doc='many'", "positive integer"]),
    "unknown size": (lambda d: d.update(sizes={"dok": 1}), ["'dok'", "Did you mean 'doc'?"]),
    "order": (lambda d: d.update(order=3), ["order=3"]),
    "step": (lambda d: d.update(order=["other"]), ["'other'", "counts(x)"]),
    "unknown type": (put("a", "type", "gama"), ["a: unknown", "'gama'", "Did you mean 'gamma'?"]),
    "plug-in type": (put("a", "type", "my.type"), ["'my.type'", "installed", "pgbn.nodes"]),
    "no type": (lambda d: node(d, "a").pop("type"), ["a: unknown node type None"]),
    "type": (put("a", "type", ["gamma"]), ["a: unknown node type ['gamma']"]),
    "no name": (lambda d: node(d, "a").pop("name"), ["type 'gamma'", "name None", "string"]),
    "name": (put("a", "name", 3), ["type 'gamma'", "name 3", "string"]),
    "duplicate": (lambda d: d["nodes"].append(node(d, "a")), ["two nodes are called 'a'"]),
    "no slot": (lambda d: node(d, "a").pop("rate"), ["Gamma('a')", "rate", "missing"]),
    "unknown field": (put("a", "scale", 2), ["Gamma('a')", "scale", "not a parameter"]),
    "negative": (put("a", "rate", -2), ["Gamma('a')", "rate", "positive", "-2"]),
    "dims": (put("a", "dims", 3), ["Gamma('a')", "dims", "got 3"]),
    "parent": (put("a", "rate", {"node": "bb"}), ["a: there is no node 'bb'", "Did you mean 'b'"]),
    "parent not named": (put("a", "rate", {"node": 3}), ["a: 3 is not the name of a node"]),
    "cycle": (put("b", "rate", {"node": "x"}), ["cycle: b → x → b", "Shift"]),
    "own parent": (put("a", "rate", {"node": "a"}), ["cycle: a → a"]),
    "unknown edge": (
        put("a", "rate", {"edge": "some"}),
        ["a: unknown edge 'some'", "Known: categories, constant"],
    ),
    "no edge": (put("a", "rate", {}), ["a: unknown edge None"]),
    "edge": (put("a", "rate", {"edge": []}), ["a: unknown edge []"]),
    "half an edge": (put("a", "rate", {"edge": "rename"}), ["None"]),
    "constant": (put("a", "rate", {"edge": "constant"}), ["Constant: value", "missing"]),
    "self": (put("a", "rate", {"edge": "self", "names": 3}), ["Self", "names"]),
    "nothing depends": (
        lambda d: d["nodes"].append({"type": "gamma", "name": "lone", "shape": 1, "rate": 1}),
        ["lone", "remove it"],
    ),
    "no data": (lambda d: d.update(nodes=[]), ["at least one observed node"]),
}


@pytest.mark.parametrize("name", BAD)
def test_refused(name: str) -> None:
    change, words = BAD[name]
    with pytest.raises(NetworkError) as caught:
        Network.from_json(changed(change))
    for word in words:
        assert word in str(caught.value)


def nested(depth: int) -> str:
    inner = '{"edge": "sum", "terms": [' * depth + "1" + "]}" * depth
    return (
        '{"format": "pgbn-network/1", "nodes": [{"type": "poisson", "name": "x", "dims": [], '
        f'"rate": {inner}}}]}}'
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "null",
        "3",
        "[]",
        '"text"',
        '{"format": "pgbn-network/1"',
        b"\xff\xfe\x00",
        None,
        3,
        "[" * 100_000,
        '{"format": "pgbn-network/1", "nodes": ' + "[" * 50_000 + "]" * 50_000 + "}",
        nested(100_000),
        nested(2_000),
        nested(700),
        nested(400),
    ],
    ids=lambda text: f"{text!r:.30}",
)
def test_not_a_network(text: Any) -> None:
    with pytest.raises(NetworkError, match="not a network"):
        Network.from_json(text)


# ---- wrong values anywhere ----------------------------------------------------------------

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
WRONG = st.sampled_from([
    {"node": "x"}, {"node": None}, {"node": []}, {"edge": "mix"}, {"edge": {}}, {"edge": "self"},
    {"edge": "self", "names": {"a": {}}}, {"edge": "shift"}, {"edge": "sum", "terms": []},
    {"edge": "sum", "terms": [None]}, {"edge": "constant", "value": [[1], [1, 2]]},
    {"edge": "constant", "value": 1, "dims": 3}, {"edge": "constant", "value": {}},
    {"edge": "rename", "of": 1, "names": {}}, {"edge": "product", "factors": [{"edge": "self"}]},
    {"type": "gamma"}, 10**400, "\ud800", "theta1",
])  # fmt: skip


def paths(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    keys: Any = document if isinstance(document, dict) else ()
    for key in range(len(document)) if isinstance(document, list) else keys:
        yield from paths(document[key], (*path, key))


NAMES = ("pgbn, T=3, Algorithm 1", "pgds", "lda", "gated_pfa", "epm", "lookup: authors")
DOCUMENTS = [json.loads(net.to_json())
             for net in (every_edge(), *(networks()[name][0] for name in NAMES))]  # fmt: skip
PLACES = [(document, path) for document in DOCUMENTS for path in paths(document) if path]


def part(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


@campaign(200)
@given(values)
def test_json_that_is_no_network(value: Any) -> None:
    for text in (
        json.dumps(value),
        json.dumps({"format": "pgbn-network/1", "nodes": value}),
        value,
    ):
        with pytest.raises(NetworkError):
            Network.from_json(text)


@campaign(1500)
@given(st.sampled_from(PLACES), values | WRONG | st.sampled_from(PLACES))
def test_networks_with_a_wrong_part(place: Any, value: Any) -> None:
    """A part replaced by a wrong value, or by another part: an error in words, or a network that is
    written and read again, and runs."""
    document, path = place
    wrong = copy.deepcopy(document)
    part(wrong, path[:-1])[path[-1]] = part(*value) if isinstance(value, tuple) else value
    with contextlib.suppress(PgbnError):
        net = Network.from_json(json.dumps(wrong))
        assert Network.from_json(net.to_json()).to_json() == net.to_json()
        net.chain(dict.fromkeys(net.observed, DATA), threads=1).sweep(2)
