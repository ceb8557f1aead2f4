"""Can upper layers be read, and what do they cost? Budgets of layers side by side.

    python -m benchmarks.layers --newsgroups 20newsgroups.npz --nips nips12.npz \
        --fortunes /usr/share/games/fortunes

Of every document 80 % of the tokens are seen. Each line is one training with the settings of the
estimator (`--sweeps` for others): the widths that it ended with, the perplexity of the other tokens
by the ratio of sums over samples in the last layer's collection, CPU seconds of training (kernels
are compiled before), and for each layer

- duplicates: the topics that share six of their ten leading words with another one of the layer,
- diversity: distinct words / all words among the leading ten,
- NPMI of the words that are shown, and of the most probable ones, over the whole documents.

With a maximum for each layer, duplicates of upper layers are merged as the estimator does; only
as many sweeps follow as were collected before, so that perplexities average over as many samples.

Beside it one layer of scikit-learn, tomotopy and topica (`--programs`), with as many topics as
our first layer may have, scored with the same tokens and the same functions. With `--json` every
line is kept when it is done, and takes the place of an earlier one of the same corpus, name and
seed; `--page docs/evidence/layers.md` then writes all of them into the page. `--save` keeps
networks, and `--read-again` describes those by the words that are shown today, without training.
"""

import argparse
import datetime
import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import pgbn
from benchmarks import one_layer
from benchmarks.networks import machine
from examples.paper.corpora import load_newsgroups, load_nips
from pgbn.checks import WIDTHS
from pgbn.evaluation import HeldOut, split_tokens
from pgbn.evaluation.layer_quality import (
    duplicates_and_diversity,
    effective_width,
    without_duplicates,
    word_coherence,
)
from pgbn.evaluation.topic_words import leading_words

SEEN, THIN, TOP = 0.8, 10, 10
CORPORA = ("demo", "fortunes", "20newsgroups", "NIPS12")
SWEEPS = (300, 200)  # burn-in and collection of each layer: the defaults of the estimator
TITLES = ("corpus", "budgets", "widths", "effective", "duplicates", "diversity", "NPMI shown",
          "NPMI probable", "perplexity", "CPU s", "seed", "date")  # fmt: skip


# ---- corpora --------------------------------------------------------------------------


def demo():
    """The docstrings of numpy and scipy, as `pgbn demo` reads them."""
    texts = pgbn.datasets.load_docstrings()
    return pgbn.Corpus.from_texts(texts, stop_words="english", min_df=5, max_df=0.25,
                                  token_pattern="[A-Za-z]{3,}").counts  # fmt: skip


def fortunes(folder):
    """The sayings of Debian's package fortunes, with the settings of `pgbn fit`."""
    texts = {}
    for file in sorted(Path(folder).iterdir()):
        if file.is_file() and not file.suffix:
            every = file.read_text("utf-8", errors="replace").split("\n%\n")
            texts |= {f"{file.name} {n}": text for n, text in enumerate(every)}
    return pgbn.Corpus.from_texts(texts, stop_words="english", min_df=2, max_df=0.5).counts


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
    duplicates: float
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
    seed: int = 0
    sweeps: list = field(default_factory=lambda: list(SWEEPS))
    date: str = field(default_factory=lambda: datetime.date.today().isoformat())


def describe(leading, probable, X, effective):
    """How a layer reads, by the words that are shown and by the most probable ones."""
    duplicates, diversity = duplicates_and_diversity(leading)
    return Layer(
        width=len(leading),
        effective=effective,
        duplicates=duplicates / len(leading),
        diversity=diversity,
        npmi=float(word_coherence(leading, X, X.shape[1]).mean()),
        npmi_probable=float(word_coherence(probable, X, X.shape[1]).mean()),
    )


def ours(corpus, X, seen, held, max_width, settings, save=None):
    """A training by layers with some budgets."""
    score, depth = HeldOut(held, threads=1), settings["depth"]

    def collect(event):
        if event.depth == depth and event.phase == "collect" and event.sweep % THIN == 0:
            score.add_chain(event.chain)

    def go_on(merged):
        score.reset()
        return pgbn.train_layerwise(
            seen, max(merged.widths), merged.depth, sweeps=settings["sweeps"], threads=1,
            seed=settings["seed"], start_from=merged, callback=collect, progress=False,
        ).deepest  # fmt: skip

    clock = time.process_time()
    training = pgbn.train_layerwise(
        seen, max_width, callback=collect, progress=False, threads=1, **settings
    )
    shown = ", ".join(map(str, max_width)) if isinstance(max_width, tuple) else f"{max_width}"
    if save:
        pgbn.save(training.deepest, save / f"{corpus} {shown} as trained")
    if isinstance(max_width, tuple):
        training = without_duplicates(training, go_on)
    model = training.deepest
    seconds = time.process_time() - clock
    if save:
        pgbn.save(model, save / f"{corpus} {shown}")
    sweeps = [settings["burn_in"], settings["sweeps"]]
    return Line(corpus, f"pgbn {shown}", score.perplexity(), seconds, read(model, X),
                settings["seed"], sweeps)  # fmt: skip


def read(model, X):
    """How each layer of a network reads."""
    return [
        describe(leading_words(model, each.layer, TOP),
                 leading_words(model, each.layer, TOP, relevance=1.0), X, each.effective)
        for each in pgbn.evaluation.layer_quality(model)
    ]  # fmt: skip


