"""Tables and their split in one pass against exact expectations."""

import numpy as np
import pytest

from pgbn.samplers.gamma_layers import count_tables, share_tables
from pgbn.samplers.lanes import LANES
from tests.helpers.means import close


def tables(m, theta, phi, repeats, coefficient=1.0):
    padded = np.zeros((*phi.shape[:2], -(-phi.shape[2] // LANES) * LANES), np.float32)
    padded[:, :, : phi.shape[2]] = phi
    up, down = [], []
    for i in range(repeats):
        n_phi = np.zeros(phi.shape, np.int64)
        n_theta = np.full(theta.shape, -1)  # written, not added to
        share_tables(np.uint64(i), 0, len(m), len(m), coefficient, m, theta, padded, n_phi, n_theta)
        up.append(n_theta)
        down.append(n_phi[0])
    return np.array(up), np.array(down)


def test_tables_of_a_shared_shape_have_the_exact_mean():
    rng = np.random.default_rng(0)
    m, shape = rng.poisson(2.0, (30, 21)).astype(np.int32), rng.gamma(0.5, size=(1, 21))
    seen = np.zeros((4000, 1, 21), np.int64)
    for i in range(len(seen)):
        count_tables(np.uint64(i), 0, 30, 30, shape, m, seen[i])
    mean = np.array(
        [
            [sum(a / (a + i) for i in range(n)) for n, a in zip(row, shape[0], strict=True)]
            for row in m
        ]
    )
    assert close(seen[:, 0], mean.sum(axis=0), mean.sum(axis=0))


@pytest.mark.parametrize("topics", [1, 3, 16, 37])
def test_tables_and_their_split_have_the_exact_mean(topics):
    rng = np.random.default_rng(topics)
    m = rng.poisson(1.0, (6, 4))
    m[0] = 0
    m[1, 2] = 300
    theta, phi = rng.gamma(0.4, size=(6, topics)), rng.dirichlet(np.ones(4), topics).T[None]
    shape = 0.7 * theta @ phi[0].T
    expected = np.array([
        [sum(a / (a + i) for i in range(n)) for n, a in zip(*row, strict=True)]
        for row in zip(m, shape, strict=True)
    ])  # fmt: skip
    up, down = tables(m, theta, phi, 6000, 0.7)
    assert not up[:, 0].any()
    share = phi[0][None] * theta[:, None, :] / (theta @ phi[0].T)[:, :, None]
    mean = expected[:, :, None] * share
    # sums of Bernoulli variables: the variance is at most the mean
    assert close(up, mean.sum(1), mean.sum(1), 5)
    assert close(down, mean.sum(0), mean.sum(0), 5)
    assert np.array_equal(up.sum((1, 2)), down.sum((1, 2)))


def test_tables_where_every_unit_underflowed():
    up, down = tables(np.array([[1, 0, 5]]), np.zeros((1, 4)), np.full((1, 3, 4), 1 / 3), 200)
    assert (up.sum((1, 2)) == 2).all()
    assert (down[:, 1] == 0).all()
