"""Where a checkpoint was written, and whether the chain goes on there with the same bits.

The kernels draw the same bits on every processor and with every library (see
`pgbn.samplers.elementary`).
What else a chain depends on: the version of pgbn, whose laws may be computed otherwise; and sums
by numpy's einsum in networks without a kernel of their own, which another kind of machine may
round otherwise.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from pgbn.samplers.from_numba import binding, numba
from pgbn.versions import __version__

__all__ = ["another_machine", "this_machine"]

_DECISIVE = ("pgbn", "machine")


@cache
def this_machine() -> Mapping[str, str]:
    """Versions, kind of machine, processor and C library, as a checkpoint records them.

    They are those that run: files that tell them may be replaced, or gone, before training ends.
    """
    return {
        "pgbn": __version__,
        "machine": platform.machine(),
        "processor": binding.get_host_cpu_name(),
        "libc": " ".join(platform.libc_ver()),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def another_machine(recorded: Any) -> str:
    """How this machine differs from the recorded one in what may change bits, in words; empty if
    it does not, or if nothing was recorded."""
    if not isinstance(recorded, Mapping):
        return ""
    here = this_machine()
    return ", ".join(
        f"{name} was {recorded[name]!r:.40} and is {here[name]!r}"
        for name in _DECISIVE
        if recorded.get(name, here[name]) != here[name]
    )