def read_again(line, X, folder):
    """A line by the words that are shown today. A merged network with duplicates by these would
    have been merged further: it must be trained again."""
    name = line.name.removeprefix("pgbn ")
    layers = read(pgbn.load(folder / f"{line.corpus} {name}"), X)
    if "," in name and any(layer.duplicates for layer in layers[1:]):
        raise SystemExit(f"{line.corpus} {name}: duplicates by today's words; train it again")
    line.layers = layers
    return line


def peer(corpus, name, X, seen, held, topics, sweeps):
    """One layer of another program."""
    score, clock = HeldOut(held, threads=1), time.process_time()
    samples = one_layer.run(name, seen, topics, sweeps)
    seconds = time.process_time() - clock
    for phi, theta in samples:
        score.add(phi, theta)
    phi, theta = samples[-1]
    leading = np.argsort(-phi, axis=1, kind="stable")[:, :TOP]
    effective = effective_width(theta.sum(axis=0) / theta.sum())
    layer = describe(leading, leading, X, effective)
    return Line(corpus, f"{name} {topics}", score.perplexity(), seconds, [layer])


# ---- the table ------------------------------------------------------------------------


def show(line):
    """A line of a Markdown table."""

    def each(form):
        return " / ".join(form(layer) for layer in line.layers).replace("-", "−")

    cells = [
        line.corpus, line.name, each(lambda l: f"{l.width}"),
        each(lambda l: f"{l.effective:.0f}"), each(lambda l: f"{l.duplicates:.0%}"),
        each(lambda l: f"{l.diversity:.2f}"), each(lambda l: f"{l.npmi:.3f}"),
        each(lambda l: f"{l.npmi_probable:.3f}"), f"{line.perplexity:.1f}", f"{line.seconds:.0f}",
        f"{line.seed}", line.date,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def kept(path):
    """The lines of a file of results."""
    lines = json.loads(path.read_text("utf-8")) if path and path.exists() else []
    return [
        Line(**{**line, "layers": [Layer(**each) for each in line["layers"]]}) for line in lines
    ]


def keep(line, path):
    """Show a line, and put it into the file of results."""
    print(show(line), flush=True)
    if path:
        same = (line.corpus, line.name, line.seed)
        lines = [old for old in kept(path) if (old.corpus, old.name, old.seed) != same]
        lines = sorted([*lines, line], key=order)
        path.write_text(json.dumps([asdict(each) for each in lines], indent=1) + "\n", "utf-8")


def order(line):
    """By corpus, our own lines first, the paper's rule before budgets."""
    ours_first = ("pgbn", *one_layer.PROGRAMS).index(line.name.split(" ")[0])
    return CORPORA.index(line.corpus), line.seed, ours_first, "," in line.name, line.name


def table(lines):
    """All lines as a Markdown table."""
    head = [f"| {' | '.join(TITLES)} |", "|" + "---|" * len(TITLES)]
    return "\n".join([*head, *map(show, lines)])


def write_page(page, path):
    """Put the table of a file of results between its markers in a page."""
    begin, end = "<!-- begin layers -->", "<!-- end layers -->"
    text = page.read_text("utf-8")
    before, rest = text.split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n\n{table(kept(path))}\n\n{end}{after}", "utf-8")


def budget(text):
    numbers = tuple(int(part) for part in text.split(","))
    return numbers if len(numbers) > 1 else numbers[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--newsgroups", type=Path, help="20newsgroups.npz")
    parser.add_argument("--nips", type=Path, help="nips12.npz")
    parser.add_argument("--fortunes", type=Path, help="the folder of the package fortunes")
    parser.add_argument("--corpora", nargs="*", default=CORPORA)
    parser.add_argument("--budgets", type=budget, nargs="*", default=[WIDTHS[0], WIDTHS])
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--sweeps", type=int, nargs=2, default=list(SWEEPS),
                        help="burn-in, collect")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", nargs="*", default=["pgbn", *one_layer.PROGRAMS])
    parser.add_argument("--save", type=Path, help="a folder for the trained networks")
    parser.add_argument("--read-again", type=Path, help="a folder that --save wrote")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, help="write the lines of --json into this page")
    arguments = parser.parse_args()
    settings = {"depth": arguments.depth, "burn_in": arguments.sweeps[0],
                "sweeps": arguments.sweeps[1], "seed": arguments.seed}  # fmt: skip
    print(machine(), flush=True)
    print(table([]), flush=True)
    for name, open_corpus in corpora(arguments).items():
        X = sp.csr_array(open_corpus())
        if arguments.read_again:
            for line in kept(arguments.json):
                if (line.corpus, line.seed) == (name, arguments.seed) and "pgbn" in line.name:
                    keep(read_again(line, X, arguments.read_again), arguments.json)
            continue
        seen, held = split_tokens(X, SEEN, seed=0)
        budgets = arguments.budgets if "pgbn" in arguments.programs else ()
        if budgets:  # compile the kernels
            few = {**settings, "burn_in": 2, "sweeps": THIN}
            ours(name, X[:200], seen[:200], held[:200], 9, few)
        for widths in budgets:
            keep(ours(name, X, seen, held, widths, settings, arguments.save), arguments.json)
        topics = np.atleast_1d(arguments.budgets[-1])[0].item()
        for program in one_layer.PROGRAMS:
            if program in arguments.programs:
                line = peer(name, program, X, seen, held, topics, sum(arguments.sweeps))
                keep(line, arguments.json)
    if arguments.page:
        write_page(arguments.page, arguments.json)


if __name__ == "__main__":
    main()
