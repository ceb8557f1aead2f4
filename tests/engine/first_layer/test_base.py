"""What the samplers of the first layer share."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError


def test_labels_of_tokens_need_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgbn.storage.memory.memory", lambda: 50_000)
    data = np.full((12, 9), 1000)
    with pytest.raises(DataError, match=r"x: labels of 108000 tokens would need .*'blocked'"):
        pgbn.zoo.pfa(3).chain({"x": data}, layer1="collapsed")
    assert pgbn.zoo.pfa(3).chain({"x": data}, layer1="blocked").sweep().sweeps == 1
