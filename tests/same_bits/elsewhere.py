"""Cases in a process that believes to be on another machine: ``python -m tests.same_bits.elsewhere
PREFIX …`` prints the hashes of the cases whose names begin so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["MACHINES", "hashes_on", "main"]

_NO_FMA = "glibc.cpu.hwcaps=-AVX2_Usable,-FMA_Usable,-AVX2,-FMA,-FMA4,-AVX512F"
_NO_VECTORS = "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX X86_V3 X86_V4"
MACHINES: dict[str, Mapping[str, str]] = {
    "generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "haswell": {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": ""},
    # numpy's own functions, the C library's and the BLAS as an old processor has them
    "old libraries": {
        "NPY_DISABLE_CPU_FEATURES": _NO_VECTORS,
        "GLIBC_TUNABLES": _NO_FMA,
        "OPENBLAS_CORETYPE": "Nehalem",
    },
    # kernels by numba.njit alone, as where its private parts are not those that pgbn uses
    "plain numba": {"PGBN_PLAIN_NUMBA": "1"},
}


def hashes_on(name: str, prefixes: Sequence[str], cache: Path) -> dict[str, str]:
    """The hashes of some cases on a machine of the table; kernels for it are kept in ``cache``."""
    machine = dict(MACHINES[name])
    if "NUMBA_CPU_NAME" in machine:
        machine["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-W", "ignore", "-m", "tests.same_bits.elsewhere", *prefixes]
    done = subprocess.run(command, env={**os.environ, **machine}, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main(prefixes: Sequence[str]) -> None:
    """Print the hashes, of one thread, as JSON."""
    from .cases import CASES
    from .digest import digest

    chosen = [case for case in CASES.values() if case.name.startswith(tuple(prefixes))]
    print(json.dumps({case.name: digest(case.run(1)) for case in chosen}))


if __name__ == "__main__":
    main(sys.argv[1:])
