"""A cluster of two machines, which are two raylets here: the bits of threads, and a machine that
is lost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.storage.archive import read_manifest
from tests.engine.shards.test_driver import CASES, assert_same, everything

ray = pytest.importorskip("ray", reason="no wheels of ray for this machine: see the extra `test`")

pytestmark = pytest.mark.long


@pytest.fixture
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    sizes = {"num_cpus": 2, "object_store_memory": 80 * 2**20}
    made = Cluster(initialize_head=True, head_node_args={**sizes, "include_dashboard": False})
    made.second = made.add_node(**sizes)
    made.wait_for_nodes()
    ray.init(made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.mark.parametrize("name", ["partial", "blocked"])
def test_two_machines_give_the_bits_of_threads(name: str, cluster: Any, tmp_path: Path) -> None:
    network, layer1, data = CASES[name]
    executor = pgbn.Ray(workers=2, address=cluster.address, timeout=300)
    pool = executor.worker_pool()
    assert len({node for node, _ in pool._places}) == 2  # one on each
    chain = network.chain(data, layer1=layer1, executor=executor).sweep(3)
    pgbn.save(chain, tmp_path / "chain")
    assert len(read_manifest(tmp_path / "chain")["parts"]["state"]["files"]) == 2
    expected = network.chain(data, layer1=layer1, threads=1).sweep(3)
    assert_same(everything(pgbn.load(tmp_path / "chain", threads=1)), everything(expected))
    assert_same(everything(chain), everything(expected))
    executor.close()


def test_a_machine_that_is_lost(cluster: Any, tmp_path: Path) -> None:
    """Small commits are with the driver, and the run goes on with new workers; large ones were left
    on the machine: an error says so, and the run goes on from its last checkpoint. The bits are the
    same."""
    network, layer1, data = CASES["partial"]
    options: dict[str, Any] = {"burn_in": 4, "draws": 6, "keep": ["theta1", "r"], "progress": False}
    whole = network.sample(data, layer1=layer1, threads=1, **options)
    executor = pgbn.Ray(workers=2, address=cluster.address, timeout=300)

    def lose(event: Any) -> None:
        if event.done == 5:
            cluster.remove_node(cluster.second)

    try:
        found = network.sample(data, layer1=layer1, executor=executor, save=tmp_path / "run",
                               minutes=0, callback=lose, **options)  # fmt: skip
    except pgbn.PgbnError as error:
        if "lost with its machine; continue from the last checkpoint" not in str(error):
            raise
        again = pgbn.Ray(workers=2, address=cluster.address, timeout=300)
        found = pgbn.resume(tmp_path / "run", executor=again, progress=False)
    for name in whole:
        assert np.array_equal(found[name], whole[name]), name
