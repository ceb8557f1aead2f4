"""Evidence: (count, exposure), and nothing else."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from pgbn import Evidence


def test_evidence_is_a_count_and_an_exposure() -> None:
    count, exposure = np.array([1, 2]), 0.5
    evidence = Evidence(count, exposure)
    assert evidence.count is count
    assert evidence.exposure == 0.5


def test_evidence_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Evidence(1, 2.0).count = 3  # type: ignore[misc]
