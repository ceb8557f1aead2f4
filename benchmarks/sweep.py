"""Seconds per sweep: our kernels and networks, the plain dense loop, tomotopy's and topica's LDA.

    python -m benchmarks.sweep --data ../shared/data/20newsgroups.npz
    python -m benchmarks.sweep --data ../shared/data/20newsgroups.npz --vocabulary 2000 --topics 512
    python -m benchmarks.sweep --data ../shared/data/20newsgroups.npz --widths 400 200 200 100 100

All sides run in turn, several rounds, in one process, so that ratios survive a busy machine;
topica, whose chain cannot be stopped, runs before them, and its mean over many sweeps is taken.
Without ``--data`` a corpus is drawn from the model. With ``--widths`` whole sweeps of a network
are measured, else the kernels of the first layer alone, with the prior r_k = 50 / K.
"""

import argparse
import time

import numpy as np
from numba import njit
from scipy import sparse

from benchmarks.networks import Sweeper, least, machine, measure, save
from pgbn.samplers.executor import Threads
from pgbn.samplers.first_layer.collapsed import (
    Labelling,
    allocate_collapsed,
    smoothing_of,
    word_topics,
)
from pgbn.samplers.first_layer.given_topics import (
    allocate_shared,
    split_all_cells,
    weigh_words,
    word_weights,
)
from pgbn.samplers.first_layer.loadings import draw_loadings, empty_loadings
from pgbn.samplers.first_layer.tokens import (
    RowPriors,
    count_rows,
    count_words,
    expand,
    word_order,
)
from pgbn.samplers.random import stream_key
from pgbn.samplers.thinning import SparseCounts

ETA = 0.05


def load(path, vocabulary):
    """Counts (documents × terms, CSR) of a file as in ``shared/data``, or simulated ones."""
    if path is None:
        return simulate(vocabulary or 5000)
    with np.load(path) as file:
        terms = len(file["vocabulary"])
        prefix = "train_" if "train_indptr" in file else ""
        parts = [
            sparse.csr_matrix(
                (file[p + "data"].astype(np.int64), file[p + "indices"], file[p + "indptr"]),
                shape=(len(file[p + "indptr"]) - 1, terms),
            )
            for p in ([prefix, "test_"] if prefix else [""])
        ]
    counts = parts[0]
    if vocabulary:
        frequency = sum(np.asarray(part.sum(axis=0)).ravel() for part in parts)
        counts = counts[:, np.sort(np.argsort(-frequency, kind="stable")[:vocabulary])]
    counts.sort_indices()
    return counts


def simulate(vocabulary, documents=5000, topics=100, length=100, seed=0):
    """A corpus with Zipfian words, topics of its own, and documents of a few topics."""
    rng = np.random.default_rng(seed)
    base = 1.0 / np.arange(1, vocabulary + 1)
    phi = rng.gamma(np.outer(np.ones(topics), 0.05 * vocabulary * base / base.sum()))
    phi /= phi.sum(axis=1, keepdims=True)
    rows = [
        rng.multinomial(rng.poisson(length), rng.dirichlet(np.full(topics, 0.05)) @ phi)
        for _ in range(documents)
    ]
    return sparse.csr_matrix(np.array(rows))


@njit(nogil=True)
def dense_sweep(tokens, row, word, z, n_wk, n_k, m, prior, eta):
    """The yardstick: eq. (z) for every token and all K topics, tokens in the given order."""
    vocabulary, topics = n_wk.shape
    cumulative = np.empty(topics)
    for i in tokens:
        w, j, k = word[i], row[i], z[i]
        n_wk[w, k] -= 1
        n_k[k] -= 1
        m[j, k] -= 1
        total = 0.0
        for k in range(topics):
            total += (eta + n_wk[w, k]) / (vocabulary * eta + n_k[k]) * (m[j, k] + prior[k])
            cumulative[k] = total
        target = np.random.random() * total  # noqa: NPY002 (the generator that numba has)
        k = 0
        while cumulative[k] < target:
            k += 1
        z[i] = k
        n_wk[w, k] += 1
        n_k[k] += 1
        m[j, k] += 1


