"""The joint distribution of new documents and their local values, by the kernels for documents.

Chains begin at exact draws from the prior. A sweep of the kernels and new data given the values leave
their joint law as it is: means after some sweeps are those of the prior, or the sweep is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pgbn.samplers.documents import sweeps
from pgbn.samplers.documents.sweeps import CountLaw, Documents, GivenNetwork, count_law, scratch_for
from pgbn.samplers.documents.units import list_units, pack_layers
from pgbn.samplers.random import restart

Array = NDArray[Any]
PRIOR = (4.0, 6.0, 6.0, 4.0)  # p ~ Beta(4, 6), c ~ Gam(6, 4)
PHI = (
    np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.2, 0.5, 0.3]]),
    np.array([[0.7, 0.2, 0.1], [0.1, 0.4, 0.5]]),
    np.array([[0.8, 0.2], [0.3, 0.7]]),
)
WIDE = (  # beyond 32 units, most of them negligible
    np.random.default_rng(0).dirichlet(np.full(3, 0.5), 36),
    np.random.default_rng(1).dirichlet(np.full(36, 0.1), 33),
)
NOISE = 1.5


class Model:
    """A belief network with Φ and r given, and one document at a time."""

    def __init__(self, depth: int, latent: str | None, labelled: bool) -> None:
        self.phi = PHI[:depth] if depth else WIDE
        self.latent, self.labelled, depth = latent, labelled, len(self.phi)
        self.r = np.array([1.5, 0.8, 1.2, *np.full(30, 0.03)])[: len(self.phi[-1])]
        self.layers = pack_layers(self.phi, self.r, PRIOR)
        terms = np.ascontiguousarray(self.phi[0].T)
        projected = np.zeros(
            (3, int(self.layers.at[2] - self.layers.at[1]) if depth > 1 else 0), np.float32
        )
        if depth > 1:
            sweeps.project_terms(0, 0, 3, terms, self.layers, projected)
        self.network = GivenNetwork(terms, projected, self.layers)
        self.law: CountLaw | None = None if labelled else count_law(latent, NOISE)

    def values(self, rng: np.random.Generator) -> tuple[list[Array], Array]:
        """θ of every layer, and c, from the prior."""
        p = rng.beta(PRIOR[0], PRIOR[1])
        c = np.array([(1 - p) / p, *rng.gamma(PRIOR[2], 1 / PRIOR[3], len(self.phi) - 1)])
        theta, shape = [], self.r
        for t in reversed(range(len(self.phi))):
            theta.insert(0, rng.gamma(shape) / c[t])
            shape = theta[0] @ self.phi[t]
        return theta, c

    def counts(self, rng: np.random.Generator, theta: list[Array]) -> Array:
        """The tokens of topics and terms."""
        return rng.poisson(theta[0][:, None] * self.phi[0])

    def sweep(
        self, rng: np.random.Generator, counts: Array, theta: list[Array], key: int
    ) -> tuple[list[Array], Array]:
        """θ and c after a sweep of the kernels, given the data of the ``counts``."""
        terms = np.flatnonzero(counts.sum(axis=0)).astype(np.int32)
        data = counts.sum(axis=0)[terms].astype(np.float64)
        if self.latent is not None:
            data = (
                np.ones(terms.size)
                if self.latent == "truncated_poisson"
                else rng.gamma(data) / NOISE
            )
        documents = Documents(np.array([0, terms.size]), terms, data, np.zeros(1, np.uint64))
        work, layers = scratch_for(0, 1, documents, self.law, self.layers), self.layers
        restart(work.rng, np.uint64(key), 0)
        document = sweeps._open(0, documents, self.law, layers, work)._replace(
            labelled=self.labelled
        )
        sweeps._load_terms(document, terms, self.network, work)
        least = sweeps._begin(document, layers, work)
        state, top = work.state, work.state.total[-1]
        for t in reversed(range(len(theta))):
            here = slice(layers.at[t], layers.at[t + 1])
            if t < len(theta) - 1:
                sweeps._mix_down(t, document, layers, work)
            if t > 0 or not self.labelled:
                every = np.zeros(layers.at[t + 1] - layers.at[t])
                every[: theta[t].size] = theta[t]
                state.total[t] = list_units(every, state.parts[here], work.active)
        if self.labelled:
            self._label(work, counts[:, terms])
        sweeps.sweep_document(document, data, self.law, layers, work, least, top)
        new = [state.parts[a : a + len(each)] * state.total[t]
               for t, (a, each) in enumerate(zip(layers.at, theta, strict=False))]  # fmt: skip
        if self.labelled:  # θ1 is marginalised
            size = theta[0].size
            new[0] = rng.gamma(state.a[:size] + state.m[:size]) / (state.c[0] + 1.0)
        return new, state.c.copy()

    def _label(self, work: Any, counts: Array) -> None:
        """The labels of the tokens, term by term, and the topics that have some."""
        labels, used = work.labels, work.state.used[0]
        z = [np.repeat(np.arange(len(each)), each) for each in counts.T]
        labels.z[: counts.sum()] = np.concatenate([*z, []])
        topics = np.flatnonzero(counts.sum(axis=1))
        used[0], used[1 : topics.size + 1] = topics.size, topics
        labels.held[1 : topics.size + 1] = counts.sum(axis=1)[topics]
        labels.place[topics] = np.arange(1, topics.size + 1)


def statistics(theta: list[Array], c: Array, counts: Array) -> Array:
    total = np.log1p([each.sum() for each in theta])
    data, share = np.sqrt(counts.sum(axis=0)), c / (1 + c)
    parts = [np.sqrt(np.concatenate(theta)), np.log(c), total, data, data * share[0]]
    return np.concatenate([*parts, np.outer(total, share).ravel()])


def largest(model: Model, chains: int, length: int) -> float:
    """The largest |z| of all statistics: after some sweeps, and in the prior."""
    rng, prior, after = np.random.default_rng(7), [], []
    for number in range(chains):
        theta, c = model.values(rng)
        prior.append(statistics(theta, c, model.counts(rng, theta)))
        theta, c = model.values(rng)
        counts = model.counts(rng, theta)
        for sweep in range(length):
            theta, c = model.sweep(rng, counts, theta, number * length + sweep)
            counts = model.counts(rng, theta)
        after.append(statistics(theta, c, counts))
    error = np.sqrt((np.var(prior, axis=0) + np.var(after, axis=0)) / chains)
    return float(np.abs((np.mean(after, axis=0) - np.mean(prior, axis=0)) / error).max())


CASES = [
    pytest.param(
        depth, latent, labelled, id=f"{depth}-{latent or ('labels' if labelled else 'splits')}"
    )
    for depth in (1, 2, 3, 0)
    for latent, labelled in (
        (None, True),
        (None, False),
        ("truncated_poisson", False),
        ("bessel", False),
    )
]


@pytest.mark.parametrize(("depth", "latent", "labelled"), CASES)
def test_documents_have_the_joint_law(depth: int, latent: str | None, labelled: bool) -> None:
    """A depth of 0 stands for two wide layers."""
    assert largest(Model(depth, latent, labelled), 2000, 4) < 4.0


@pytest.mark.parametrize("labelled", [True, False])
def test_a_wrong_order_is_seen(labelled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that are drawn last are those of counts which the next sweep has replaced."""

    def wrong(document, data, law, layers, work, least, top) -> None:
        count = sweeps._draw_counts(document, data, law, layers, work, least)
        sweeps._draw_rates(layers.prior, count, top, work)
        sweeps._draw_layers(document, layers, work)
        sweeps._pass_tables_up(layers, work)

    monkeypatch.setattr(sweeps, "sweep_document", wrong)
    assert largest(Model(2, None, labelled), 500, 4) > 6.0
