"""Documents × terms as arrays of a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from pgbn import DataError
from pgbn.engine.data.cells import document_arrays
from pgbn.storage.archive import encode_documents
from pgbn.storage.sparse import read_rows

X = np.array([[1, 0, 2], [0, 0, 0], [0, 300, 0]])


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array, sp.coo_array, lambda x: x.tolist()])
def test_all_forms_of_data_give_the_same_rows(form: Any) -> None:
    arrays = document_arrays(form(X))
    assert arrays["shape"].tolist() == [3, 3]
    assert arrays["indptr"].tolist() == [0, 2, 2, 3]
    assert arrays["indices"].tolist() == [0, 2, 1]
    assert arrays["values"].tolist() == [1, 2, 300]
    assert arrays["indices"].dtype == np.uint8  # as few bytes as they need
    assert np.array_equal(read_rows(arrays).toarray(), X)


def test_reals_and_unknown_cells() -> None:
    masked = np.ma.masked_array(X * 0.5, X == 300)
    assert np.array_equal(
        read_rows(document_arrays(masked)).toarray(), np.where(X == 300, 0, X / 2)
    )


def test_what_is_no_data_is_refused() -> None:
    with pytest.raises(DataError, match="data: the data have negative values"):
        document_arrays(-X)


def test_storage_asks_here() -> None:
    assert encode_documents(X).keys() == document_arrays(X).keys()
