"""What other packages call the number of topics: an error that says what it is called here."""

from __future__ import annotations

import inspect
from typing import Any

from pgbn.checks import OTHER_NAMES

__all__ = ["PointsToMaxWidth"]


class PointsToMaxWidth:
    """A class whose constructor, given ``n_components`` and the like, names its own argument.

    ``__new__`` sees the arguments before ``__init__``, whose signature is left to scikit-learn.
    """

    _width_name = "max_width"

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        for other in OTHER_NAMES:
            if other in named:
                own = cls._width_name
                many = f"; or {own}=(100, 30, 10), one for each layer" if own == "max_width" else ""
                raise TypeError(
                    f"{cls.__name__}() has no argument {other!r}: give the number of topics, at "
                    f"most, as {own}={named[other]!r}{many}"
                )
        return super().__new__(cls)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # `inspect` would otherwise show the arguments of `__new__`.
        own = inspect.signature(cls.__init__)
        parameters = list(own.parameters.values())[1:]
        cls.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