class State:
    """Labels and the tables that belong to them, for one replicate."""

    def __init__(self, counts, topics, z=None):
        self.documents, self.vocabulary = counts.shape
        self.topics = topics
        self.cells = SparseCounts(
            counts.indptr.astype(np.int64), counts.indices, counts.data.astype(np.int64)
        )
        self.tokens = expand(*self.cells)
        self.order = word_order(self.tokens, self.documents, self.vocabulary)
        if z is None:
            z = np.random.default_rng(0).integers(0, topics, self.tokens.word.size)
        self.z = z.astype(np.uint16)
        self.prior = np.full((1, topics), 50.0 / topics)
        self.priors = RowPriors(self.prior, self.documents)
        self.n_wk = np.zeros((1, self.vocabulary, topics), np.int32)
        count_words(0, 0, self.vocabulary, *self.order, self.z, self.n_wk)
        self.n_k = self.n_wk.sum(axis=1, dtype=np.int64)
        self.m = np.zeros((self.documents, topics), np.int64)
        count_rows(0, 0, self.documents, self.tokens.row_start, self.z, self.m)
        self.sweeps = 0

    def key(self):
        self.sweeps += 1
        return stream_key(self.sweeps)


class Collapsed(State):
    def __init__(self, counts, topics, z=None):
        super().__init__(counts, topics, z)
        self.table = word_topics(
            self.tokens, self.z, self.documents, self.vocabulary, topics, self.order
        )

    def sweep(self):
        labelling = Labelling(self.z, self.table, self.n_k, self.m)
        allocate_collapsed(np.uint64(self.key()), 0, 1, self.tokens, labelling, self.priors,
                           smoothing_of(ETA, 1, self.vocabulary))  # fmt: skip


class Partial(State):
    listed = False

    def __init__(self, counts, topics, z, threads):
        super().__init__(counts, topics, z)
        self.executor = Threads(threads)
        self.words = word_weights(self.vocabulary, topics)
        self.loadings = empty_loadings(self.n_wk.sum(axis=2), topics, ETA, listed=self.listed)

    def draw_phi(self):
        words = (*self.order, self.z, self.n_wk)
        self.executor.rows(count_words, self.vocabulary, 0, *words)
        draw_loadings(self.key(), self.n_wk, ETA, self.loadings, self.executor)

    def draw_labels(self):
        self.executor.rows(
            allocate_shared,
            self.documents,
            self.key(),
            self.tokens,
            self.z,
            self.loadings,
            self.m,
            self.priors,
            weigh_words(self.loadings, self.priors, self.documents, self.words, self.executor),
        )

    def sweep(self):
        self.draw_phi()
        self.draw_labels()


class Blocked(Partial):
    """θ is drawn outside the clock: it is a step of the network, not of these kernels."""

    listed = True

    def prepare(self):
        self.theta = np.random.default_rng(self.sweeps).standard_gamma(self.m + self.prior)

    def draw_phi(self):
        draw_loadings(self.key(), self.n_wk, ETA, self.loadings, self.executor)

    def draw_labels(self):
        split_all_cells(
            self.key(),
            self.cells,
            self.loadings,
            self.theta,
            self.n_wk,
            self.m,
            self.executor,
        )


class Dense(State):
    def __init__(self, counts, topics, z):
        super().__init__(counts, topics, z)
        self.row = np.repeat(np.arange(self.documents), np.diff(self.tokens.row_start))
        self.permutation = np.random.default_rng(1).permutation(self.z.size)
        self.labels = self.z.astype(np.int64)
        self.run(self.permutation[:0])

    def run(self, tokens):
        tables = (self.n_wk[0], self.n_k[0], self.m, self.prior[0], ETA)
        dense_sweep(tokens, self.row, self.tokens.word, self.labels, *tables)

    def sweep(self):
        self.run(self.permutation)


class Tomotopy:
    def __init__(self, counts, topics, burn_in):
        import tomotopy

        self.model = tomotopy.LDAModel(k=topics, alpha=50.0 / topics, eta=ETA, seed=1)
        tokens = expand(counts.indptr, counts.indices, counts.data)
        for j in range(counts.shape[0]):
            words = tokens.word[tokens.row_start[j] : tokens.row_start[j + 1]]
            if words.size:
                self.model.add_doc([str(w) for w in words])
        self.model.optim_interval = 0
        self.model.train(burn_in, workers=1)

    def sweep(self):
        self.model.train(1, workers=1)


def topica_times(counts, topics, sampler, burn_in):
    """Mean CPU and wall seconds of topica's sweeps after ``burn_in``, over as many."""
    from topica import LDA

    tokens = expand(counts.indptr, counts.indices, counts.data)
    texts = [[str(w) for w in words] for words in np.split(tokens.word, tokens.row_start[1:-1])]
    model = LDA(topics, alpha_sum=50.0, beta=ETA, optimize_interval=0, seed=1, num_threads=1,
                use_symmetric_alpha=True, sampler=sampler, mh_steps=1)  # fmt: skip
    marks = []

    def note(sweep, _total, _facts):
        marks.append((sweep, time.process_time(), time.perf_counter()))

    model.fit([text for text in texts if text], iters=2 * burn_in, num_samples=1,
              keep_theta_draws=False, progress=note, progress_interval=burn_in)  # fmt: skip
    (first, cpu, wall), (last, cpu_end, wall_end) = marks[0], marks[-1]
    return [((cpu_end - cpu) / (last - first), (wall_end - wall) / (last - first))]


