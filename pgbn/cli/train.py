"""The commands that train: demo, fit, resume, and warm, which compiles what they need."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pgbn.checks import DEPTH, MOST_LAYERS, WIDTHS
from pgbn.cli.console import interruptible, output, wrong_usage
from pgbn.cli.keeping import Keeping
from pgbn.cli.options import (
    Counting,
    Data,
    Folder,
    Minutes,
    Reading,
    Seed,
    Threads,
    Width,
    layer_budgets,
    layer_numbers,
)
from pgbn.cli.spread import SPREAD, Spread, spread_over
from pgbn.cli.telling import as_options, describe, finished, foretell, hierarchy
from pgbn.cli.twins import has_twins_to_merge, to_merge, untwin
from pgbn.errors import StorageError
from pgbn.storage.archive import is_archive, read_manifest
from pgbn.storage.corpus import count_terms, read_corpus
from pgbn.storage.writing import writing

__all__ = ["as_options", "demo_command", "fit_command", "resume_command", "warm_command"]

DEMO = "pgbn demo"
BUDGETS = ",".join(map(str, WIDTHS))
MergeTwins = Annotated[bool, typer.Option(
    "--merge-twins/--keep-twins", help="Merge topics of upper layers that share six of their ten "
    "terms, where --max-width has a number for each layer.")]  # fmt: skip


def demo_command(
    to: Annotated[Path, typer.Option("--output", "-o", help="Where the model goes.")]
    = Path("pgbn-demo"),
    max_width: Width = BUDGETS,
    sweeps: Annotated[int, typer.Option(min=8, help="Sweeps of the first layer, at least 8; the "
                                        "others get half.")] = 500,
    seed: Seed = 0,
    threads: Threads = None,
) -> None:  # fmt: skip
    """Fit three layers to the docstrings of numpy and scipy.

    That needs no download, and under two minutes.

    Example:

      pgbn demo -o demo   (then open demo/report.html in a browser)
    """
    from pgbn.cli.models import open_model, topic_row
    from pgbn.cli.pages import page_data
    from pgbn.evaluation import topics
    from pgbn.report import write_report
    from pgbn.storage.docstrings import docstrings
    from pgbn.training.checkpoints.run import train

    if is_archive(to) and _command(to) != DEMO:
        raise StorageError(f"{to}: there is a model that is not of the demo; use another folder")
    with wrong_usage():
        widths, _ = layer_budgets(max_width, DEPTH)
    start = time.monotonic()
    with writing(to):
        output.note("reading the docstrings of numpy and scipy …")
        corpus = count_terms(
            docstrings(), stop_words="english", min_df=5, max_df=0.25, token_pattern="[A-Za-z]{3,}"
        )
        documents, terms = corpus.counts.shape
        describe(corpus)
        each = [sweeps, sweeps // 2, sweeps // 2]
        with interruptible():
            train(
                corpus.counts,
                to,
                widths,
                DEPTH,
                burn_in=[n - n // 4 for n in each],
                collect=[n // 4 for n in each],
                seed=seed,
                threads=threads,
                vocabulary=corpus.vocabulary,
                labels=corpus.labels,
                record={
                    "vectorizer": corpus.options,
                    "command": DEMO,
                    **to_merge(isinstance(widths, tuple)),
                },
            )
            if has_twins_to_merge(to):
                untwin(to, threads)
    model = open_model(to)
    page = to / "report.html"
    write_report(page_data([model], corpus.texts, title="Docstrings of numpy and scipy"), page)
    seconds = time.monotonic() - start
    layers = range(model.network.depth, 0, -1)
    found = {layer: topics(model.network, layer, 8, model.vocabulary) for layer in layers}

    def text() -> None:
        output.say("\nWhat is in the docstrings: themes, their topics, and the topics of these\n")
        for line in hierarchy(model.network, model.vocabulary):
            output.say(line)
        output.say(f"\nwidths {'-'.join(map(str, model.network.widths))}, {seconds:.0f} s")
        output.say(f"model: {to}   report: {page}\nnext: pgbn topics {to} --layer 2")

    output.result(
        {"model": str(to), "report": str(page), "widths": list(model.network.widths),
         "documents": documents, "terms": terms, "seconds": seconds,
         "topics": {str(layer): [topic_row(t) for t in every] for layer, every in found.items()}},
        text,
    )  # fmt: skip


def fit_command(
    data: Data,
    to: Annotated[Path, typer.Option("--output", "-o", help="The folder for the model.")]
    = Path("model"),
    *,
    max_width: Width = BUDGETS,
    depth: Annotated[int | None, typer.Option(
        min=1, max=MOST_LAYERS, help="Layers, at most; if left out, as many as --max-width has "
        "numbers, or 3 for one number.", show_default=False)] = None,
    burn_in: Annotated[str, typer.Option(help="Sweeps before pruning; one number, or one for "
                                         "each layer (300,200,100).")] = "300",
    collect: Annotated[str, typer.Option(help="Sweeps after pruning, likewise.")] = "200",
    eta: Annotated[str, typer.Option(help="Dirichlet parameter of the topics, likewise.")] = "0.05",
    link: Annotated[str, typer.Option(help="poisson (counts), bernoulli (0/1) or gamma "
                                      "(non-negative reals).")] = "poisson",
    merge_twins: MergeTwins = True,
    keep_draws: Annotated[int, typer.Option(min=0, help="Draws of the topics that are kept, over "
                                            "which transform and perplexity average.")] = 0,
    seed: Seed = 0,
    threads: Threads = None,
    ray: Spread = None,
    reading: Reading,
    counting: Counting,
    keeping: Keeping,
    minutes: Minutes = 5.0,
    overwrite: Annotated[bool, typer.Option(help="Replace a model that is there.")] = False,
) -> None:  # fmt: skip
    """Fit a belief network to texts or counts, layer by layer.

    A checkpoint is written now and then; Ctrl-C and SIGTERM stop and save, and pgbn resume goes on.

    Examples:

      pgbn fit texts.jsonl

      pgbn fit reviews.csv --text review --date day --class rating -o model --max-width 200,40

      pgbn fit counts.mtx --terms vocabulary.txt -o model --burn-in 500,300,200 --ray 4
    """
    from pgbn.training.checkpoints.format import KIND
    from pgbn.training.checkpoints.run import train
    from pgbn.training.settings import Settings
    from pgbn.zoo.arguments import check_link

    with wrong_usage():  # before anything is read
        budgets, layers = layer_budgets(max_width, depth)
        settings = Settings.of(
            budgets,
            layers,
            burn_in=layer_numbers("burn-in", burn_in, int, layers),
            collect=layer_numbers("collect", collect, int, layers),
            eta=layer_numbers("eta", eta, float, layers),
            link=check_link(link, "--link"),
            keep_draws=keep_draws,
            seed=seed,
            layer1="auto" if ray is None or link != "poisson" else SPREAD,
        )
        executor = spread_over(ray, threads)
        options, reading = counting.options(), keeping.checked(data, reading)
    if is_archive(to) and not overwrite:
        hint = f"pgbn resume {to}" if read_manifest(to)["kind"] == KIND else "--overwrite"
        raise StorageError(f"{to}: there is a model already; use {hint}, or another folder")
    with writing(to):  # what cannot be written is known before the documents are read
        corpus = read_corpus(data, **asdict(reading), **options)
        if corpus.texts is None:
            counting.refuse_for_counts(data)
        columns = keeping.columns(data, reading, corpus)
        describe(corpus)
        foretell(settings)
        with interruptible():
            train(
                corpus.counts, to, **vars(settings), threads=threads, executor=executor,
                minutes=minutes, vocabulary=corpus.vocabulary, labels=corpus.labels,
                columns=columns,
                record={"data": str(data), "vectorizer": corpus.options, **keeping.record(),
                        **to_merge(merge_twins and isinstance(budgets, tuple))},
            )  # fmt: skip
            if has_twins_to_merge(to):
                untwin(to, threads, executor)
    finished(to)


def resume_command(
    model: Folder,
    threads: Threads = None,
    ray: Spread = None,
    minutes: Minutes = 5.0,
) -> None:
    """Go on with a training or a run that was stopped.

    It begins at the last checkpoint, and gives the very same chain as without the stop. Of a
    training that is finished it says so.

    Example:

      pgbn resume model
    """
    from pgbn.cli.sampling import show_run
    from pgbn.engine.run.draws import Draws
    from pgbn.training.checkpoints.run import resume

    with wrong_usage():
        executor = spread_over(ray, threads)
    with interruptible():
        result = None
        if not has_twins_to_merge(model):
            result = resume(model, threads=threads, executor=executor, minutes=minutes)
        if has_twins_to_merge(model):
            untwin(model, threads, executor)
    if isinstance(result, Draws):
        show_run(model, result)
    else:
        finished(model)


def warm_command() -> None:
    """Compile the kernels before they are needed.

    Those of a fit, a transform and a sample are kept on disk: later commands and programs of the
    same user start at once. The image of a container may run it while it is built. NUMBA_CACHE_DIR
    names the folder for the kernels.

    Example:

      pgbn warm
    """
    import numpy as np
    from scipy.sparse import csr_array

    from pgbn.estimators import PGBN
    from pgbn.zoo import pgbn as belief_network

    start = time.monotonic()
    output.note("compiling, which takes about a minute if nothing is compiled yet …")
    likely = (
        np.kron(np.eye(8), np.full((25, 25), 3.0)) + 0.05
    )  # eight groups of documents and terms
    counts = csr_array(np.random.default_rng(0).poisson(likely))
    model = PGBN((8, 3), 2, min_width=1, burn_in=8, collect=4, random_state=0, n_jobs=-1).fit(
        counts
    )
    model.transform(counts)
    for layer1 in ("collapsed", "partial", "blocked", "composed"):
        belief_network([8, 4]).sample({"x": counts}, 1, 1, seed=0, layer1=layer1, progress=False)
    seconds = time.monotonic() - start
    output.result({"seconds": seconds}, lambda: output.say(f"ready, {seconds:.0f} s"))


def _command(folder: Path) -> str | None:
    """The command that began a model."""
    content = read_manifest(folder)["content"]
    for name in ("context", "record", "command"):  # a model has its record without a context
        inner = content.get(name, content if name == "context" else None)
        content = inner if isinstance(inner, dict) else {"": inner}
    return str(content.get(""))
