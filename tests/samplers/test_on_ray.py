"""Workers of a real, local Ray: the bits of threads, and what is done about those that are lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.cli.sampling import spread_over
from pgbn.samplers import on_ray
from pgbn.storage.archive import read_manifest
from tests.engine.shards.test_driver import CASES, assert_same, everything

ray = pytest.importorskip("ray", reason="no wheels of ray for this machine: see the extra `test`")

BYTES = 80 * 2**20


@pytest.fixture(scope="module")
def executor() -> Iterator[pgbn.Ray]:
    """One Ray, and three workers, for all tests."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    before = signal.getsignal(signal.SIGTERM)
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
             object_store_memory=BYTES)  # fmt: skip
    signal.signal(signal.SIGTERM, before)  # which Ray took for itself, from all tests that follow
    made = pgbn.Ray(workers=3, timeout=120)
    made.worker_pool()
    yield made
    made.close()
    ray.shutdown()


@pytest.fixture
def pool(executor: pgbn.Ray) -> Iterator[on_ray.RayPool]:
    """The workers, of which a test may use fewer, or wait for them a shorter time."""
    found = executor.worker_pool()
    yield found
    found.number, found.timeout, found.commit = 3, 120.0, 1


@pytest.mark.parametrize("name", ["partial", "author_topic"])
def test_the_bits_are_those_of_threads_and_of_disk(
    name: str, executor: pgbn.Ray, pool: on_ray.RayPool, tmp_path: Path
) -> None:
    network, sampler, data = CASES[name]
    expected = everything(network.chain(data, sampler=sampler, threads=2).sweep(2))
    disk = pgbn.Disk(tmp_path, memory="1MB")
    assert_same(everything(network.chain(data, sampler=sampler, executor=disk).sweep(2)), expected)
    for workers in (1, 2, 3):
        pool.number = workers
        chain = network.chain(data, sampler=sampler, executor=executor).sweep(2)
        shards = chain._program.shards
        assert shards is not None
        assert len(shards.edges) == workers
        assert_same(everything(chain), expected)


