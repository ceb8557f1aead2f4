"""Do other programs, and exact sums, agree with our samplers? What docs/agreement.md shows.

    python -m benchmarks.agreement peers --data ../shared/data/20newsgroups.npz --json peers.json
    python -m benchmarks.agreement exact --json exact.json

``peers``: log p(w, z) a token of LDA by sweep, with the same priors and the same kind of start
(uniform labels), for our collapsed sampler, one out of textbooks, tomotopy's and topica's, over
several seeds. All labels are scored by one formula, ours. ``exact``: posteriors of tiny corpora by
summing over every labelling, beside the averages of every first-layer sampler and of the inference
of new documents.
Each line ends in a difference in standard errors; if any is above three, the exit code is 1.
Those of tomotopy are shown, and do not count: it is behind the textbook in its first sweeps.
"""

import argparse
import gzip
import itertools
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

import pgbn
from benchmarks.networks import machine, plot, save
from benchmarks.sweep import load
from benchmarks.textbook import textbook_sweep

__all__ = ["exact", "joint_a_token", "peers"]

ETA = 0.05
SWEEPS = (2, 5, 50, 100, 200)  # where the programs are compared
MOST = 3.0  # standard errors

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
    return (_dirichlet_multinomial(words, ETA) + _dirichlet_multinomial(units, alpha)) / row.size


def _dirichlet_multinomial(counts: Labels, prior: float) -> float:
    """ln p of the rows of counts, each as one sequence of draws from a Dirichlet."""
    cells = gammaln(prior + counts[counts > 0]).sum() - gammaln(prior) * (counts > 0).sum()
    total, mass = counts.sum(axis=1), prior * counts.shape[1]
    return float(cells + (gammaln(mass) - gammaln(mass + total)).sum())


# ---- other programs -------------------------------------------------------------------


def ours(counts: sparse.csr_matrix, topics: int, alpha: float, seed: int) -> Trace:
    """Our collapsed sampler. Flat Φ and θ to begin with give every token a uniform label."""
    documents, terms = counts.shape
    flat = {
        "phi": np.full((topics, terms), 1 / terms),
        "theta": np.full((documents, topics), 1 / topics),
    }
    chain = pgbn.zoo.lda(topics, alpha=alpha, eta=ETA).chain(
        {"x": counts}, seed=seed, init=flat, layer1="collapsed", threads=1
    )
    row, word = _tokens(counts)
    trace = {}
    for sweeps in SWEEPS:
        chain.sweep(sweeps - chain.sweeps)
        label = chain.state()["sampler/labels"].astype(np.int64)
        trace[sweeps] = joint_a_token(row, word, label, (documents, terms, topics), alpha)
    return trace


def tomotopy(counts: sparse.csr_matrix, topics: int, alpha: float, seed: int) -> Trace:
    """tomotopy's LDA, one worker, its priors held."""
    import tomotopy as tp

    model = tp.LDAModel(k=topics, alpha=alpha, eta=ETA, seed=seed)
    row, word = _tokens(counts)
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
    """The sampler of textbooks, beside which the three are measured."""
    row, word = _tokens(counts)
    random = np.random.default_rng(seed)
    label, shape = random.integers(0, topics, row.size), (*counts.shape, topics)
    trace, done = {}, 0
    for sweeps in SWEEPS:
        for _ in range(sweeps - done):
            textbook_sweep(row, word, label, shape, alpha, ETA, random)
        done = sweeps
        trace[sweeps] = joint_a_token(row, word, label, shape, alpha)
    return trace


def topica(counts: sparse.csr_matrix, topics: int, alpha: float, seed: int) -> Trace:
    """topica's LDA by its sparse sampler, one thread, its priors held. Its chain cannot be stopped
    and looked at, so that every length is a run of its own from the same seed; the snapshot is
    taken ``sample_interval`` sweeps after ``iters``."""
    from topica import LDA

    row, word = _tokens(counts)
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


def _tokens(counts: sparse.csr_matrix) -> tuple[Labels, Labels]:
    """The document and the word of every token."""
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return np.repeat(row, counts.data), np.repeat(counts.indices.astype(np.int64), counts.data)


PROGRAMS: dict[str, Callable[[sparse.csr_matrix, int, float, int], Trace]] = {
    "pgbn": ours, "textbook": textbook, "tomotopy": tomotopy, "topica": topica,
}  # fmt: skip


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


def _compare(found: dict[str, dict[int, list[float]]]) -> list[float]:
    """Print means, and differences from ours in standard errors of the difference."""
    scores = []
    for name, trace in found.items():
        for sweeps, values in trace.items():
            line = f"{name:9} {sweeps:4} sweeps {np.mean(values):.4f} ± {_error(values):.4f}"
            if name != "pgbn":
                mine = found["pgbn"][sweeps]
                spread = np.hypot(_error(values), _error(mine))
                score = float((np.mean(mine) - np.mean(values)) / spread)
                scores += [score] * (name != "tomotopy")
                line += f"   pgbn − {name}: {score:+.2f} standard errors"
            print(line)
    return scores


