"""Networks in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import pgbn
from pgbn import zoo
from pgbn.storage.archive import decode


def test_a_saved_network_is_read_with_its_sizes_and_order(tmp_path: Path) -> None:
    network = zoo.pgbn([3, 2]).with_sizes(term=7)
    network = network.with_order(network.schedule.names)
    pgbn.save(network, tmp_path)
    again = pgbn.load(tmp_path)
    assert (again.sizes, again.order) == (network.sizes, network.order)


def test_a_content_that_is_no_network() -> None:
    with pytest.raises(pgbn.NetworkError, match="format is None"):
        decode("network", {"network": {}}, lambda group: {})
