"""How a training with checkpoints is run: keywords that change nothing of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from inspect import Parameter, signature
from numbers import Real
from typing import Any, TypeVar

from pgbn.checks import check_integer, is_finite_number
from pgbn.errors import DataError
from pgbn.training.growing import Progress
from pgbn.training.layerwise import check_callback

__all__ = ["Listener", "Running", "Timing", "takes"]

Listener = Callable[[Progress], None]
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Timing:
    """When checkpoints are written: every ``minutes``, or every ``sweeps``.

    Writing takes at most ``share`` > 0 of the time: where a checkpoint took long, the next one
    waits; a share of more than 1 sets no limit.
    """

    minutes: float | None = 5.0
    sweeps: int | None = None
    share: float = 0.05

    def __post_init__(self) -> None:
        minutes = self.minutes
        number = isinstance(minutes, Real) and not isinstance(minutes, bool)
        if minutes is not None and not (number and float(minutes) >= 0.0):
            raise DataError(
                f"minutes={minutes!r}: give a number of at least 0, or None for no checkpoints by "
                "time"
            )
        if self.sweeps is not None:
            check_integer("sweeps", self.sweeps, 1)
        if not is_finite_number(self.share) or not self.share > 0:
            raise DataError(
                f"share={self.share!r}: give the part of the time that writing may take, above 0"
            )


@dataclass(frozen=True)
class Running(Timing):
    """The same, and who listens, on how many threads, and whether the live line is shown."""

    callback: Listener | None = None
    threads: int | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_callback(self.callback)

    @property
    def timing(self) -> dict[str, Any]:
        """The keywords of `Timing`."""
        return {field.name: getattr(self, field.name) for field in fields(Timing)}

    @classmethod
    def among(cls, options: Mapping[str, Any]) -> tuple[Running, dict[str, Any]]:
        """Those of some keywords that say how to run, and the others."""
        own = {field.name for field in fields(cls)}
        mine = {name: value for name, value in options.items() if name in own}
        return cls(**mine), {name: value for name, value in options.items() if name not in own}


def takes(options: type[Timing], others: bool = False) -> Callable[[Function], Function]:
    """Show a reader the fields of ``options`` in the signature of a function that takes them as
    ``**keywords``; with ``others`` it takes more than these."""

    def show(function: Function) -> Function:
        shown = signature(function)
        *named, rest = shown.parameters.values()
        named += [
            Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default,
                      annotation=field.type)
            for field in fields(options)
        ]  # fmt: skip
        parameters = [*named, rest] if others else named
        vars(function)["__signature__"] = shown.replace(parameters=parameters)
        return function

    return show
