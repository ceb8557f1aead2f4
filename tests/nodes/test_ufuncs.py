"""numpy's functions of expressions: operators are ours, the others are refused."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import Gamma, Mix, NetworkError, Product, Sum


def test_functions_of_numpy() -> None:
    """Operators with an array on the left are ours; other functions are refused in words."""
    a, array = Gamma("a", 1, 1), np.ones(2)
    assert isinstance(array * a, Product)
    assert isinstance(array + a, Sum)
    assert isinstance(array @ Gamma("b", 1, 1, dims="k"), Mix)
    assert isinstance(np.float64(2) * a, Product)
    assert array != a
    for function in (np.exp, np.log, np.sum):
        with pytest.raises(
            NetworkError, match=f"{'add' if function is np.sum else 'exp|log'} of a"
        ):
            function(a)
    with pytest.raises(NetworkError, match="division by a node"):
        array / a
    with pytest.raises(NetworkError, match=r"pgbn\.LogNormal"):
        np.exp(a)
    with pytest.raises(NetworkError, match="less of a"):
        array < a  # noqa: B015
