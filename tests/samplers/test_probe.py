"""Kernels are compiled by plain numba wherever the linked way fails, with bit-identical results."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import CodeType

import numba
import pytest

import pgbn

NUMBA = Path(numba.__file__).parent
ROOT = Path(pgbn.__file__).parent.parent

SAMPLE = """
import hashlib, warnings
import numpy as np
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import numba, pgbn
    from pgbn.samplers import compiled, probe
    BREAK
    rate = pgbn.Gamma("rate", 1.0, 1.0)
    net = pgbn.Network(pgbn.Poisson("x", rate, dims="row"))
    draws = net.sample({"x": np.array([0, 3, 1, 4])}, burn_in=1, draws=3, seed=1)
print(hashlib.sha256(np.asarray(draws["rate"]).tobytes()).hexdigest())
print(*compiled.way())
print(numba.__file__, *(each.message for each in said if "plain numba" in str(each.message)))
"""

# The linked way compiles another function in place of the one that is tried.
WRONG = """from pgbn.samplers import linked
    link = linked.link
    def wrong(function, options):
        tried = function is probe._probed.py_func
        return link((lambda numbers, factor: 1.0) if tried else function, options)
    linked.link = wrong"""

# The private names of numba by which the linked way and the files of kernels reach into it.
URGENT = ["define_nopython_lowering_pipeline", "insert_user_function", "_source_stamp"]
FURTHER = [
    "AttributeTemplate", "BaseNamedTuple", "CPUDispatcher", "CompilerBase", "DefaultPassBuilder",
    "JITCodeLibrary", "NativeLowering", "PassManager", "_cache_file", "_dump",
    "_finalized", "_linking_libraries", "add_overload", "add_pass", "define_typed_pipeline",
    "define_untyped_pipeline", "enable_object_caching", "fndesc", "func_id", "func_qualname",
    "generic_resolve", "infer_getattr", "install_listener", "load_overload", "lower_getattr_generic",
    "no_cfunc_wrapper", "no_compile", "no_cpython_wrapper", "register_pass", "run_pass",
    "save_overload", "targetctx", "targetoptions",
]  # fmt: skip


def sample(numba_in: Path | None = None, broken: str = "", **variables: str) -> list[str]:
    """The hash of a tiny chain, the way of its kernels, and what was said of it."""
    before = [] if numba_in is None else [str(numba_in)]
    variables["PYTHONPATH"] = os.pathsep.join([*before, str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", SAMPLE.replace("BREAK", broken)],
        env={**os.environ, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def renamed_numba(name: str, place: Path) -> None:
    """A copy of numba in which a name is another one throughout."""
    shutil.copytree(
        NUMBA, place / "numba", copy_function=os.symlink,
        ignore=shutil.ignore_patterns("__pycache__", "tests", "cuda"),
    )  # fmt: skip
    word = re.compile(rf"\b{name}\b")
    for path in place.rglob("*.py"):
        text = path.read_text("utf-8")
        if word.search(text):
            path.unlink()
            path.write_text(word.sub(f"{name}_renamed", text), "utf-8")


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
    "name", [*URGENT, *(pytest.param(name, marks=pytest.mark.long) for name in FURTHER)]
)
def test_a_numba_with_another_name_inside(
    name: str, expected: str, cache: dict[str, str], tmp_path: Path
) -> None:
    renamed_numba(name, tmp_path)
    bits, ways, said = sample(tmp_path, **cache)
    assert bits == expected
    assert said.startswith(str(tmp_path))  # the copy was used
    assert ("is not built as pgbn expects" in said) == (ways != "True True")
    assert name not in URGENT or ways != "True True"


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
