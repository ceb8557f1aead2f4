"""LDA by other programs, from uniform labels and with the same priors, scored by one formula.

Each gives log p(w, z) a token after some numbers of sweeps. The order in which a sweep visits the
documents matters in the first of them: where it is always the same, the labels that were drawn
earliest, from the least that was known, are the first to be drawn anew. tomotopy takes another
order in each sweep, so that it is compared with a textbook sampler that does so too.
"""

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

import pgbn
from benchmarks.textbook import textbook_sweep

__all__ = ["PROGRAMS", "REFERENCES", "SWEEPS", "joint_a_token", "log_dirichlet", "peers", "tokens"]

ETA = 0.05
SWEEPS = (2, 5, 50, 100, 200)  # where the programs are compared

Labels = NDArray[np.int64]
Trace = dict[int, float]  # from the number of sweeps to log p(w, z) a token


def joint_a_token(row: Labels, word: Labels, label: Labels, shape: tuple[int, int, int],
                  alpha: float) -> float:  # fmt: skip
    """log p(w, z) / N with Φ and θ integrated out:

    Σ_k [ln Γ(Vη) − ln Γ(Vη + n_k) + Σ_v (ln Γ(η + n_vk) − ln Γ(η))] and the like for documents.
    """
    documents, terms, topics = shape
    words = np.zeros((topics, terms), np.int64)
    np.add.at(words, (label, word), 1)
    units = np.zeros((documents, topics), np.int64)
    np.add.at(units, (row, label), 1)
    return (log_dirichlet(words, ETA) + log_dirichlet(units, alpha)) / row.size


def log_dirichlet(counts: Labels, prior: float) -> float:
    """ln p of the rows of counts, each as one sequence of draws from a Dirichlet."""
    cells = gammaln(prior + counts[counts > 0]).sum() - gammaln(prior) * (counts > 0).sum()
    total, mass = counts.sum(axis=1), prior * counts.shape[1]
    return float(cells + (gammaln(mass) - gammaln(mass + total)).sum())


def ours(counts: sparse.csr_matrix, topics: int, alpha: float, seed: int) -> Trace:
    """Our collapsed sampler. Flat Φ and θ to begin with give every token a uniform label."""
    documents, terms = counts.shape
    flat = {
        "phi": np.full((topics, terms), 1 / terms),
        "theta": np.full((documents, topics), 1 / topics),
    }
    chain = pgbn.zoo.lda(topics, alpha=alpha, eta=ETA).chain(
        {"x": counts}, seed=seed, start=flat, sampler="collapsed", threads=1
    )
    row, word = tokens(counts)
    trace = {}
    for sweeps in SWEEPS:
        chain.sweep(sweeps - chain.sweeps)
        label = chain.state()["sampler/labels"].astype(np.int64)
        trace[sweeps] = joint_a_token(row, word, label, (documents, terms, topics), alpha)
    return trace


def tomotopy(counts: sparse.csr_matrix, topics: int, alpha: float, seed: int) -> Trace:
    """tomotopy's LDA, one worker, its priors held; its sweeps shuffle the documents."""
    import tomotopy as tp

    model = tp.LDAModel(k=topics, alpha=alpha, eta=ETA, seed=seed)
    row, word = tokens(counts)
    for document in np.split(word, np.flatnonzero(np.diff(row)) + 1):
        model.add_doc([str(v) for v in document])
    model.optim_interval = 0
    model.train(0, workers=1)
    number = np.array([int(v) for v in model.used_vocabs])
    trace, done = {}, 0
    for sweeps in SWEEPS:
        model.train(sweeps - done, workers=1, parallel=tp.ParallelScheme.NONE)
        done = sweeps
        label = np.concatenate([np.asarray(each.topics) for each in model.docs]).astype(np.int64)
        own = np.concatenate([number[np.asarray(each.words)] for each in model.docs])
        at = np.repeat(np.arange(len(model.docs)), [len(each.words) for each in model.docs])
        assert own.size == word.size
        trace[sweeps] = joint_a_token(at, own, label, (*counts.shape, topics), alpha)
    return trace


