"""Columns beside the documents."""

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation.shares import is_missing, plain_list


class Boxed(list):
    """A column as Arrow has it: what comes out of it one by one is in boxes."""

    def __iter__(self):
        return iter([object()] * len(self))

    def to_pylist(self):
        return [self[j] for j in range(len(self))]


def test_a_column_of_arrow_is_taken_out_of_its_boxes():
    assert plain_list(Boxed([1, None, "a"])) == [1, None, "a"]
    assert plain_list(np.array([1, 2])) == [1, 2]
    for wrong in (3, None, "2019"):
        with pytest.raises(DataError, match=r"classes=.*give one entry for each document"):
            plain_list(wrong, "classes")


@pytest.mark.parametrize("entry", [None, float("nan"), np.nan, np.datetime64("NaT")])
def test_what_is_missing(entry):
    assert is_missing(entry)
    for there in (0, "", "nan", False, np.array([1.0, np.nan])):
        assert not is_missing(there)


def test_what_pandas_calls_missing():
    pandas = pytest.importorskip("pandas")
    assert is_missing(pandas.NA)
    assert is_missing(pandas.NaT)