def first_layer(counts, topics, burn_in, repeats, threads):
    """The kernels of the first layer alone, T = 1."""
    collapsed = Collapsed(counts, topics)
    for _ in range(burn_in):
        collapsed.sweep()
    z = collapsed.z
    sides = {"dense": Dense(counts, topics, z)}
    try:
        sides["tomotopy"] = Tomotopy(counts, topics, burn_in)
    except ImportError:
        print("tomotopy is not installed")
    sides["collapsed"] = Collapsed(counts, topics, z)
    for number in threads:
        suffix = "" if number == 1 else f" {number} threads"
        sides["partial" + suffix] = Partial(counts, topics, z, number)
        sides["blocked" + suffix] = Blocked(counts, topics, z, number)
    others = {}
    try:
        for sampler in ("sparse", "warp"):
            others[f"topica {sampler}"] = topica_times(counts, topics, sampler, max(burn_in, 2))
    except ImportError:
        print("topica is not installed")
    measure({name: side for name, side in sides.items() if isinstance(side, Partial)}, 1)
    return measure(sides, repeats) | others


def networks(counts, widths, burn_in, repeats, threads):
    """Whole sweeps: T = 1 with the first width, all widths with each number of threads, and the
    dense loop over the first layer alone."""
    deep = Sweeper(counts, widths, 1, burn_in=burn_in)
    one = Sweeper(counts, widths[:1], 1, burn_in=burn_in)
    sides = {"dense": Dense(counts, widths[0], deep.chain._first_layer.labels)}
    sides["T = 1"] = one
    for number in threads:
        name = f"T = {len(widths)}, {number} thread{'s' * (number > 1)}"
        sides[name] = Sweeper(counts, widths, number, like=deep) if number > 1 else deep
    measure(sides, 1)
    return measure(sides, repeats)


def show(times, counts, title):
    """Least CPU and wall seconds, and how many times faster than the yardsticks."""
    documents, vocabulary = counts.shape
    print(f"{documents} documents, {vocabulary} terms, {int(counts.sum())} tokens; {title}")
    found = least(times)
    print(f"{'':20s}{'CPU s':>9s}{'wall s':>9s}{'dense ÷':>9s}{'tomotopy ÷':>12s}")
    for name, (cpu, wall) in found.items():
        ratio = f"{found['tomotopy'][0] / cpu:12.1f}" if "tomotopy" in found else ""
        print(f"{name:20s}{cpu:9.3f}{wall:9.3f}{found['dense'][0] / cpu:9.1f}{ratio}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="an .npz file as in shared/data")
    parser.add_argument("--vocabulary", type=int, help="keep the most frequent terms")
    parser.add_argument("--topics", type=int, default=400, help="of the first layer alone")
    parser.add_argument("--widths", type=int, nargs="+", help="whole sweeps of a network instead")
    parser.add_argument("--burn-in", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, nargs="*", default=[1])
    parser.add_argument("--full", action="store_true", help="every row of the page of times")
    parser.add_argument("--json", help="write the results to this file")
    arguments = parser.parse_args()
    burn_in, repeats = arguments.burn_in, arguments.repeats
    cases = [(arguments.vocabulary, arguments.widths or [arguments.topics], arguments.threads)]
    if arguments.full:
        cases = [
            (None, [400], [1, 2]),
            (2000, [512], [1, 2]),
            (2000, [128] * 5, [1, 2]),
            (2000, [512, 256, 256, 128, 128], [1, 2]),
            (None, [400, 200, 200, 100, 100], [1, 2]),
        ]
    results = []
    for vocabulary, widths, threads in cases:
        counts = load(arguments.data, vocabulary)
        if len(widths) > 1 or arguments.widths:
            times = networks(counts, widths, burn_in, repeats, threads)
        else:
            times = first_layer(counts, widths[0], burn_in, repeats, threads)
        title = f"widths {widths}, least of {repeats} sweeps after {burn_in}; {machine()}"
        found = show(times, counts, title)
        results.append({"title": title, "shape": counts.shape, "least": found, "times": times})
    save(arguments.json, {"arguments": vars(arguments), "results": results})


if __name__ == "__main__":
    main()
