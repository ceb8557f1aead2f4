"""The order in which rows are read: shuffled, by the seed alone, and from any place on.

An epoch has every row once. Its blocks come in a random order, some of them are in memory at a
time, and the rows of these are shuffled together: a corpus larger than memory is read block by
block, and each block once an epoch. One epoch follows the other without a gap, and minibatch i has
the rows i·n to (i + 1)·n − 1 of this sequence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.samplers.random import mix, stream_key, word_of
from pgbn.storage.blocks import Corpus

__all__ = ["minibatches", "shuffled"]

TOGETHER = 8  # blocks that are in memory at a time


def shuffled(count: int, *words: int) -> NDArray[np.int64]:
    """A random order of 0, …, count − 1, the one of these words."""
    key = np.uint64(stream_key(*words))
    with np.errstate(over="ignore"):
        word = key + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, count + 1, dtype=np.uint64)
    return np.argsort(np.asarray(mix(mix(word))), kind="stable").astype(np.int64)


def minibatches(corpus: Corpus, size: int, seed: int, start: int = 0) -> Iterator[sp.csr_array]:
    """The minibatches from number ``start`` on, for ever."""
    parts: list[sp.csr_array] = []
    held = 0
    for rows in _rows(corpus, seed, start * size):
        parts.append(rows)
        held += rows.shape[0]
        while held >= size:
            whole = parts[0] if len(parts) == 1 else sp.csr_array(sp.vstack(parts, format="csr"))
            yield sp.csr_array(whole[:size])
            parts, held = [sp.csr_array(whole[size:])], held - size


def _rows(corpus: Corpus, seed: int, skip: int) -> Iterator[Any]:
    """The rows of all epochs in their order, without the first ``skip``, some at a time."""
    total = corpus.shape[0]
    epoch, skip = divmod(skip, total)
    while True:
        blocks = shuffled(corpus.block_count, seed, word_of("blocks"), epoch)
        for group in range(0, blocks.size, TOGETHER):
            chosen = blocks[group : group + TOGETHER]
            length = sum(_length(corpus, int(number)) for number in chosen)
            if skip >= length:
                skip -= length
                continue
            order = shuffled(length, seed, word_of("rows"), epoch, group)[skip:]
            skip = 0
            whole = sp.vstack([corpus.block(int(number)) for number in chosen], format="csr")
            yield sp.csr_array(whole)[order]
        epoch += 1


def _length(corpus: Corpus, number: int) -> int:
    """The rows of a block."""
    return min(corpus.block_rows, corpus.shape[0] - number * corpus.block_rows)
