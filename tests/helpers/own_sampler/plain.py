"""A sampler of the first layer that is no part of pgbn: this class and a kernel, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.extend import FirstLayer, Stream, read_state
from pgbn.samplers.vectorised import dirichlet
from tests.helpers.own_sampler.kernel import label_rows

__all__ = ["Plain"]


class Plain(FirstLayer):
    """z_i ~ Cat(∝ φ_vk θ_jk), token by token, with φ and θ held."""

    name = "plain"
    n: NDArray[np.int64]

    def start(self, key: int) -> None:
        self.n = np.zeros((self.replicates, self.vocabulary, self.topics), np.int64)

    def step(self, key: int) -> None:
        cells = self.program.cells[self.observed]
        each = np.zeros((cells.values.size, self.topics), np.int64)
        phi = self.program.values[self.pattern.loadings]
        self.executor.rows(label_rows, self.rows, key, self.documents, cells.indptr,
                 cells.indices, cells.values, phi, self.scores(), self.m, each)  # fmt: skip
        self.n[...] = 0
        np.add.at(self.n, (cells.cell_rows() // self.documents, cells.indices), each)
        self.deliver()

    def draw_loadings(self, key: int) -> None:
        shape = (self.replicates, 1, self.topics, self.vocabulary)
        stream = Stream(key, shape, self.executor)
        counts = self.n.transpose(0, 2, 1).reshape(shape)
        phi = dirichlet(stream, self.eta + counts, 3)
        self.program.values[self.pattern.loadings] = np.ascontiguousarray(
            phi.reshape(self.replicates, self.topics, self.vocabulary).transpose(0, 2, 1)
        )

    def show(self) -> None:
        self.program.counts[self.observed, self.pattern.loadings] = self.n

    def state(self) -> dict[str, NDArray[Any]]:
        return {"n": self.n, "m": self.m}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.n[...] = read_state(state, "n", self.n.shape, 2**31)
        self.m[...] = read_state(state, "m", self.m.shape, 2**31)
        self.deliver()
