"""What a new user waits for: `pgbn warm` compiles it all, and no kernel for two kinds of arguments."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_USE = """
import gc, json, warnings
import numpy as np
from scipy.sparse import csr_matrix
import pgbn
from pgbn.samplers.compiled import Kernel

warnings.simplefilter("ignore")
rows = csr_matrix(np.random.default_rng(0).poisson(0.3, (200, 300)))
model = pgbn.PGBN(burn_in=8, sweeps=4, random_state=0).fit(rows)
model.transform(rows)
pgbn.zoo.pfa(4).sample({"x": rows}, burn_in=2, draws=2, seed=0, sampler="composed", progress=False)
used = [each.dispatcher for each in gc.get_objects()
        if isinstance(each, Kernel) and "dispatcher" in vars(each)]
print(json.dumps({
    each.__qualname__: [len(each.signatures), sum(each.stats.cache_misses.values())]
    for each in used if each.signatures
}))
"""


@pytest.fixture(scope="module")
def kernels() -> dict[str, list[int]]:
    """By the kernels that a fit, a transform and a sample use after `pgbn warm`: for how many kinds
    of arguments, and how many of these were not on disk."""
    for command in (["-W", "error", "-m", "pgbn", "warm"], ["-c", _USE]):
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    found: dict[str, list[int]] = json.loads(done.stdout)
    assert len(found) > 15
    return found


def test_all_is_compiled_before(kernels: dict[str, list[int]]) -> None:
    assert [name for name, (_, compiled) in kernels.items() if compiled] == []


def test_no_kernel_is_compiled_twice(kernels: dict[str, list[int]]) -> None:
    """A second kind of arguments is time that every new user waits."""
    assert [name for name, (kinds, _) in kernels.items() if kinds > 1] == []
