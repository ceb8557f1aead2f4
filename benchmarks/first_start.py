"""CPU seconds that a first `fit` and a first `transform` compile, with no kernel on disk.

    python -m benchmarks.first_start [--rounds 2]

Each round is a process with the kernels of pgbn and one with kernels by plain `numba.njit`. The
seconds go up with the load of the machine: compare the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any, cast


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(_measure()))
        return
    rounds = [(_in_a_process(plain="0"), _in_a_process(plain="1")) for _ in range(chosen.rounds)]
    for name in ("fit", "transform"):
        ours, plain = ([each[i][name]["seconds"] for each in rounds] for i in (0, 1))
        ratio = median(a / b for a, b in zip(ours, plain, strict=True))
        kernels = rounds[0][0][name]["kernels"]
        print(f"{name}: {kernels} kernels, CPU s {_shown(ours)}; plain numba {_shown(plain)}; "
              f"ratio {ratio:.2f}")  # fmt: skip


def _shown(seconds: list[float]) -> str:
    return ", ".join(f"{each:.1f}" for each in seconds)


def _in_a_process(plain: str) -> Any:
    """What a new process measures that finds no kernel on disk."""
    with tempfile.TemporaryDirectory() as folder:
        known = {**os.environ, "NUMBA_CACHE_DIR": folder, "PGBN_PLAIN_NUMBA": plain}
        command = [sys.executable, "-m", "benchmarks.first_start", "--measure"]
        done = subprocess.run(command, env=known, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _measure() -> dict[str, dict[str, float]]:
    import numpy as np
    from scipy.sparse import csr_matrix

    import pgbn

    warnings.simplefilter("ignore")
    rows = csr_matrix(np.random.default_rng(0).poisson(0.3, (200, 300)))
    model = pgbn.PGBN(burn_in=3, sweeps=2, random_state=0)
    return {
        "fit": _compiling(lambda: model.fit(rows)),
        "transform": _compiling(lambda: model.transform(rows)),
    }


def _compiling(call: Callable[[], object]) -> dict[str, float]:
    """CPU seconds that the call compiles, and how many kernels; what they call is part of them."""
    from numba.core import event

    class Watch(event.Listener):  # type: ignore[misc, unused-ignore]
        depth, seconds, kernels, began = 0, 0.0, 0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.began = time.process_time()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.process_time() - self.began
                self.kernels += 1

    watch = Watch()
    with cast(Any, event).install_listener("numba:compile", watch):
        call()
    return {"seconds": watch.seconds, "kernels": watch.kernels}


if __name__ == "__main__":
    main()
