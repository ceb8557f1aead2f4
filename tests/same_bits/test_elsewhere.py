"""What is drawn has the same bits on a generic processor, on one with fused products, and on this
one, whatever vectors numpy, the C library and the BLAS use, and with kernels by plain numba."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from .cases import CASES
from .elsewhere import MACHINES, hashes_on
from .record import read

RECORD = read()["hashes"]
EVERYWHERE = [name for name, case in CASES.items() if case.everywhere]
# few kernels to compile: every variate, and a network by its composed rules
FEW = ["vectorised/gamma", "vectorised/crt", "vectorised/dirichlet", "vectorised/bessel"]
TRAINED = ["train/poisson"]

x86 = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="these processors are x86-64's"
)


@x86
@pytest.mark.parametrize(
    "machine", [pytest.param("generic", marks=pytest.mark.long), "old libraries", "plain numba"]
)
def test_variates(machine: str, tmp_path: Path) -> None:
    found = hashes_on(machine, FEW, tmp_path)
    assert len(found) >= len(FEW)
    assert found == {name: RECORD[name] for name in found}


@x86
@pytest.mark.parametrize(
    "machine",
    [
        "generic",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("haswell", "plain numba")),
    ],
)
def test_a_training_of_three_layers(machine: str, tmp_path: Path) -> None:
    assert hashes_on(machine, TRAINED, tmp_path) == {name: RECORD[name] for name in TRAINED}


def test_networks_by_plain_numba(tmp_path: Path) -> None:
    names = ["chain/small pgbn poisson 1/collapsed", "chain/own background/blocked"]
    assert hashes_on("plain numba", names, tmp_path) == {name: RECORD[name] for name in names}


@x86
@pytest.mark.long
@pytest.mark.parametrize("machine", MACHINES)
def test_everything(machine: str, tmp_path: Path) -> None:
    found = hashes_on(machine, EVERYWHERE, tmp_path)
    assert set(EVERYWHERE) <= set(found)
    assert {name for name in found if found[name] != RECORD[name]} == set()
