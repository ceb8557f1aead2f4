"""numpy's functions of expressions: operators are ours, the others are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
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


@pytest.mark.parametrize("left", [pd.Series([1.0, 2.0]), pd.DataFrame({"x": [1.0, 2.0]})])
def test_pandas_on_the_left(left: pd.Series | pd.DataFrame) -> None:
    """pandas took a node for a list of the pairs of its fields."""
    for operate in (lambda a: left * a, lambda a: left + a):
        with pytest.raises(NetworkError, match=r"of type (Series|DataFrame).*an array"):
            operate(Gamma("a", 1, 1))
