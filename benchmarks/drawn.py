"""A corpus drawn from the model block by block: Zipfian words, documents of a few topics."""

import numpy as np
from scipy import sparse

__all__ = ["LENGTH", "ROWS", "drawn_blocks", "unseen_block"]

LENGTH = 300  # tokens of a document
ROWS = 4096  # documents of a block
TOPICS = 200
UNSEEN = 10**9  # the number of a block that no corpus has


def drawn_blocks(tokens, vocabulary, seed=0):
    """Blocks of documents × terms, each with a stream of its own."""
    topics, documents = _topics(vocabulary, seed), tokens // LENGTH
    for first in range(0, documents, ROWS):
        yield _block(topics, min(ROWS, documents - first), (seed, 1, first // ROWS))


def unseen_block(rows, vocabulary, seed=0):
    """Further documents of the same topics."""
    return _block(_topics(vocabulary, seed), rows, (seed, 1, UNSEEN))


def _topics(vocabulary, seed):
    """The cumulative weights of the words of each topic."""
    rng = np.random.default_rng((seed, 0))
    base = 1.0 / np.arange(1, vocabulary + 1)
    shape = 0.05 * vocabulary * base / base.sum()
    return [np.cumsum(rng.gamma(shape)) for _ in range(TOPICS)]


def _block(topics, rows, stream):
    rng = np.random.default_rng(stream)
    theta = rng.gamma(0.05, size=(rows, len(topics))) + 1e-12
    split = np.array([rng.multinomial(LENGTH, line / line.sum()) for line in theta])
    row, word = [], []
    for k, sums in enumerate(topics):
        where = np.repeat(np.arange(rows), split[:, k])
        row.append(where)
        word.append(np.searchsorted(sums, rng.random(where.size) * sums[-1]))
    at = (np.concatenate(row), np.concatenate(word))
    return sparse.csr_matrix((np.ones(at[0].size, np.int64), at), shape=(rows, sums.size))
