"""What a first layer has beside φ·θ: the factor s_j of its rows, and further terms of the rate.

    x_jv ~ Pois(s_j Σ_k φ_vk θ_jk + Σ_e b_je d_ve)

A term is the product of what varies over rows and of what varies over words; where it sums over
dims, each of their entries is a pseudo-topic e of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.layout import Labelled, shape4
from pgbn.engine.compile.program import Program
from pgbn.engine.compile.splitting import Splitter
from pgbn.engine.first_layer.pattern import Pattern
from pgbn.network.sumproduct import operand_of, reduce_product
from pgbn.network.terms import Factor, Term
from pgbn.samplers.first_layer.pseudo import PseudoTopics

__all__ = ["FurtherTerms", "RowScale"]

Counts = dict[str, NDArray[Any]]  # by the node that hears them


def _value(program: Program, term: Term) -> Labelled:
    operands = [operand_of(factor) for factor in term.factors]
    return program.product(reduce_product(term.coefficient, operands, term.contracted))


def _spread(program: Program, labelled: Labelled, dims: tuple[str, ...]) -> NDArray[np.float64]:
    """A quantity as an array (R, *dims)."""
    shape = (program.replicates, *(program.sizes[dim] for dim in dims))
    if labelled.value is not None:
        return np.full(shape, labelled.value)
    present = [dim for dim in dims if dim in labelled.dims]
    array = labelled.get().transpose(0, *(labelled.dims.index(dim) + 1 for dim in present))
    lines = (len(array), *(program.sizes[dim] if dim in present else 1 for dim in dims))
    return np.broadcast_to(array.reshape(lines), shape)


def _summed(
    program: Program, counts: NDArray[Any], dims: tuple[str, ...], factor: Factor
) -> NDArray[np.int64]:
    """The counts (R, *dims) that a factor hears, in its own layout."""
    own = program.read(operand_of(factor)).dims
    over = tuple(axis for axis, dim in enumerate(dims, 1) if dim not in own)
    left = [dim for dim in dims if dim in own]
    total = counts.sum(axis=over, dtype=np.int64) if over else counts.astype(np.int64)
    return np.ascontiguousarray(total.transpose(0, *(left.index(dim) + 1 for dim in own)))


def _add(program: Program, heard: Counts, factor: Factor, counts: NDArray[Any]) -> None:
    """Add counts of a factor to those of its node: entry by entry, where it is read through
    categories."""
    name = factor.name
    if factor.lookups:
        counts = program.view(factor.lookups, program.storage[name]).counts(counts)
    heard[name] = heard[name] + counts if name in heard else counts


class RowScale:
    """s_j, and the counts of its factors: those of the topics of row j, shared out."""

    def __init__(self, program: Program, pattern: Pattern) -> None:
        self.program = program
        self.term = pattern.scale(program.wiring)
        self.dims = program.storage[pattern.observed][:-1]
        known = program.wiring.sources
        self._labelled = _value(program, self.term)
        self._shape = shape4(self.dims, program.sizes, program.replicates)
        self._is_heard = any(factor.name in known for factor in self.term.factors)
        self._splitter = Splitter(
            (self.term,), self.dims, self._shape, program.sizes,
            lambda factor: program.read(operand_of(factor)), lambda factor: factor.name in known,
            partial(_value, program), program.executor,
        )  # fmt: skip

    def get(self) -> NDArray[np.float64]:
        """s_j of every row."""
        return _spread(self.program, self._labelled, self.dims).reshape(-1)

    def share(self, key: int, m: NDArray[Any], heard: Counts) -> None:
        """Add the counts that the factors of s hear, given those of the topics (rows, K)."""
        if not self._is_heard:
            return
        counts = m.sum(axis=1, dtype=np.int64).reshape(self._shape)
        for shares in self._splitter.dense(key, counts):
            for factor, share in zip(self.term.factors, shares, strict=True):
                if share is not None:
                    _add(self.program, heard, factor, share)


class FurtherTerms:
    """The further terms of a rate as pseudo-topics, and the counts of their factors."""

    def __init__(self, program: Program, pattern: Pattern) -> None:
        self.program = program
        axes = program.storage[pattern.observed]
        self.parts = [_Part(program, term, axes) for term in pattern.further(program.wiring)]
        rows = program.replicates * prod(program.sizes[dim] for dim in axes[:-1])
        words = program.replicates * program.sizes[axes[-1]]
        size = sum(part.size for part in self.parts)
        self.counts = PseudoTopics(np.zeros((rows, size), np.int64),
                                   np.zeros((words, size), np.int64))  # fmt: skip

    @property
    def size(self) -> int:
        """The number of pseudo-topics."""
        return int(self.counts.row.shape[1])

    def weights(self, scale: NDArray[np.float64]) -> PseudoTopics | None:
        """b_je · scale_j and d_ve; None where there are no further terms."""
        if not self.parts:
            return None
        row = np.concatenate([part.row() for part in self.parts], axis=1)
        word = np.concatenate([part.word() for part in self.parts], axis=1)
        return PseudoTopics(row * scale[:, None], np.ascontiguousarray(word))

    def share(self, heard: Counts) -> None:
        """Add the counts that the factors hear."""
        start = 0
        for part in self.parts:
            own = slice(start, start + part.size)
            part.share(self.counts.row[:, own], self.counts.word[:, own], heard)
            start += part.size


class _Part:
    """One further term: its factors with and without the dim of the words."""

    def __init__(self, program: Program, term: Term, axes: tuple[str, ...]) -> None:
        self.program = program
        by_word = [factor for factor in term.factors if axes[-1] in factor.dims]
        by_row = [factor for factor in term.factors if axes[-1] not in factor.dims]
        self.size = prod(program.sizes[dim] for dim in term.contracted)
        self._word = _Side(program, 1.0, by_word, axes[-1:], term.contracted)
        self._row = _Side(program, term.coefficient, by_row, axes[:-1], term.contracted)

    def row(self) -> NDArray[np.float64]:
        return self._row.get().reshape(-1, self.size)

    def word(self) -> NDArray[np.float64]:
        return self._word.get().reshape(-1, self.size)

    def share(self, row: NDArray[np.int64], word: NDArray[np.int64], heard: Counts) -> None:
        self._row.share(row, heard)
        self._word.share(word, heard)


class _Side:
    """The factors of a term that vary over rows, or those that vary over words."""

    def __init__(
        self,
        program: Program,
        coefficient: float,
        factors: Iterable[Factor],
        axes: tuple[str, ...],
        summed: tuple[str, ...],
    ) -> None:
        self.program, self.dims = program, (*axes, *summed)
        self._value = _value(program, Term(coefficient, tuple(factors)))
        self._hearing = [f for f in factors if f.name in program.wiring.sources]

    def get(self) -> NDArray[np.float64]:
        return _spread(self.program, self._value, self.dims)

    def share(self, counts: NDArray[np.int64], heard: Counts) -> None:
        shape = (self.program.replicates, *(self.program.sizes[dim] for dim in self.dims))
        for factor in self._hearing:
            own = _summed(self.program, counts.reshape(shape), self.dims, factor)
            _add(self.program, heard, factor, own)
