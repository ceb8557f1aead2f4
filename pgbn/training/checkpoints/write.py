"""Checkpoints: a callback that saves a training now and then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, TypeVar

from pgbn.checks import check_place
from pgbn.engine.run.progress import check_callback
from pgbn.engine.run.stopping import Rhythm, Timing
from pgbn.samplers.executor import Executor
from pgbn.storage import writing
from pgbn.storage.folders import Kept, kept_arrays
from pgbn.training.checkpoints.format import (
    COLUMNS,
    DATA,
    KIND,
    MODEL,
    encode_checkpoint,
    this_machine,
)
from pgbn.training.growing import Progress

# ---- running ------------------------------------------------------------------------------------
#
# How a training with checkpoints is run: keywords that change nothing of its result.


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


# ---- write --------------------------------------------------------------------------------------


class Checkpoints:
    """A callback of `train_layerwise` that saves it every ``minutes``, or every ``sweeps``.

    Writing takes at most ``share`` > 0 of the time: where a checkpoint took long, the next one
    waits; a share of more than 1 sets no limit.
    ``arguments`` are those of `train_layerwise`, also the eta and priors that ``start_from``
    brings; ``context`` is saved with them, and ``columns``, which the result is saved with too.
    """

    @takes(Timing)
    def __init__(
        self,
        path: str | Path,
        arguments: Mapping[str, Any],
        *,
        context: Mapping[str, Any] | None = None,
        columns: Kept | None = None,
        **timing: Any,
    ) -> None:
        self.path, self.arguments = check_place("path", path), dict(arguments)
        self.context = dict(context or {})
        self.columns = columns or {}
        self.rhythm = Rhythm(Timing(**timing))
        this_machine()  # what opens files for that does it now
        self.saved = False
        self._files: dict[str, str] = {}
        self._networks: Sequence[Any] = ()

    def __call__(self, progress: Progress, /) -> None:
        self.rhythm.tick(lambda: self._save(progress))

    def save(self, progress: Progress) -> None:
        """Write a checkpoint now. Data, and networks that are trained already, are kept."""
        self.rhythm.now(lambda: self._save(progress))

    def _save(self, progress: Progress) -> None:
        keep = {name: file for name, file in self._files.items() if self._is_kept(name, progress)}
        keep = writing.still_there(self.path, keep)
        content, arrays = encode_checkpoint(progress, self.arguments, self.context, keep)
        if self.columns and COLUMNS not in keep:
            arrays[COLUMNS] = kept_arrays(self.columns)
        self._files = writing.write(self.path, KIND, content, arrays, keep)
        self._networks, self.saved = progress.networks, True

    def _is_kept(self, group: str, progress: Progress) -> bool:
        """Whether the file of a group is still right."""
        old, new = self._networks, progress.networks
        same = len(old) == len(new) and all(map(lambda a, b: a is b, old, new))
        return group in (DATA, COLUMNS) or (group == MODEL and same)
