"""What the last bits of a result depend on besides the program: processor and libraries."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path

import llvmlite
import numba
import numpy
import scipy
from llvmlite import binding

__all__ = ["differences", "header"]


def header() -> dict[str, str]:
    """This machine, as it is written above the hashes."""
    return {
        "processor": _processor(),
        "machine": platform.machine(),
        "target": binding.get_host_cpu_name(),
        "libc": " ".join(platform.libc_ver()),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
    }


def differences(recorded: Mapping[str, str]) -> str:
    """How this machine differs from the one of a header, in words; empty if it does not."""
    here = header()
    return ", ".join(
        f"{name} is {here.get(name)!r} here, {recorded.get(name)!r} in the record"
        for name in sorted({*here, *recorded})
        if here.get(name) != recorded.get(name)
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
