"""Can upper layers be read, and what do they cost? Budgets of layers side by side.

    python -m benchmarks.layers --newsgroups 20newsgroups.npz --nips nips12.npz \
        --fortunes /usr/share/games/fortunes

Of every document 80 % of the tokens are seen. Each line is one training with the settings of the
estimator (`--sweeps` for others): the widths that it ended with, the perplexity of the other tokens
by the ratio of sums over samples in the last layer's collection, CPU seconds, and for each layer

- twins: the topics that share six of their ten leading words with another one of the layer,
- diversity: distinct words / all words among the leading ten,
- NPMI of the words that are shown, and of the most probable ones, over the whole documents.

With a budget for each layer, twins of upper layers are merged as the estimator does it; only that
as many sweeps follow as were collected before, so that perplexities average over as many samples.

Beside it one layer of scikit-learn's LDA, and of tomotopy and topica where they are installed, with
as many topics as our first layer may have, scored with the same tokens and the same functions.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import pgbn
from benchmarks.networks import machine
from examples.paper.corpora import load_newsgroups, load_nips
from pgbn.corpus import count_terms
from pgbn.docstrings import docstrings
from pgbn.evaluation import HeldOutPerplexity, leading_words, split_tokens
from pgbn.evaluation.coherence import word_coherence
from pgbn.evaluation.layer_quality import effective_width, twins_and_diversity
from pgbn.evaluation.untwinning import without_twins

SEEN, THIN, TOP = 0.8, 10, 10


# ---- corpora --------------------------------------------------------------------------


def demo():
    """The docstrings of numpy and scipy, as `pgbn demo` reads them."""
    return count_terms(docstrings(), stop_words="english", min_df=5, max_df=0.25,
                       token_pattern="[A-Za-z]{3,}").counts  # fmt: skip


def fortunes(folder):
    """The sayings of Debian's package fortunes, with the settings of `pgbn fit`."""
    texts = {}
    for file in sorted(Path(folder).iterdir()):
        if file.is_file() and not file.suffix:
            every = file.read_text("utf-8", errors="replace").split("\n%\n")
            texts |= {f"{file.name} {n}": text for n, text in enumerate(every)}
    return count_terms(texts, stop_words="english", min_df=2, max_df=0.5).counts


def corpora(arguments):
    """Those that were asked for and can be had, by name."""
    found = {"demo": demo}
    if arguments.fortunes:
        found["fortunes"] = lambda: fortunes(arguments.fortunes)
    if arguments.newsgroups:
        found["20newsgroups"] = lambda: load_newsgroups(arguments.newsgroups)["train"]
    if arguments.nips:
        found["NIPS12"] = lambda: load_nips(arguments.nips, 13649)[0]
    return {name: read for name, read in found.items() if name in arguments.corpora}


# ---- one line of the table ------------------------------------------------------------


@dataclass
class Layer:
    width: int
    effective: float
    twins: float
    diversity: float
    npmi: float
    npmi_probable: float


@dataclass
class Line:
    corpus: str
    name: str
    perplexity: float
    seconds: float
    layers: list


def describe(leading, probable, X, effective):
    """How a layer reads, by the words that are shown and by the most probable ones."""
    twins, diversity = twins_and_diversity(leading)
    return Layer(
        width=len(leading),
        effective=effective,
        twins=twins / len(leading),
        diversity=diversity,
        npmi=float(word_coherence(leading, X, X.shape[1]).mean()),
        npmi_probable=float(word_coherence(probable, X, X.shape[1]).mean()),
    )


def ours(corpus, X, seen, held, max_width, settings, save=None):
    """A training by layers with some budgets."""
    score, depth = HeldOutPerplexity(held, 1), settings["depth"]

    def collect(event):
        if event.depth == depth and event.phase == "collect" and event.sweep % THIN == 0:
            score.add_chain(event.chain)

    def go_on(merged):
        score.reset()
        return pgbn.train_layerwise(
            seen, max(merged.widths), merged.depth, collect=settings["collect"], threads=1,
            seed=settings["seed"], start_from=merged, callback=collect, progress=False,
        ).deepest  # fmt: skip

    clock = time.process_time()
    training = pgbn.train_layerwise(
        seen, max_width, callback=collect, progress=False, threads=1, **settings
    )
    if isinstance(max_width, tuple):
        training = without_twins(training, go_on)
    model = training.deepest
    seconds = time.process_time() - clock
    shown = ", ".join(map(str, max_width)) if isinstance(max_width, tuple) else f"{max_width}"
    if save:
        pgbn.save(model.without_state(), save / f"{corpus} {shown}")
    layers = [
        describe(leading_words(model, each.layer, TOP),
                 leading_words(model, each.layer, TOP, relevance=1.0), X, each.effective)
        for each in pgbn.evaluation.layer_quality(model)
    ]  # fmt: skip
    return Line(corpus, f"pgbn {shown}", score.perplexity(), seconds, layers)


def peer(corpus, name, X, held, run, topics):
    """One layer of another program: ``run`` gives samples of (Φ, θ)."""
    score, clock = HeldOutPerplexity(held, 1), time.process_time()
    samples = run(topics)
    seconds = time.process_time() - clock
    for phi, theta in samples:
        score.add(phi, theta)
    phi, theta = samples[-1]
    leading = np.argsort(-phi, axis=1, kind="stable")[:, :TOP]
    shares = theta.sum(axis=0) / theta.sum()
    effective = effective_width(shares)
    layer = describe(leading, leading, X, effective)
    return Line(corpus, f"{name} {topics}", score.perplexity(), seconds, [layer])


