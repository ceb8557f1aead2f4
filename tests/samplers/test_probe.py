"""Kernels are compiled by plain numba wherever the linked way fails, with bit-identical results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import CodeType

import pytest

from tests.campaign.renamed import NUMBA, ROOT, sample

# The linked way compiles another function in place of the one that is tried.
WRONG = """from pgbn.samplers import linked
    link = linked.link
    def wrong(function, options):
        tried = function is probe._probed.py_func
        return link((lambda numbers, factor: 1.0) if tried else function, options)
    linked.link = wrong"""


@pytest.fixture(scope="module")
def expected() -> str:
    """The hash of the chain by linked kernels."""
    bits, ways, said = sample()
    assert ways == "True True"
    assert said == str(NUMBA / "__init__.py")
    return bits


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A folder with plain kernels: a failing linked kernel is tried, and those are then read."""
    where = {"NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("kernels"))}
    sample(PGBN_PLAIN_NUMBA="1", **where)
    return where


def test_a_variable_chooses_plain_numba(expected: str, cache: dict[str, str]) -> None:
    assert sample(PGBN_PLAIN_NUMBA="1", **cache) == [expected, "False True", f"{NUMBA}/__init__.py"]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (WRONG, "ArithmeticError: a kernel computed 1.0"),
        ("import sys; sys.modules['pgbn.samplers.linked'] = None", "ModuleNotFoundError"),
    ],
)
def test_a_wrong_result_or_no_module(
    broken: str, reason: str, expected: str, cache: dict[str, str]
) -> None:
    bits, ways, said = sample(broken=broken, **cache)
    assert (bits, ways) == (expected, "False True")
    assert said.count("kernels are compiled by plain numba. Results are bit-identical") == 1
    assert reason in said


REACHED = """
import sys
reached = set()
def of_linked(frame, event, argument):
    reached.add(frame.f_lineno)
    return of_linked
def trace(frame, event, argument):
    return of_linked if frame.f_code.co_filename.endswith("linked.py") else None
sys.settrace(trace)
from pgbn.samplers import compiled
assert compiled.way().linked
sys.settrace(None)
print(*reached)
"""


def lines_of(code: CodeType) -> set[int]:
    """The lines of the functions that stand in some code, but for those about Ctrl-C."""
    inside = [each for each in code.co_consts if isinstance(each, CodeType)]
    own = {line for _, _, line in code.co_lines() if line} - {code.co_firstlineno}
    return own.union(*(lines_of(each) for each in inside if each.co_name != "uninterrupted"))


def test_the_probe_reaches_every_line_that_uses_private_parts(tmp_path: Path) -> None:
    """What it does not reach could fail later, in the middle of a sample."""
    done = subprocess.run(
        [sys.executable, "-c", REACHED], env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    source = ROOT / "pgbn" / "samplers" / "linked.py"
    missed = lines_of(compile(source.read_text("utf-8"), "", "exec")) - set(
        map(int, done.stdout.split())
    )
    text = source.read_text("utf-8").splitlines()
    assert [text[line - 1] for line in sorted(missed)] == []
