"""Tables of arrays that are here, with the workers, or both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from numpy.typing import NDArray

__all__ = ["AfarTable", "WrittenTable"]


class AfarTable(MutableMapping[Any, NDArray[Any]]):
    """The driver's table of arrays, of which some are with the workers: they are fetched when they
    are read. What is set here is among the ``fresh``, which the workers do not have yet.

    Invariant: what is read is what the last step that drew it left, whoever ran it.
    """

    def __init__(self, fetch: Callable[[Any], NDArray[Any]]) -> None:
        self._fetch = fetch
        self._here: dict[Any, NDArray[Any]] = {}
        self._keys: dict[Any, None] = {}
        self.fresh: dict[Any, None] = {}

    def __getitem__(self, key: Any) -> NDArray[Any]:
        if key not in self._here:
            if key not in self._keys:
                raise KeyError(key)
            self._here[key] = self._fetch(key)
        return self._here[key]

    def __setitem__(self, key: Any, value: NDArray[Any]) -> None:
        self._here[key] = value
        self._keys[key] = self.fresh[key] = None

    def __delitem__(self, key: Any) -> None:
        del self._keys[key]
        self._here.pop(key, None)
        self.fresh.pop(key, None)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def left(self, key: Any) -> None:
        """The workers have it, and what was here is old or no longer needed."""
        self._here.pop(key, None)
        self.fresh.pop(key, None)
        self._keys[key] = None


class WrittenTable(dict[Any, NDArray[Any]]):
    """A worker's table, which remembers what was set."""

    def __init__(self) -> None:
        super().__init__()
        self.written: dict[Any, None] = {}

    def __setitem__(self, key: Any, value: NDArray[Any]) -> None:
        super().__setitem__(key, value)
        self.written[key] = None

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict(*args, **kwargs).items():
            self[key] = value