def _kill_later(pool: on_ray.RayPool, moments: random.Random, seconds: float) -> threading.Thread:
    """End one of the workers within so many seconds, by a signal that nobody can catch."""

    def kill() -> None:
        time.sleep(moments.uniform(0.0, seconds))
        os.kill(pool._places[moments.randrange(pool.number)][1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("kills", "commit"),
    [(2, 3), *(pytest.param(10, commit, marks=pytest.mark.long) for commit in (1, 5))],
)
def test_killed_workers_are_replaced(
    kills: int, commit: int, executor: pgbn.Ray, pool: on_ray.RayPool, tmp_path: Path
) -> None:
    """Each kill falls into sweeps or, now and then, into a checkpoint that the workers write."""
    network, sampler, data = CASES["partial"]
    pool.commit, moments, sweeps, folder = commit, random.Random(commit), 4, tmp_path / "chain"
    before = sum(pool.age(worker) for worker in range(3))
    chain = network.chain(data, sampler=sampler, executor=executor)
    for _ in range(kills):
        began = time.perf_counter()
        chain.sweep(sweeps)
        seconds = time.perf_counter() - began
        thread = _kill_later(pool, moments, min(seconds, 1.0))
        chain.sweep(sweeps)
        pgbn.save(chain, folder)
        thread.join()
    found = everything(chain)
    assert len(read_manifest(folder)["parts"]["state"]["files"]) == 3
    assert_same(everything(pgbn.load(folder, threads=1)), found)
    assert sum(pool.age(worker) for worker in range(3)) - before == kills
    threads = network.chain(data, sampler=sampler, threads=1).sweep(2 * sweeps * kills)
    assert_same(found, everything(threads))


def test_a_worker_that_hangs_is_replaced(executor: pgbn.Ray, pool: on_ray.RayPool) -> None:
    network, sampler, data = CASES["lda"]
    chain = network.chain(data, sampler=sampler, executor=executor).sweep(1)
    pool.timeout = 3.0
    process = pool._places[2][1]
    os.kill(process, signal.SIGSTOP)
    thread = threading.Timer(4.0, setattr, (pool, "timeout", 120.0))  # a new one may take longer
    thread.start()
    chain.sweep(1)
    thread.join()
    assert pool._places[2][1] != process
    assert_same(
        everything(chain), everything(network.chain(data, sampler=sampler, threads=1).sweep(2))
    )


def test_one_that_always_hangs_is_named(executor: pgbn.Ray, pool: on_ray.RayPool) -> None:
    network, sampler, data = CASES["lda"]
    chain = network.chain(data, sampler=sampler, executor=executor)
    pool.timeout = 1e-6
    with pytest.raises(
        pgbn.PgbnError, match=r"worker \d.*(within timeout=1e-06|it did not start|it died)"
    ):
        chain.sweep(3)


def _fail(state: dict[str, Any]) -> None:
    raise pgbn.DataError("a word")


class _Unreadable:
    """As a network whose node type is registered in the driver alone."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _unknown, ()


def _unknown() -> None:
    raise pgbn.NetworkError("theta: unknown node type 'own'")


def _do_nothing(state: dict[str, Any], value: Any) -> None:
    pass


def test_errors_of_workers_are_those_of_the_driver(pool: on_ray.RayPool) -> None:
    """So is what a worker cannot read."""
    ticket = pool.ask(0, _fail)
    with pytest.raises(pgbn.DataError, match=r"^a word$"):
        pool.answer(0, ticket)
    ticket = pool.ask(0, _do_nothing, pool.share(_Unreadable()))
    with pytest.raises(pgbn.PgbnError, match=r"worker 0 could not read .*unknown node type 'own'"):
        pool.answer(0, ticket)


def test_more_workers_than_cores_are_refused(executor: pgbn.Ray) -> None:
    with pytest.raises(pgbn.DataError, match=r"9 workers of 1 threads.*4 cores; give workers=4"):
        pgbn.Ray(workers=9, address="auto").worker_pool()


def test_the_command_line_names_workers_or_an_address() -> None:
    assert spread_over(None, 2) is None
    assert repr(spread_over("3", None)) == "Ray(workers=3)"
    assert "address='auto'" in repr(spread_over("auto", None))
    with pytest.raises(pgbn.DataError, match="give one of them"):
        spread_over("3", 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"workers": 0}, "Ray: workers"),
        ({"threads": 0}, "Ray: threads"),
        ({"commit": 0}, "Ray: commit"),
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": "long"}, "timeout='long'"),
        ({"timeout": 10**400}, "timeout=1000"),
        ({"workers": 10**6}, "workers=1000000.*fewer"),
        ({"address": 4}, "address=4"),
    ],
)
def test_wrong_arguments(
    arguments: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(pgbn.DataError, match=words):
        pgbn.Ray(**arguments)
    monkeypatch.setattr(on_ray, "find_spec", lambda name: None)
    with pytest.raises(pgbn.DataError, match=r"pip install pgbn\[ray\]"):
        pgbn.Ray(workers=2)


def _pool(**functions: Any) -> on_ray.RayPool:
    """A pool that has not begun, on a Ray that has these functions alone."""
    pool = on_ray.RayPool.__new__(on_ray.RayPool)
    pool.number, pool.threads, pool.ray = 1, 1, SimpleNamespace(**functions)
    return pool


@pytest.mark.parametrize(
    ("address", "errors", "starts", "begun"),
    [
        (None, [], ["local"], True),  # it joins no other program's
        ("auto", [], ["auto"], True),
        (None, ["timed out", "timed out"], ["local"] * 3, True),  # a busy machine
        (None, ["timed out"] * 3, ["local"] * 3, False),
        (None, ["no room"], ["local"], False),
        ("auto", ["timed out"], ["auto"], False),
    ],
)
def test_how_it_begins(
    address: str | None, errors: list[str], starts: list[str], begun: bool
) -> None:
    calls: list[str] = []

    def init(where: str, **options: Any) -> None:
        calls.append(where)
        if len(calls) <= len(errors):
            raise RuntimeError(errors[len(calls) - 1])

    pool = _pool(init=init, shutdown=lambda: None)
    if begun:
        pool._begin(address)
    else:
        with pytest.raises(pgbn.DataError, match=errors[0]):
            pool._begin(address)
    assert calls == starts


def test_signals_are_as_they_were_when_it_has_begun() -> None:
    """Ray handles SIGTERM by an exit, and what it starts does not hear that a terminal closes."""
    seen: list[Any] = []

    def init(where: str, **options: Any) -> None:
        seen.append(signal.getsignal(signal.SIGHUP))
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))

    def mine(number: int, frame: Any) -> None:
        seen.append(number)

    before = {number: signal.signal(number, mine) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        _pool(init=init)._begin(None)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert seen == [signal.SIG_IGN, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.long
def test_ray_that_was_shut_down_does_not_begin_anew(tmp_path: Path) -> None:
    """In a process of its own: the chain, the workers and the program end after Ray."""
    program = (
        "import ray, pgbn, numpy as np\n"
        "x = np.ones((300, 3), int)\n"
        "executor = pgbn.Ray(workers=1)\n"
        "chain = pgbn.zoo.pfa(2).chain({'x': x}, sampler='partial', executor=executor)\n"
        "ray.shutdown()\n"
        "try:\n"
        "    chain.sweep()\n"
        "except pgbn.PgbnError as error:\n"
        "    print(error)\n"
        "del chain\n"
        "executor.close()\n"
        "print(ray.is_initialized())\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                         timeout=300)  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "Ray was shut down" in run.stdout
    assert "continue from the last checkpoint" in run.stdout
    assert run.stdout.endswith("False\n")
    assert "Started a local Ray" not in run.stderr


_RAYLET = """
import os, signal, time
from pathlib import Path
import numpy as np, pgbn
chain = pgbn.zoo.pfa(2).chain({"x": np.ones((300, 3), int)}, sampler="partial",
                              executor=pgbn.Ray(workers=1))
children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
own = [p for p in children if Path(f"/proc/{p}/comm").read_text().strip() == "raylet"]
os.kill(int(own[0]), signal.SIGKILL)
try:
    chain.sweep(100)
except pgbn.PgbnError as error:
    print(error)
time.sleep(20)  # after which Ray marks the machine as dead
print("the driver lives")
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the test finds the raylet in /proc")
def test_a_driver_outlives_its_raylet() -> None:
    """In a process of its own, which Ray would end with exit code 1."""
    run = subprocess.run([sys.executable, "-c", _RAYLET], capture_output=True, text=True,
                         timeout=300)  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "its process on this machine has ended; continue from the last" in run.stdout
    assert run.stdout.endswith("the driver lives\n")


# ---- a cluster of two machines, which are two raylets here ----


@pytest.fixture
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    sizes = {"num_cpus": 2, "object_store_memory": BYTES}
    made = Cluster(initialize_head=True, head_node_args={**sizes, "include_dashboard": False})
    made.second = made.add_node(**sizes)
    made.wait_for_nodes()
    ray.init(made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.mark.long
@pytest.mark.parametrize("name", ["partial", "blocked"])
def test_two_machines_give_the_bits_of_threads(name: str, cluster: Any, tmp_path: Path) -> None:
    network, sampler, data = CASES[name]
    executor = pgbn.Ray(workers=2, address=cluster.address, timeout=300)
    pool = executor.worker_pool()
    assert len({node for node, _ in pool._places}) == 2  # one on each
    chain = network.chain(data, sampler=sampler, executor=executor).sweep(3)
    pgbn.save(chain, tmp_path / "chain")
    assert len(read_manifest(tmp_path / "chain")["parts"]["state"]["files"]) == 2
    expected = network.chain(data, sampler=sampler, threads=1).sweep(3)
    assert_same(everything(pgbn.load(tmp_path / "chain", threads=1)), everything(expected))
    assert_same(everything(chain), everything(expected))
    executor.close()


@pytest.mark.long
def test_a_machine_that_is_lost(cluster: Any, tmp_path: Path) -> None:
    """Small commits are with the driver, and the run goes on with new workers; large ones were left
    on the machine: an error says so, and the run goes on from its last checkpoint. The bits are the
    same."""
    network, sampler, data = CASES["partial"]
    options: dict[str, Any] = {"burn_in": 4, "draws": 6, "keep": ["theta1", "r"], "progress": False}
    whole = network.sample(data, sampler=sampler, threads=1, **options)
    executor = pgbn.Ray(workers=2, address=cluster.address, timeout=300)

    def lose(event: Any) -> None:
        if event.done == 5:
            cluster.remove_node(cluster.second)

    try:
        found = network.sample(data, sampler=sampler, executor=executor, save=tmp_path / "run",
                               minutes=0, callback=lose, **options)  # fmt: skip
    except pgbn.PgbnError as error:
        if "lost with its machine; continue from the last checkpoint" not in str(error):
            raise
        again = pgbn.Ray(workers=2, address=cluster.address, timeout=300)
        found = pgbn.resume(tmp_path / "run", executor=again, progress=False)
    for name in whole:
        assert np.array_equal(found[name], whole[name]), name
