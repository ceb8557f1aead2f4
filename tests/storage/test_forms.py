"""The types of what a file says."""

from __future__ import annotations

from typing import Any

import pytest

from pgbn.errors import StorageError
from pgbn.storage.archive import check_form


@pytest.mark.parametrize(("content", "kind"), [
    ({"a": 1}, int), ({"a": 10**400}, int), ({"a": 1}, float), ({"a": 0.5}, float),
    ({"a": "x"}, str), ({"a": []}, list[str]), ({"a": {"b": [1, 2.5]}}, dict[str, list[float]]),
    ({"a": [3, 2]}, int | list[int]), ({}, int), ({"b": "another entry"}, int),
])  # fmt: skip
def test_what_a_writer_writes(content: dict[str, Any], kind: Any) -> None:
    check_form(content, {}, {"a": kind})


@pytest.mark.parametrize(("content", "kind", "words"), [
    ({"a": True}, int, "damaged: a is True: .* integer"),
    ({"a": 1.0}, int, "damaged: a is 1.0"),
    ({"a": "1"}, int, "damaged: a is '1'"),
    ({"a": 10**400}, float, "damaged: a is 1000"),
    ({"a": None}, str, "damaged: a is None"),
    ({"a": 3}, list[str], "damaged: a is 3: .* list"),
    ({"a": ["x", 3]}, list[str], "damaged: a/1 is 3: .* string"),
    ({"a": {"b": [[1]]}}, dict[str, list[int]], r"damaged: a/b/0 is \[1\]"),
    ({}, int, "there is no entry 'a'"),
    ([1], int, r"damaged: \[1\] is no object"),
])  # fmt: skip
def test_what_no_writer_writes(content: Any, kind: Any, words: str) -> None:
    with pytest.raises(StorageError, match=words):
        check_form(content, {"a": kind})
