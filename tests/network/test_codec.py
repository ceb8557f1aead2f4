"""Networks in a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pgbn
from pgbn import Network, zoo
from pgbn.storage.archive import decode, encode


def test_a_network_is_its_json_and_no_arrays() -> None:
    network = zoo.pgbn([3, 2])
    kind, parts = encode(network)
    assert kind == "network"
    assert parts.content == {"network": json.loads(network.to_json())}
    assert parts.arrays == {}
    again = decode(kind, parts.content, lambda group: {})
    assert isinstance(again, Network)
    assert again.to_json() == network.to_json()


def test_a_saved_network_is_read_with_its_sizes_and_order(tmp_path: Path) -> None:
    network = zoo.pgbn([3, 2]).with_sizes(term=7)
    network = network.with_order(network.schedule.names)
    pgbn.save(network, tmp_path)
    again = pgbn.load(tmp_path)
    assert (again.sizes, again.order) == (network.sizes, network.order)


def test_a_content_that_is_no_network() -> None:
    with pytest.raises(pgbn.NetworkError, match="format is None"):
        decode("network", {"network": {}}, lambda group: {})
