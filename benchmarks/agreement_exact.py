"""Posteriors of tiny data, summed over every labelling, beside the averages of our samplers."""

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

import pgbn
from benchmarks.agreement_peers import log_dirichlet, tokens
from pgbn.engine.first_layer.choice import sampler_names

__all__ = ["exact"]

Labels = NDArray[np.int64]

TINY = np.array([[2, 1, 0], [1, 0, 2], [0, 2, 1]])  # nine tokens of three terms
TOPICS, ALPHA, TINY_ETA = 2, 0.7, 0.4
STATISTICS = ("units of a document", "sizes of the topics", "words of the topics")


def statistics(units: Labels, words: Labels) -> NDArray[np.float64]:
    """Σ m_jk², Σ_k m_·k², Σ n_vk²: the names of the topics do not matter to them."""
    return np.array([(units**2).sum(), (units.sum(axis=0) ** 2).sum(), (words**2).sum()], float)


def _expected() -> NDArray[np.float64]:
    """E of the statistics under p(z | w), summed over all 2⁹ labellings."""
    row, word = tokens(sparse.csr_matrix(TINY))
    weight, values = [], []
    for labels in itertools.product(range(TOPICS), repeat=row.size):
        words, units = np.zeros((TOPICS, 3), np.int64), np.zeros((3, TOPICS), np.int64)
        np.add.at(words, (labels, word), 1)
        np.add.at(units, (row, labels), 1)
        weight.append(log_dirichlet(words, TINY_ETA) + log_dirichlet(units, ALPHA))
        values.append(statistics(units, words))
    share = np.exp(np.array(weight) - max(weight))
    return share @ np.array(values) / share.sum()


def _averages(sampler: str, sweeps: int) -> NDArray[np.float64]:
    """The statistics after every sweep, (sweeps, 3)."""
    chain = pgbn.zoo.lda(TOPICS, alpha=ALPHA, eta=TINY_ETA).chain(
        {"x": TINY}, seed=5, sampler=sampler
    )
    out = np.empty((sweeps, len(STATISTICS)))
    for each in out:
        counts = chain.sweep().counts
        each[:] = statistics(counts["theta"], counts["phi"])
    return out


def new_document(samples: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """E[θ_k / θ_·] of one new document given Φ and r: exact, and by `model.infer` over 32 seeds."""
    phi = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
    r, x = np.array([0.4, 0.9]), np.array([[2, 1, 1]])
    word = np.repeat(np.arange(3), x[0])
    weight, shares = [], []
    for labels in itertools.product(range(2), repeat=word.size):
        m = np.bincount(labels, minlength=2)
        weight.append(np.prod(phi[list(labels), word]) * np.exp(gammaln(r + m).sum()))
        shares.append((r + m) / (r + m).sum())
    expected = np.array(weight) @ np.array(shares) / np.sum(weight)
    model = pgbn.TrainedNetwork.of_topics(phi=(phi,), r=r, c=np.ones(1))
    found = [
        model.infer(x, burn_in=20, draws=samples, seed=s).proportions["theta1"][0]
        for s in range(32)
    ]
    return expected, np.array(found)


def exact(sweeps: int) -> dict[str, float]:
    """{what: difference in standard errors}, of batch means for chains."""
    expected, scores = _expected(), {}
    for sampler in (*sampler_names(), "composed"):
        batches = _averages(sampler, sweeps).reshape(50, -1, len(STATISTICS)).mean(axis=1)
        for name, mean, values in zip(STATISTICS, expected, batches.T, strict=True):
            error = values.std(ddof=1) / np.sqrt(len(values))
            scores[f"{sampler}: {name}"] = float((values.mean() - mean) / error)
    mean, found = new_document(sweeps // 32)
    error = found[:, 0].std(ddof=1) / np.sqrt(len(found))
    scores["a new document: share of the first topic"] = float(
        (found[:, 0].mean() - mean[0]) / error
    )
    return scores
