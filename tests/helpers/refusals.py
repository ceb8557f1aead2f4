"""Refusals: what is tried, the error that it ends in, and words that the error must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from pgbn import PgbnError

__all__ = ["Case", "check_refused"]

Case = tuple[Callable[[], Any], type[Exception], list[str]]


def check_refused(
    build: Callable[[], Any],
    error: type[Exception] | tuple[type[Exception], ...],
    words: Iterable[str],
) -> None:
    """It ends in an error of pgbn of this type, and all words are in its text."""
    with pytest.raises(error) as caught:
        build()
    assert isinstance(caught.value, PgbnError)
    for word in words:
        assert word in str(caught.value)
