"""The matrix network × sampler × executor, and the joint-distribution test of an entry of it."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pgbn import Chain
from pgbn.samplers.disk import Disk
from pgbn.samplers.executor import Threads
from pgbn.testing import GewekeResult
from pgbn.testing.geweke import joint_test
from tests.helpers.first_layers import samplers_of_network
from tests.helpers.own_executor import Backwards

from .networks import networks

__all__ = ["EXECUTORS", "MOST", "Entry", "entries", "examine", "sample"]

MOST = 4.0  # |z|
EXECUTORS: dict[str, Callable[[str], Any]] = {
    "threads": lambda folder: Threads(2),
    "disk": lambda folder: Disk(folder, memory="4 MB", threads=1),
    "own": lambda folder: Backwards(),
}


@dataclass(frozen=True)
class Entry:
    """A cell of the matrix."""

    network: str
    sampler: str
    executor: str

    def __str__(self) -> str:
        return f"{self.network} | {self.sampler} | {self.executor}"

    @property
    def seed(self) -> int:
        """The same in every run, another one for each entry."""
        return zlib.crc32(str(self).encode())


def entries() -> list[Entry]:
    """Every network with every sampler that serves it, on every executor.

    "general" takes the general rules for the first layer alone, "composed" everywhere."""
    out = []
    for name, (network, _) in networks().items():
        *kernels, composed = samplers_of_network(network)
        samplers = (*kernels, "general", composed)
        out += [Entry(name, sampler, how) for sampler in samplers for how in EXECUTORS]
    return out


def sample(rotation: int) -> list[Entry]:
    """One entry of every network; in as many rotations as it has entries, each has its turn."""
    by_network: dict[str, list[Entry]] = {}
    for entry in entries():
        by_network.setdefault(entry.network, []).append(entry)
    return [of[(rotation + place) % len(of)] for place, of in enumerate(by_network.values())]


def examine(entry: Entry, replicates: int, sweeps: int) -> GewekeResult:
    """The z-scores of an entry. What exceeds |z| 4 by chance does so once: it is repeated with
    another seed and four times the replicates, and that result counts."""
    result = _joint(entry, replicates, sweeps, entry.seed)
    if result.worst < MOST:
        return result
    return _joint(entry, 4 * replicates, sweeps, entry.seed + 1)


def _joint(entry: Entry, replicates: int, sweeps: int, seed: int) -> GewekeResult:
    network, sizes = networks()[entry.network]
    with tempfile.TemporaryDirectory() as folder:
        executor = EXECUTORS[entry.executor](folder)
        chain = Chain._replicated(
            network, sizes, replicates, seed, entry.sampler, executor=executor
        )
        return joint_test(chain, sweeps)
