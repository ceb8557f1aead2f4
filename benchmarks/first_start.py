"""CPU seconds that a first `fit` and a first `transform` compile, with no kernel on disk.

    python -m benchmarks.first_start

The seconds go up with the load of the machine. The job beside them, ten small functions that use
numba alone, goes up with them: compare the ratios.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any, cast

_JOB = """
def function(a, n):
    total = 0.0
    for i in range(n):
        for j in range(a.shape[0]):
            if a[j] > {}:
                total += np.log(a[j]) * i
            else:
                total -= np.exp(a[j])
    return total + a[:n].sum()
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder  # read when numba is imported
        _measure()


def _measure() -> None:
    import numpy as np
    from scipy.sparse import csr_matrix

    import pgbn

    warnings.simplefilter("ignore")
    rows = csr_matrix(np.random.default_rng(0).poisson(0.3, (200, 300)))
    model = pgbn.PGBN(burn_in=3, collect=2, random_state=0)
    jobs = [_job()]
    fit = _compiling(lambda: model.fit(rows))
    transform = _compiling(lambda: model.transform(rows))
    jobs.append(_job())
    job = sum(jobs) / 2
    for name, (seconds, kernels) in {"fit": fit, "transform": transform}.items():
        print(f"{name}: {kernels} kernels, {seconds:.1f} CPU s, {seconds / job:.2f} jobs")
    print(f"one job: {jobs[0]:.1f} CPU s before, {jobs[1]:.1f} after")


def _job() -> float:
    """CPU seconds of the job."""
    import numba
    import numpy as np

    began = time.process_time()
    for number in range(10):
        names: dict[str, Any] = {"np": np}
        exec(_JOB.format(number), names)
        numba.njit(names["function"])(np.ones(3), 2)
    return time.process_time() - began


def _compiling(call: Callable[[], object]) -> tuple[float, int]:
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
    return watch.seconds, watch.kernels


if __name__ == "__main__":
    main()