def _error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


# ---- exact sums -----------------------------------------------------------------------

TINY = np.array([[2, 1, 0], [1, 0, 2], [0, 2, 1]])  # nine tokens of three terms
TOPICS, ALPHA, TINY_ETA = 2, 0.7, 0.4
STATISTICS = ("units of a document", "sizes of the topics", "words of the topics")


def statistics(units: Labels, words: Labels) -> NDArray[np.float64]:
    """Σ m_jk², Σ_k m_·k², Σ n_vk²: the names of the topics do not matter to them."""
    return np.array([(units**2).sum(), (units.sum(axis=0) ** 2).sum(), (words**2).sum()], float)


def _expected() -> NDArray[np.float64]:
    """E of the statistics under p(z | w), summed over all 2⁹ labellings."""
    row, word = _tokens(sparse.csr_matrix(TINY))
    weight, values = [], []
    for labels in itertools.product(range(TOPICS), repeat=row.size):
        words, units = np.zeros((TOPICS, 3), np.int64), np.zeros((3, TOPICS), np.int64)
        np.add.at(words, (labels, word), 1)
        np.add.at(units, (row, labels), 1)
        weight.append(
            _dirichlet_multinomial(words, TINY_ETA) + _dirichlet_multinomial(units, ALPHA)
        )
        values.append(statistics(units, words))
    share = np.exp(np.array(weight) - max(weight))
    return share @ np.array(values) / share.sum()


def _averages(layer1: str, sweeps: int) -> NDArray[np.float64]:
    """The statistics after every sweep, (sweeps, 3)."""
    chain = pgbn.zoo.lda(TOPICS, alpha=ALPHA, eta=TINY_ETA).chain(
        {"x": TINY}, seed=5, layer1=layer1
    )
    out = np.empty((sweeps, len(STATISTICS)))
    for each in out:
        counts = chain.sweep().counts
        each[:] = statistics(counts["theta"], counts["phi"])
    return out


def new_document(samples: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """E[θ_k / θ_·] of one new document given Φ and r: exact, and by `pgbn.infer` over 32 seeds."""
    phi = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
    r, x = np.array([0.4, 0.9]), np.array([[2, 1, 1]])
    word = np.repeat(np.arange(3), x[0])
    weight, shares = [], []
    for labels in itertools.product(range(2), repeat=word.size):
        m = np.bincount(labels, minlength=2)
        weight.append(np.prod(phi[list(labels), word]) * np.exp(gammaln(r + m).sum()))
        shares.append((r + m) / (r + m).sum())
    expected = np.array(weight) @ np.array(shares) / np.sum(weight)
    model = pgbn.TrainedNetwork(phi=(phi,), r=r, c=np.ones(1))
    found = [
        pgbn.infer(model, x, burn_in=20, samples=samples, seed=s).proportions[1][0]
        for s in range(32)
    ]
    return expected, np.array(found)


def exact(sweeps: int) -> dict[str, float]:
    """{what: difference in standard errors}, of batch means for chains."""
    expected, scores = _expected(), {}
    for layer1 in ("collapsed", "partial", "blocked", "composed"):
        batches = _averages(layer1, sweeps).reshape(50, -1, len(STATISTICS)).mean(axis=1)
        for name, mean, values in zip(STATISTICS, expected, batches.T, strict=True):
            error = values.std(ddof=1) / np.sqrt(len(values))
            scores[f"{layer1}: {name}"] = float((values.mean() - mean) / error)
    mean, found = new_document(sweeps // 32)
    error = found[:, 0].std(ddof=1) / np.sqrt(len(found))
    scores["a new document: share of the first topic"] = float(
        (found[:, 0].mean() - mean[0]) / error
    )
    for name, score in scores.items():
        print(f"{name:45} {score:+.2f} standard errors")
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("peers", "exact"))
    parser.add_argument("--data", type=Path, help="a corpus; simulated if left out")
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--documents", type=int, help="the first so many; all if left out")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--alpha", type=float, default=0.5)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--sweeps", type=int, default=20_000, help="of exact")
    parser.add_argument("--programs", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--json")
    parser.add_argument("--plot")
    options = parser.parse_args()
    if options.what == "exact":
        found = exact(options.sweeps)
        scores = list(found.values())
    else:
        alpha = options.alpha
        counts = load(options.data, options.vocabulary)[: options.documents]
        found = peers(counts, options.topics, alpha, options.seeds, options.programs)
        scores = _compare(found)
        lines = {
            name: (list(trace), [np.mean(v) for v in trace.values()])
            for name, trace in found.items()
        }
        plot(options.plot, lines, "sweeps", "log p(w, z) a token", log=False)
    save(
        options.json,
        {"arguments": vars(options), "machine": machine(), "found": found, "scores": scores},
    )
    worst = max(map(abs, scores))
    print(f"largest difference: {worst:.2f} standard errors (at most {MOST:g})")
    sys.exit(0 if worst < MOST else 1)


if __name__ == "__main__":
    main()
