"""The commands that train: demo, fit, resume, and warm, which compiles their kernels."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pgbn.checks import DEPTH, MOST_LAYERS, WIDTHS
from pgbn.cli.console import as_options, interruptible, output, wrong_usage
from pgbn.cli.options import (
    REPORT,
    SAMPLING,
    Counting,
    Data,
    Folder,
    Minutes,
    Reading,
    Seed,
    Threads,
    Width,
    layer_numbers,
)
from pgbn.cli.sampling import SPREAD, Spread, spread_over
from pgbn.errors import DataError, StorageError
from pgbn.storage.archive import is_archive, read_manifest
from pgbn.storage.corpus import Corpus
from pgbn.storage.folders import Kept
from pgbn.storage.sources import file_format
from pgbn.storage.texts import check_columns, read_columns
from pgbn.storage.writing import writing

if TYPE_CHECKING:
    from pgbn.evaluation.topic_words import Topic
    from pgbn.samplers.executor import Executor
    from pgbn.training.settings import Settings
    from pgbn.training.trained import TrainedNetwork


# ---- messages before and after the commands -----------------------------------------------------

FEW_TERMS = 20
_CHILDREN = 3  # that are shown of a theme; one less of each topic below
_LONG = 1000, 500  # sweeps of each layer, burn-in (as in the paper) and collection


def finished(folder: Path) -> None:
    """The result of a training: its widths, the quality of its layers, and warnings about them."""
    from pgbn.evaluation import layer_quality, training_advice
    from pgbn.storage.folders import open_saved
    from pgbn.training.trained import is_belief, unwrapped

    saved = open_saved(folder)
    result = getattr(saved.object, "training_", saved.object)
    network = unwrapped(result)
    widths = list(getattr(network, "widths", ()))
    stopped = getattr(result, "stopped", "")
    topics = is_belief(network)
    layers = layer_quality(network) if topics else []
    advice = training_advice(result, saved.data) if hasattr(result, "models") and topics else []

    def text() -> None:
        for quality in layers:
            output.say(quality)
        output.say(
            f"widths {'-'.join(map(str, widths))} ({stopped}); next: pgbn "
            f"{'topics' if topics else 'info'} {folder}"
        )

    for sentence in advice:
        output.note(f"pgbn: note: {as_options(sentence)}")
    facts = {"layers": [vars(quality) for quality in layers]} if topics else {}
    output.result({"model": str(folder), "widths": widths, "stopped": stopped, **facts}, text)


def describe(corpus: Corpus) -> None:
    """The size of a corpus, and a note if too many terms were omitted."""
    documents, terms = corpus.shape
    output.note(f"documents: {documents}, terms: {terms}, total count: {corpus.total:.10g}")
    if corpus.texts is not None and terms < FEW_TERMS:
        output.note("pgbn: note: few terms remain; --min-df 1, --max-df 1.0 and --stop-words "
                    "none omit fewer")  # fmt: skip
    if not corpus.total:
        output.note("pgbn: note: all counts are zero; there are no topics to find")


def announce(settings: Settings) -> None:
    """The length of the training, and what a longer one is for."""
    sweeps = sum(settings.burn_in) + sum(settings.sweeps)
    burn_in, more = _LONG
    if min(settings.burn_in) >= burn_in:
        return output.note(f"{sweeps:,} sweeps")
    times = round((burn_in + more) * len(settings.burn_in) / max(sweeps, 1))
    longer = f" (about {times} times as long)" if times > 1 else ""
    output.note(
        f"{sweeps:,} sweeps: fine for exploring. To publish, use --burn-in {burn_in} --sweeps "
        f"{more}{longer}, and compare several seeds"
    )


def hierarchy(network: TrainedNetwork, vocabulary: Sequence[str] | None) -> list[str]:
    """A table of contents: every topic of the top layer with its largest topics below, and so on.

    A topic k stands under the topic l that has most of it, argmax_l weight_l φ_lk. Its share there
    is the part of the share of l that flows into k, share_l φ_lk. If the topic k also belongs to
    others, its share in all is given too.
    """
    found = [network.topics(layer, 6, vocabulary) for layer in range(1, network.depth + 1)]
    lines = []

    def add(layer: int, topic: Topic, share: float, above: int) -> None:
        whole = "" if f"{share:.1%}" == f"{topic.weight:.1%}" else f"  ({topic.weight:.1%} in all)"
        lines.append(f"{'    ' * above}{share:6.1%}  {' '.join(topic.terms)}{whole}")
        if layer > 1:
            upper, phi = found[layer - 1], network.phi[layer - 1]
            index = np.array([each.index for each in upper])
            mass = np.array([each.weight for each in upper])[:, None] * phi[index]
            under = index[mass.argmax(axis=0)]
            own = [each for each in found[layer - 2] if under[each.index] == topic.index]
            for each in own[: _CHILDREN - above]:
                add(layer - 1, each, share * float(phi[topic.index, each.index]), above + 1)

    for theme in found[-1]:
        add(network.depth, theme, theme.weight, 0)
    return lines


# ---- duplicate topics of upper layers: merged when `pgbn fit` and `pgbn demo` have trained ------
#
# The record of the training asks for it until it is done. So `pgbn resume` merges them if a fit was
# stopped before or meanwhile: it starts again, and the result is bit-identical.


_KEY = "merge_duplicates"


def to_merge(wanted: bool) -> dict[str, bool]:
    """The entry of a record that asks to merge duplicate topics."""
    return {_KEY: True} if wanted else {}


def has_duplicates(folder: Path) -> bool:
    """Whether a training is finished, but its duplicate topics were not merged yet."""
    manifest = read_manifest(folder)
    record = manifest["content"].get("record")
    marked = isinstance(record, dict) and isinstance(record.get("arguments"), dict)
    return manifest["kind"] == "training" and marked and record.get(_KEY) is True


def merge_duplicates(folder: Path, threads: int | None, executor: Executor | None = None) -> None:
    """Merge the duplicate topics of a model's upper layers, train it further, and save it in
    place."""
    from pgbn.engine.run.chain import stop_gently
    from pgbn.evaluation.layer_quality import SWEEPS, without_duplicates
    from pgbn.storage.folders import open_saved, save
    from pgbn.storage.writing import writing
    from pgbn.training.growing import Progress
    from pgbn.training.layerwise import train_layerwise

    saved = open_saved(folder)
    arguments: dict[str, Any] = saved.record["arguments"]

    def listen(event: Progress) -> None:
        if stop.requested:
            raise stop.interrupted(
                "stopped while duplicate topics were merged; the training before is saved, and "
                f"the command pgbn resume {folder} merges them"
            )

    def train(merged: TrainedNetwork) -> TrainedNetwork:
        widths = "-".join(map(str, merged.widths))
        output.note(f"duplicate topics were merged, to {widths} topics; {SWEEPS} sweeps more …")
        found: TrainedNetwork = train_layerwise(
            saved.data, max(merged.widths), merged.depth, sweeps=SWEEPS, link=merged.link,
            seed=arguments.get("seed", 0), sampler=arguments.get("sampler", "auto"),
            threads=threads, executor=executor, start_from=merged, callback=listen,
            keep_draws=min(len(next(iter(merged.draws.values()), ())), SWEEPS),
        ).deepest  # fmt: skip
        return found

    with writing(folder), stop_gently() as stop:
        result = without_duplicates(saved.object, train)
        record = {name: value for name, value in saved.record.items() if name != _KEY}
        save(result, folder, vocabulary=saved.vocabulary, names=saved.names, record=record,
             data=saved.data, columns=saved.columns)  # fmt: skip


@dataclass(frozen=True)
class KeptColumns:
    """The columns of documents that `pgbn fit` saves for the report: texts, dates and classes."""

    keep_texts: Annotated[bool, typer.Option(
        "--keep-texts", rich_help_panel=REPORT, help="Keep the texts; the report shows them.",
    )] = False  # fmt: skip
    date_column: Annotated[str | None, typer.Option(
        metavar="COLUMN", rich_help_panel=REPORT, show_default=False,
        help="The column of dates (2019-03-01) or years: the report shows topics over time.",
    )] = None  # fmt: skip
    class_column: Annotated[str | None, typer.Option(
        metavar="COLUMN", rich_help_panel=REPORT, show_default=False,
        help="The column of classes: the report shows topics by class.",
    )] = None  # fmt: skip

    def check(self, data: Path, reading: Reading) -> None:
        """Reject a name that is not a column before the documents are read."""
        if not self.named or not data.exists():  # a missing file is rejected when it is read
            return
        wanted = {f"--{key}-column": name for key, name in self.named.items()}
        if is_archive(data) and reading.input_format is None:
            first = next(iter(wanted))
            raise DataError(f"{first}: {data} is a corpus of counts, without columns; omit it")
        kind = file_format(data, reading.input_format)
        with wrong_usage():
            names = {} if reading.name_column is None else {"--name-column": reading.name_column}
            texts = {} if reading.text_column == "text" else {"--text-column": reading.text_column}
            check_columns(data, kind, texts | wanted | names, reading.encoding)

    def columns(self, data: Path, reading: Reading, corpus: Corpus) -> Kept:
        """The kept columns, with one entry for each document."""
        from pgbn.evaluation.periods import check_dates

        out: Kept = {}
        if self.keep_texts:
            if corpus.texts is None:
                raise DataError(f"--keep-texts: {data} holds counts, not texts; omit it")
            out["text"] = corpus.texts
        if self.named:
            kind = file_format(data, reading.input_format)
            found = read_columns(data, kind, list(self.named.values()), reading.encoding)
            out |= {key: found[name] for key, name in self.named.items()}
        if "date" in out:
            check_dates(out["date"], f"--date-column {self.date_column}")
        return out

    @property
    def named(self) -> dict[str, str]:
        """The names of the columns of dates and classes, those that were given."""
        names = {"date": self.date_column, "class": self.class_column}
        return {key: name for key, name in names.items() if name is not None}


# ---- the commands -------------------------------------------------------------------------------

DEMO = "pgbn demo"
BUDGETS = ",".join(map(str, WIDTHS))
MergeDuplicates = Annotated[bool, typer.Option(
    "--merge-duplicates/--keep-duplicates", help="Merge topics of upper layers that share six of "
    "their ten terms. Only if --max-width has a number for each layer.")]  # fmt: skip
Target = Annotated[Path, typer.Option(
    "--output", "-o", metavar="FOLDER", help="The folder for the model.")]  # fmt: skip


def demo_command(
    to: Target = Path("pgbn-demo"),
    max_width: Width = BUDGETS,
    sweeps: Annotated[int, typer.Option(
        min=8, metavar="N", rich_help_panel=SAMPLING,
        help="Sweeps of the first layer, at least 8; the others get half.")] = 500,
    seed: Seed = 0,
    threads: Threads = None,
) -> None:  # fmt: skip
    """Fit topics to the docstrings of numpy and scipy.

    It needs no download, and takes less than two minutes.

    Example:

      pgbn demo -o demo   (then open demo/report.html in a browser)
    """
    from pgbn.cli.models import open_model, topic_row
    from pgbn.cli.pages import page_data
    from pgbn.datasets import load_docstrings
    from pgbn.report import write_report
    from pgbn.training.settings import Settings

    if is_archive(to) and _command(to) != DEMO:
        raise StorageError(f"{to}: there is a model that is not of the demo; use another folder")
    each = [sweeps, sweeps // 2, sweeps // 2]
    burn_in, more = [n - n // 4 for n in each], [n // 4 for n in each]
    with wrong_usage():
        widths = layer_numbers("max-width", max_width, int)
        settings = Settings(widths, DEPTH, burn_in=burn_in, sweeps=more, seed=seed)
    start = time.monotonic()
    with writing(to):
        output.note("reading the docstrings of numpy and scipy …")
        corpus = Corpus.from_texts(
            load_docstrings(),
            stop_words="english",
            min_df=5,
            max_df=0.25,
            token_pattern="[A-Za-z]{3,}",
        )
        documents, terms = corpus.counts.shape
        describe(corpus)
        record = {"command": DEMO, **to_merge(isinstance(widths, list))}
        _train(corpus, to, settings, record, threads)
    model = open_model(to)
    page = to / "report.html"
    write_report(page_data([model], corpus.texts, title="Docstrings of numpy and scipy"), page)
    seconds = time.monotonic() - start
    layers = range(model.network.depth, 0, -1)
    found = {layer: model.network.topics(layer, 8, model.vocabulary) for layer in layers}

    def text() -> None:
        output.say("\nWhat is in the docstrings: themes, their topics, and the topics of these.")
        output.say("A percentage is the share of all words. Under a theme, it is the share that")
        output.say("comes from this theme; '3% in all' means that others contain the topic too.\n")
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
    to: Target = Path("model"),
    *,
    max_width: Width = BUDGETS,
    depth: Annotated[int | None, typer.Option(
        min=1, max=MOST_LAYERS, metavar="N", show_default=False, help="Layers, at most. By default "
        "as many as --max-width has numbers, or 3 for one number.")] = None,
    burn_in: Annotated[str, typer.Option(
        metavar="N[,N…]", rich_help_panel=SAMPLING,
        help="Sweeps before unused topics are removed, for all layers or for each.")] = "300",
    sweeps: Annotated[str, typer.Option(
        metavar="N[,N…]", rich_help_panel=SAMPLING,
        help="Sweeps after unused topics are removed, for all layers or for each.")] = "200",
    eta: Annotated[str, typer.Option(
        metavar="X[,X…]", help="The Dirichlet parameter of the topics, for all layers or for each.",
    )] = "0.05",
    link: Annotated[str, typer.Option(
        metavar="LINK", help="poisson (counts), bernoulli (0/1) or gamma (non-negative reals).",
    )] = "poisson",
    merge_duplicates: MergeDuplicates = True,
    keep_draws: Annotated[int, typer.Option(
        min=0, metavar="N", rich_help_panel=SAMPLING, help="Draws of the topics to keep. transform "
        "and perplexity average over them.")] = 0,
    seed: Seed = 0,
    threads: Threads = None,
    ray: Spread = None,
    reading: Reading,
    counting: Counting,
    kept: KeptColumns,
    minutes: Minutes = 5.0,
    overwrite: Annotated[bool, typer.Option(
        "--overwrite", help="Replace a model that is there.")] = False,
    quick: Annotated[bool, typer.Option(
        "--quick", rich_help_panel=SAMPLING, help="A point estimate in seconds in place of "
        "sampling, by at most --sweeps sweeps.")] = False,
) -> None:  # fmt: skip
    """Fit topics, and topics of topics, to texts or counts.

    Checkpoints are written regularly. Ctrl-C and SIGTERM save and stop; pgbn resume continues.

    Examples:

      pgbn fit texts.jsonl

      pgbn fit reviews.csv --text-column review --date-column day --keep-texts -o model

      pgbn fit counts.mtx --terms vocabulary.txt -o model --burn-in 500,300,200 --ray 4
    """
    from pgbn.training.checkpoints import KIND
    from pgbn.training.settings import Settings
    from pgbn.zoo.arguments import check_link

    with wrong_usage():  # before anything is read
        widths = layer_numbers("max-width", max_width, int)
        settings = Settings(
            widths,
            depth,
            burn_in=layer_numbers("burn-in", burn_in, int),
            sweeps=layer_numbers("sweeps", sweeps, int),
            eta=layer_numbers("eta", eta, float),
            link=check_link(link, "--link"),
            keep_draws=keep_draws,
            seed=seed,
            sampler="auto" if ray is None or link != "poisson" else SPREAD,
        )
        executor = spread_over(ray, threads)
        options = counting.options()
        kept.check(data, reading)
    if is_archive(to) and not overwrite:
        hint = f"pgbn resume {to}" if read_manifest(to)["kind"] == KIND else "--overwrite"
        raise StorageError(f"{to}: there is a model already; use {hint}, or another folder")
    with writing(to):  # fail before the documents are read if the folder cannot be written
        corpus = Corpus.read(data, **reading.arguments(), **options)
        if corpus.texts is None:
            counting.reject_for_counts(data)
        columns = kept.columns(data, reading, corpus)
        describe(corpus)
        if quick:
            _estimate(corpus, to, settings, {"data": str(data)}, threads, columns)
            finished(to)
            return
        announce(settings)
        record = {"data": str(data), **to_merge(merge_duplicates and isinstance(widths, list))}
        if kept.named:
            record["columns"] = kept.named
        _train(corpus, to, settings, record, threads, executor, minutes=minutes, columns=columns)
    finished(to)


def _estimate(
    corpus: Corpus,
    to: Path,
    settings: Settings,
    record: dict[str, Any],
    threads: int | None,
    columns: Any,
) -> None:
    """Save the point estimate of all layers."""
    from pgbn.storage.folders import save
    from pgbn.training.estimating import train_estimate

    with interruptible():
        training = train_estimate(corpus.counts, settings, threads)
        arguments = {"seed": settings.seed, "link": settings.link}
        save(training, to, vocabulary=corpus.vocabulary, names=corpus.names, data=corpus.counts,
             record={"vectorizer": corpus.options, "arguments": arguments, **record},
             columns=columns)  # fmt: skip


def _train(
    corpus: Corpus,
    to: Path,
    settings: Settings,
    record: dict[str, Any],
    threads: int | None,
    executor: Executor | None = None,
    **options: Any,
) -> None:
    """Train on a corpus with checkpoints, and merge duplicate topics if the record asks for it."""
    from pgbn.training.checkpoints import train_with_checkpoints

    with interruptible():
        train_with_checkpoints(
            corpus.counts, to, **vars(settings), threads=threads, executor=executor,
            vocabulary=corpus.vocabulary, names=corpus.names,
            record={"vectorizer": corpus.options, **record}, **options,
        )  # fmt: skip
        if has_duplicates(to):
            merge_duplicates(to, threads, executor)


def resume_command(
    model: Folder,
    threads: Threads = None,
    ray: Spread = None,
    minutes: Minutes = 5.0,
) -> None:
    """Resume an interrupted fit or sample.

    It continues from the last checkpoint. The result is bit-identical to one without the stop. If
    the work is finished, the command says so.

    Example:

      pgbn resume model
    """
    from pgbn.cli.sampling import show_run
    from pgbn.engine.run.draws import Draws
    from pgbn.training.checkpoints import resume

    with wrong_usage():
        executor = spread_over(ray, threads)
    with interruptible():
        result = None
        if not has_duplicates(model):
            result = resume(model, threads=threads, executor=executor, minutes=minutes)
        if has_duplicates(model):
            merge_duplicates(model, threads, executor)
    if isinstance(result, Draws):
        show_run(model, result)
    else:
        finished(model)


def warm_command() -> None:
    """Compile the kernels before they are needed.

    The kernels of a fit, a transform and a sample are kept on disk: later commands and programs of
    the same user start at once. A container image can run this command while it is built.
    NUMBA_CACHE_DIR names the folder for the kernels.

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
    model = PGBN((8, 3), 2, min_width=1, burn_in=8, sweeps=4, random_state=0, n_jobs=-1).fit(counts)
    model.transform(counts)
    for sampler in ("collapsed", "partial", "blocked", "composed"):
        belief_network([8, 4]).sample({"x": counts}, 1, 1, seed=0, sampler=sampler, progress=False)
    seconds = time.monotonic() - start
    output.result({"seconds": seconds}, lambda: output.say(f"ready, {seconds:.0f} s"))


def _command(folder: Path) -> str | None:
    """The command that started a model."""
    body = read_manifest(folder)
    within = ("object", "context") if body["kind"] == "checkpoint" else ()
    found: Any = body["content"]
    for name in (*within, "record", "command"):
        found = found.get(name) if isinstance(found, dict) else None
    return str(found)