def textbook(counts: sparse.csr_matrix, topics: int, alpha: float, seed: int) -> Trace:
    """The sampler of textbooks, beside which the others are measured."""
    return _by_textbook(counts, topics, alpha, seed, False)


def shuffled(counts: sparse.csr_matrix, topics: int, alpha: float, seed: int) -> Trace:
    """The same, with the documents of every sweep in another order."""
    return _by_textbook(counts, topics, alpha, seed, True)


def _by_textbook(
    counts: sparse.csr_matrix, topics: int, alpha: float, seed: int, shuffle: bool
) -> Trace:
    row, word = tokens(counts)
    random = np.random.default_rng(seed)
    label, shape = random.integers(0, topics, row.size), (*counts.shape, topics)
    trace = {}
    for sweep in range(1, max(SWEEPS) + 1):
        order = np.arange(row.size)
        if shuffle:
            order = np.argsort(random.permutation(counts.shape[0])[row], kind="stable")
        drawn = label[order]
        textbook_sweep(row[order], word[order], drawn, shape, alpha, ETA, random)
        label[order] = drawn
        if sweep in SWEEPS:
            trace[sweep] = joint_a_token(row, word, label, shape, alpha)
    return trace


def topica(counts: sparse.csr_matrix, topics: int, alpha: float, seed: int) -> Trace:
    """topica's LDA by its sparse sampler, one thread, its priors held. Its chain cannot be stopped
    and looked at, so that every length is a run of its own from the same seed; the snapshot is
    taken ``sample_interval`` sweeps after ``iters``."""
    from topica import LDA

    row, word = tokens(counts)
    texts = [[str(v) for v in each] for each in np.split(word, np.flatnonzero(np.diff(row)) + 1)]
    trace = {}
    for sweeps in SWEEPS:
        model = LDA(topics, alpha_sum=alpha * topics, beta=ETA, optimize_interval=0, seed=seed,
                    num_threads=1, use_symmetric_alpha=True)  # fmt: skip
        model.fit(texts, iters=sweeps - 1, num_samples=1, sample_interval=1,
                  keep_theta_draws=False, progress=False)  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.gz"
            model.save_state(str(path))
            with gzip.open(path, "rt") as file:
                lines = [line.split() for line in file if not line.startswith("#")]
        at, own, label = np.array([(line[0], line[4], line[5]) for line in lines], np.int64).T
        assert own.size == word.size
        trace[sweeps] = joint_a_token(at, own, label, (*counts.shape, topics), alpha)
    return trace


def tokens(counts: sparse.csr_matrix) -> tuple[Labels, Labels]:
    """The document and the word of every token."""
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return np.repeat(row, counts.data), np.repeat(counts.indices.astype(np.int64), counts.data)


PROGRAMS: dict[str, Callable[[sparse.csr_matrix, int, float, int], Trace]] = {
    "pgbn": ours, "textbook": textbook, "topica": topica, "shuffled": shuffled,
    "tomotopy": tomotopy,
}  # fmt: skip
# with which each is compared: the one that visits the documents as it does
REFERENCES = {"textbook": "pgbn", "topica": "pgbn", "tomotopy": "shuffled"}


def peers(counts: sparse.csr_matrix, topics: int, alpha: float, seeds: int,
          programs: list[str]) -> dict[str, dict[int, list[float]]]:  # fmt: skip
    """{program: {sweeps: one number for each seed}}."""
    counts = sparse.csr_matrix(counts[np.asarray(counts.sum(axis=1)).ravel() > 0])
    found: dict[str, dict[int, list[float]]] = {}
    for name in programs:
        traces = [PROGRAMS[name](counts, topics, alpha, 1 + seed) for seed in range(seeds)]
        found[name] = {sweeps: [trace[sweeps] for trace in traces] for sweeps in SWEEPS}
        print(name, {sweeps: round(float(np.mean(v)), 4) for sweeps, v in found[name].items()},
              flush=True)  # fmt: skip
    return found