def peers(seen, sweeps):
    """The programs that are installed, as functions of the number of topics."""
    found = {"scikit-learn": lambda topics: _sklearn(seen, topics)}
    for name, run in (("tomotopy", _tomotopy), ("topica", _topica)):
        try:
            __import__(name)
        except ImportError:
            print(f"{name} is not installed", flush=True)
            continue
        found[name] = lambda topics, run=run: run(seen, topics, sweeps)
    return found


def _sklearn(seen, topics):
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(topics, topic_word_prior=0.05, doc_topic_prior=50 / topics,
                                      max_iter=30, random_state=0)  # fmt: skip
    theta = model.fit_transform(sp.csr_matrix(seen))
    return [(model.components_ / model.components_.sum(axis=1, keepdims=True), theta)]


def _tokens(seen):
    """The documents that are not empty as lists of words, and their places."""
    rows = np.flatnonzero(np.diff(seen.indptr))
    texts = []
    for j in rows:
        at = slice(seen.indptr[j], seen.indptr[j + 1])
        texts.append([str(w) for w in np.repeat(seen.indices[at], seen.data[at])])
    return rows, texts


def _filled(shape, topics, known, phi, rows, theta):
    """Φ and θ over all terms and documents, of those that a program knows."""
    every = np.full((topics, shape[1]), 1e-12)
    every[:, known] = phi
    of = np.full((shape[0], topics), 1.0 / topics)
    of[rows] = theta
    return every / every.sum(axis=1, keepdims=True), of


def _tomotopy(seen, topics, sweeps):
    import tomotopy

    rows, texts = _tokens(seen)
    model = tomotopy.LDAModel(k=topics, alpha=50.0 / topics, eta=0.05, seed=1)
    for text in texts:
        model.add_doc(text)
    model.train(sweeps, workers=1)
    samples = []
    for _ in range(20):
        model.train(THIN, workers=1)
        known = np.array([int(word) for word in model.used_vocabs])
        phi = np.array([model.get_topic_word_dist(k) for k in range(topics)])
        theta = np.array([document.get_topic_dist() for document in model.docs])
        samples.append(_filled(seen.shape, topics, known, phi, rows, theta))
    return samples


def _topica(seen, topics, sweeps):
    import topica

    rows, texts = _tokens(seen)
    model = topica.LDA(topics, alpha_sum=50.0, beta=0.05, optimize_interval=0, seed=1,
                       use_symmetric_alpha=True)  # fmt: skip
    model.fit(texts, iters=sweeps, num_samples=20, sample_interval=THIN, keep_theta_draws=False)
    known = np.array([int(word) for word in model.vocabulary])
    return [_filled(seen.shape, topics, known, np.asarray(model.topic_word), rows,
                    np.asarray(model.doc_topic))]  # fmt: skip


# ---- the table ------------------------------------------------------------------------


def show(line):
    """A line of a Markdown table."""

    def each(form):
        return " / ".join(form(layer) for layer in line.layers)

    cells = [
        line.corpus, line.name, each(lambda l: f"{l.width}"),
        each(lambda l: f"{l.effective:.0f}"), each(lambda l: f"{l.twins:.0%}"),
        each(lambda l: f"{l.diversity:.2f}"), each(lambda l: f"{l.npmi:.3f}"),
        each(lambda l: f"{l.npmi_probable:.3f}"), f"{line.perplexity:.1f}", f"{line.seconds:.0f}",
    ]  # fmt: skip
    print(f"| {' | '.join(cells)} |", flush=True)


def budget(text):
    numbers = tuple(int(part) for part in text.split(","))
    return numbers if len(numbers) > 1 else numbers[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--newsgroups", type=Path, help="20newsgroups.npz")
    parser.add_argument("--nips", type=Path, help="nips12.npz")
    parser.add_argument("--fortunes", type=Path, help="the folder of the package fortunes")
    parser.add_argument("--corpora", nargs="*",
                        default=["demo", "fortunes", "20newsgroups", "NIPS12"])  # fmt: skip
    parser.add_argument("--budgets", type=budget, nargs="*", default=[100, (100, 30, 10)])
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--sweeps", type=int, nargs=2, default=[300, 200], help="burn-in, collect")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--save", type=Path, help="a folder for the trained networks")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    settings = {"depth": arguments.depth, "burn_in": arguments.sweeps[0],
                "collect": arguments.sweeps[1], "seed": arguments.seed}  # fmt: skip
    print(machine(), flush=True)
    titles = ["corpus", "budgets", "widths", "effective", "twins", "diversity", "NPMI shown",
              "NPMI probable", "perplexity", "CPU s"]  # fmt: skip
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}", flush=True)
    lines = []
    for name, read in corpora(arguments).items():
        X = sp.csr_array(read())
        seen, held = split_tokens(X, SEEN, seed=0)
        for widths in arguments.budgets:
            lines.append(ours(name, X, seen, held, widths, settings, arguments.save))
            show(lines[-1])
        if not arguments.no_peers:
            topics = np.atleast_1d(arguments.budgets[-1])[0].item()
            for program, run in peers(seen, sum(arguments.sweeps)).items():
                lines.append(peer(name, program, X, held, run, topics))
                show(lines[-1])
    if arguments.json:
        plain = [{**vars(line), "layers": [vars(layer) for layer in line.layers]} for line in lines]
        arguments.json.write_text(json.dumps(plain, indent=1))


if __name__ == "__main__":
    main()
