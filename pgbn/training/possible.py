"""What the parts of a trained network may be, whoever has written the file that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from pgbn.checks import is_finite_number, is_integral
from pgbn.errors import DataError

__all__ = ["LARGEST", "check_parts"]

LARGEST = 1e150  # products of two such numbers are finite


def check_parts(model: Any) -> None:
    """Priors, eta, noise, sweeps, traces and the state of a `TrainedNetwork`."""
    _check_numbers("eta", model.eta)
    _check_numbers("noise", (model.noise,))
    if not is_dataclass(model.priors):
        raise DataError(f"TrainedNetwork: priors={model.priors!r:.60}: give pgbn.Priors(...)")
    for field in fields(model.priors):
        _check_numbers(f"priors: {field.name}", getattr(model.priors, field.name), 2)
    if not is_integral(model.sweeps) or not 0 <= model.sweeps < 2**63:
        raise DataError(f"TrainedNetwork: sweeps={model.sweeps!r:.60}: give a number from 0 on")
    for name in ("traces", "state", "labels"):
        if not isinstance(getattr(model, name), Mapping):
            given = type(getattr(model, name)).__name__
            raise DataError(f"TrainedNetwork: {name} is {given}; give a dict")
    _check_traces(model.traces)
    for name, value in model.state.items():
        array = np.asarray(value)
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            raise DataError(
                f"TrainedNetwork: state[{name!r}] has values that no chain has; give finite numbers"
            )


def _check_numbers(name: str, values: Any, length: int | None = None) -> None:
    listed = isinstance(values, (tuple, list)) and len(values) == (length or len(values))
    if not listed or not all(is_finite_number(each) and 0 < each <= LARGEST for each in values):
        raise DataError(
            f"TrainedNetwork: {name}={values!r:.60}: give positive numbers up to {LARGEST:g}"
        )


def _check_traces(traces: Mapping[str, Any]) -> None:
    """Series of numbers, all as long as the series of sweeps."""
    sizes = {name: np.shape(value) for name, value in traces.items()}
    good = not sizes or (len(set(sizes.values())) == 1 and len(sizes.get("sweep", ())) == 1)
    if not good or any(np.asarray(value).dtype.kind not in "biuf" for value in traces.values()):
        raise DataError(
            f"TrainedNetwork: traces of the shapes {sizes}; give 'sweep', and series of numbers "
            "that are as long"
        )
