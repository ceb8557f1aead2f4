"""Names as arrays of a file."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn.errors import StorageError
from pgbn.storage.blocks import name_arrays, read_names


@pytest.mark.parametrize("names", [[], [""], ["a", "", "größe", "天气"], ["half \ud800"]])
def test_names_come_back(names) -> None:
    arrays = name_arrays(names)
    assert read_names(arrays["text"], arrays["ends"]) == names


@pytest.mark.parametrize(("text", "ends"), [
    ([97, 98], [1]),  # a letter too many
    ([97], [2]),
    ([97, 98], [2, 1]),
    ([255], [1]),  # not UTF-8
])  # fmt: skip
def test_damaged_names_are_refused(text, ends) -> None:
    with pytest.raises(StorageError, match="the names are damaged"):
        read_names(np.array(text, np.uint8), np.array(ends))
