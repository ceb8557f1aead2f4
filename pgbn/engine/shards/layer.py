"""A first layer whose rows are with the workers; the driver has φ and its counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.first_layer.base import FirstLayer
from pgbn.engine.shards import worker
from pgbn.errors import DataError

if TYPE_CHECKING:
    from pgbn.engine.shards.crew import Crew

__all__ = ["AfarLayer"]


class AfarLayer(FirstLayer):
    """The driver's half of a sampler: ``own`` draws φ from the counts that the workers tell, and
    they get it as it was drawn. The steps of the data are theirs, see `Crew.run`."""

    def __init__(self, own: FirstLayer, crew: Crew) -> None:
        vars(self).update(vars(own))
        self.own, self.crew, self.name = own, crew, own.name  # type: ignore[misc]

    def start(self, key: int) -> None:
        self.own.hold()
        self.crew.start(self.observed, key)

    def loadings_changed(self, key: int) -> None:
        self.own.loadings_changed(key)
        self._drawn()

    def step(self, key: int) -> None:
        raise AssertionError("the workers take this step")

    def draw_loadings(self, key: int) -> None:
        self.own.draw_loadings(key)
        self._drawn()

    def _drawn(self) -> None:
        self.crew.loadings[self.observed] = self.own.topics_held

    def take_counts(self, parts: list[Any]) -> None:
        """The counts of φ, from those of all workers."""
        held = self.own.topics_held
        held.n[...] = 0
        flat = held.n.reshape(-1)
        for part in parts:
            if isinstance(part, np.ndarray):
                held.n += part
            else:
                places, numbers = part
                flat[places] += numbers
        held.counts_changed()

    def show(self) -> None:
        self.own.show()

    def show_counts(self) -> None:
        self.own.show_counts()

    def state(self) -> dict[str, NDArray[Any]]:
        parts = self.crew.mail.ask(worker.row_state, self.observed)
        rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return {**rows, **self.shared_state()}

    def shared_state(self) -> dict[str, NDArray[Any]]:
        return self.own.shared_state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        parts = self.crew.mail.ask(worker.row_state, self.observed)
        each: list[dict[str, NDArray[Any]]] = [{} for _ in parts]
        for name in parts[0]:
            array, ends = np.asarray(state.get(name, ())), np.cumsum([len(p[name]) for p in parts])
            if array.shape != (ends[-1], *parts[0][name].shape[1:]):
                raise DataError(
                    f"restore: {name!r} of the state has the shape {array.shape}, but this chain "
                    f"needs {(int(ends[-1]), *parts[0][name].shape[1:])}; is it of the same "
                    "network and data?"
                )
            for own, part in zip(each, np.split(array, ends[:-1]), strict=True):
                own[name] = part
        self.crew.restore_rows(self.observed, each)
        self.own.restore_shared(state)
        self._drawn()
