"""How a training with checkpoints is run: keywords that change nothing of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from inspect import Parameter, signature
from typing import Any, TypeVar

from pgbn.engine.run.progress import check_callback
from pgbn.engine.run.saving import Timing
from pgbn.samplers.executor import Executor
from pgbn.training.growing import Progress

__all__ = ["Listener", "Running", "takes"]

Listener = Callable[[Progress], None]
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Running(Timing):
    """When checkpoints are written, who listens, on how many threads or by which executor, and
    whether the live line is shown."""

    callback: Listener | None = None
    threads: int | None = None
    progress: bool = True
    executor: Executor | None = None

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
