"""A numba of which a private name is another one: the chains are bit-identical.

The names are those by which `pgbn.samplers.linked` and the files of kernels reach into numba. A copy of
numba, of which one is renamed throughout, stands for a version that we do not know.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba

import pgbn

__all__ = ["FURTHER", "URGENT", "Renamed", "renamed_numba", "sample"]

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


class Renamed:
    """One of the names; the copies keep their kernels in a folder of their own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.expected = sample()[0]
        self.cache = {"NUMBA_CACHE_DIR": str(place / "kernels")}
        sample(PGBN_PLAIN_NUMBA="1", **self.cache)

    def run(self, number: int) -> None:
        names = [*URGENT, *FURTHER]
        name = names[number % len(names)]
        copy = self.place / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        renamed_numba(name, copy)
        bits, ways, said = sample(copy, **self.cache)
        assert bits == self.expected
        assert said.startswith(str(copy))  # the copy was used
        assert ("is not built as pgbn expects" in said) == (ways != "True True")
        assert name not in URGENT or ways != "True True"
