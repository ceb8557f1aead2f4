"""The flat map of documents."""

import numpy as np

from pgbn.report.embedding import document_positions, even_choice


def test_map_positions() -> None:
    """Documents of two groups fall apart on the map, in the same way whatever their order."""
    g = np.random.default_rng(0)
    theta = np.concatenate([g.dirichlet([9, 1, 1], 40), g.dirichlet([1, 1, 9], 40)])
    position = document_positions(theta)
    assert (
        position[:40, 0].max() < position[40:, 0].min()
        or position[:40, 0].min() > position[40:, 0].max()
    )
    order = g.permutation(80)
    np.testing.assert_allclose(document_positions(theta[order]), position[order], atol=1e-9)
    assert document_positions(np.ones((5, 1))).tolist() == [[0.0, 0.0]] * 5
    assert even_choice(5, 9).tolist() == [0, 1, 2, 3, 4]
    assert even_choice(100, 3).tolist() == [0, 50, 99]
