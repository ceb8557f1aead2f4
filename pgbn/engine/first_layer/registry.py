"""The samplers of the first layer, by name: choice, cost, schedule, resume and timing look here.

A sampler is one class (a `FirstLayer`) and one kernel, in this package or in another:

    @pgbn.register_sampler
    class Mine(FirstLayer):
        name = "mine"
"""

from __future__ import annotations

from inspect import isabstract
from typing import TypeVar

from pgbn.engine.first_layer.base import FirstLayer
from pgbn.errors import NetworkError

__all__ = ["automatic", "register_sampler", "sampler_named", "sampler_names"]

Kind = TypeVar("Kind", bound=type[FirstLayer])

_kinds: dict[str, type[FirstLayer]] = {}


def register_sampler(kind: Kind) -> Kind:
    """Register a sampler of the first layer under its ``name``, for ``layer1=`` of chains."""
    if not (isinstance(kind, type) and issubclass(kind, FirstLayer)) or isabstract(kind):
        raise NetworkError(
            f"register_sampler({kind!r}): give a class derived from "
            "pgbn.engine.first_layer.FirstLayer that has all its methods"
        )
    known = _kinds.get(kind.name)
    if known is not None and known.__qualname__ != kind.__qualname__:
        raise NetworkError(
            f"register_sampler: {kind.name!r} is {known.__name__}; give another name"
        )
    if kind.name in ("", "auto", "composed"):
        raise NetworkError(f"{kind.__name__}.name={kind.name!r}: give the sampler another name")
    _kinds[kind.name] = kind
    return kind


def sampler_names() -> tuple[str, ...]:
    """The names of all samplers."""
    return tuple(_kinds)


def sampler_named(name: str) -> type[FirstLayer]:
    """The sampler of a name."""
    if name not in _kinds:
        raise NetworkError(f"layer1={name!r}: must be one of {', '.join(_kinds)}")
    return _kinds[name]


def automatic() -> list[type[FirstLayer]]:
    """Those that "auto" may take, the one that mixes best first."""
    return [kind for kind in _kinds.values() if kind.is_automatic]
