"""Data frames of rows, of columns and of matrices."""

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from pgbn.estimators.pgbn import data_frame


@pytest.mark.parametrize(
    "table", [[("a\ud83d", 1), ("b", 2)], {"words": ["a\ud83d", "b"], "n": np.array([1, 2])}]
)
def test_half_characters_become_question_marks(table) -> None:
    frame = data_frame(table, ["words", "n"])
    assert frame.words.tolist() == ["a?", "b"]
    assert frame.n.tolist() == [1, 2]


def test_a_matrix_has_names_on_both_sides() -> None:
    frame = data_frame(np.eye(2), columns=["x", "y"], index=["a", "b"])
    assert frame.loc["b", "y"] == 1.0
    assert frame.loc["a", "y"] == 0.0
