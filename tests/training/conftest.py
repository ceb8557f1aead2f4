"""A short training."""

import pytest

from pgbn.training import train_layerwise
from tests.helpers.training import QUICK, X


@pytest.fixture(scope="module")
def trained():
    return train_layerwise(X, 12, 3, seed=3, keep_states=True, **QUICK)
