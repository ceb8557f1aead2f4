"""The commands that use a trained model: info, topics, label, transform, perplexity, generate; and
``pgbn corpus build``."""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pgbn.checks import term_names
from pgbn.cli.console import (
    ArrayFile,
    Result,
    TableFile,
    cannot_write,
    give,
    interruptible,
    output,
    wrong_usage,
)
from pgbn.cli.options import (
    RUNNING,
    SAMPLING,
    Counting,
    Data,
    Folder,
    Reading,
    Sampling,
    Seed,
    between,
    checked_by,
    one_of,
)
from pgbn.errors import DataError, PgbnWarning, notify, printable
from pgbn.storage.archive import MANIFEST, is_archive, read_manifest
from pgbn.storage.atomic_files import locked
from pgbn.storage.folders import open_saved, read_folder
from pgbn.storage.read_limits import check_bytes

if TYPE_CHECKING:
    from pgbn.cli.models import Model
    from pgbn.engine.rows.new_rows import NewRows
    from pgbn.evaluation.topic_words import Topic
    from pgbn.training.trained import TrainedNetwork


_MODELS = ("training", "trained", "grown", "estimator", "transformer")


def info_command(model: Folder, to: TableFile = None) -> None:
    """Show what a model folder contains.

    Example:

      pgbn info model
    """
    from pgbn.engine.run.chain_files import RUN
    from pgbn.engine.run.sampling import run_facts
    from pgbn.training.checkpoints import KIND, checkpoint_facts
    from pgbn.training.trained import unwrapped

    def read(body: Mapping[str, Any], files: Any) -> dict[str, Any]:
        content = body["content"]
        found = {"kind": body["kind"], "pgbn": body["package"], "written": body["written"],
                 "bytes": sum(entry["bytes"] for entry in body["files"].values())}  # fmt: skip
        if body["kind"] == KIND:
            found |= {**checkpoint_facts(content), "resume": f"pgbn resume {model}"}
        elif body["kind"] == RUN:
            found |= {**run_facts(content), "resume": f"pgbn resume {model}"}
        elif body["kind"] == "draws":
            keys = ("shapes", "attributes", "interrupted")
            found |= {key: content["object"][key] for key in keys}
        elif body["kind"] == "chain":
            chain = content["object"]
            found |= {key: chain[key] for key in ("sweeps", "seed", "number", "sampler", "shapes")}
        return found

    facts = read_folder(model, read)
    if facts["kind"] in _MODELS and read_manifest(model)["groups"]:
        saved = open_saved(model)
        network = unwrapped(saved.object)  # with its own family, it has no terms and no link
        facts |= {
            "widths": list(getattr(network, "widths", ())) or None,
            "terms": getattr(network, "vocabulary_size", None),
            "documents": None if saved.data is None else saved.data.shape[0],
            "link": getattr(network, "link", "") or None,
            "sweeps": getattr(network, "sweeps", None),
            "stopped": getattr(getattr(saved.object, "training_", saved.object), "stopped", None),
            **saved.record,
        }
    rows = [
        (key, json.dumps(value) if isinstance(value, (dict, list)) else value)
        for key, value in facts.items()
        if value is not None
    ]
    result = Result(facts, ("fact", "value"), rows, "facts")
    give(result, to, lambda: output.table(str(model), ("", ""), rows))


def topics_command(
    model: Folder,
    layer: Annotated[int | None, typer.Option(
        min=1, metavar="N", help="One layer; by default all.", show_default=False)] = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Terms of each topic.")] = 10,
    number: Annotated[int | None, typer.Option(
        "--number", "-n", min=1, metavar="N", show_default=False,
        help="Show only the N largest topics of a layer.")] = None,
    relevance: Annotated[float | None, typer.Option(
        min=0, max=1, metavar="0…1", show_default=False,
        help="1 ranks terms by probability; smaller values favour distinctive words. By default "
        "1 in layer 1, and 0.3 above.")] = None,
    to: TableFile = None,
) -> None:  # fmt: skip
    """List the topics of a model by weight.

    Example:

      pgbn topics model --layer 2 --top 15 -n 20

      pgbn topics model -o topics.csv
    """
    from pgbn.cli.models import open_model, topic_row
    from pgbn.evaluation.topic_words import topic_name

    opened = open_model(model)
    layers = range(opened.network.depth, 0, -1) if layer is None else [layer]
    found = {
        t: opened.network.topics(t, top, opened.vocabulary, relevance)[:number] for t in layers
    }
    listed = [topic for every in found.values() for topic in every]
    result = Result(
        [topic_row(topic) for topic in listed],
        ("topic", "label", "weight", "terms"),
        [(topic_name(t.layer, t.index), t.label, t.weight, " ".join(t.terms)) for t in listed],
        "topics",
    )

    def text() -> None:
        for t, every in found.items():
            rows = [
                (topic_name(t, each.index), f"{each.weight:.1%}", _terms(each)) for each in every
            ]
            title = f"\nLayer {t}: {opened.network.widths[t - 1]} topics"
            output.table(title, ("topic", "weight", "terms"), rows)

    give(result, to, text)


def _terms(topic: Topic) -> str:
    return f"{topic.label + ': ' if topic.label else ''}{' '.join(topic.terms)}"


def transform_command(
    model: Folder,
    data: Data,
    *,
    to: ArrayFile = None,
    layer: Annotated[int | None, typer.Option(
        min=1, metavar="N", show_default=False,
        help="The layer whose topic weights are written; by default the first.")] = None,
    concat: Annotated[bool, typer.Option("--concat", help="All layers, side by side.")] = False,
    sampling: Sampling,
    reading: Reading,
) -> None:  # fmt: skip
    """Write the topic weights of new documents.

    If the data are a corpus from pgbn corpus build, a .npy file is written block by block. After a
    stop, the same command continues it.

    Example:

      pgbn transform model new.csv --text-column review -o features.csv
    """
    from pgbn.cli.models import open_model, read_for
    from pgbn.evaluation.topic_words import topic_name

    if concat and layer is not None:
        raise typer.BadParameter(f"--layer {layer} is one layer and --concat all: give one of them")
    opened = open_model(model)
    chosen = None if concat else 1 if layer is None else layer
    if to is not None and to.suffix == ".npy" and is_archive(data):
        return stream_features(opened.network, data, to, chosen, sampling)
    corpus, X = read_for(opened, data, reading)
    found = _infer(opened.network, X, corpus.names, layers=chosen, units=False, **vars(sampling))
    features = found.features(chosen)
    names = [topic_name(t, k) for t in found.layers for k in range(opened.network.widths[t - 1])]
    rows = list(zip(corpus.names, features.tolist(), strict=True))
    give(Result(
        {"columns": names, "rows": [{"document": name, "features": row} for name, row in rows]},
        ("document", *names),
        [(name, *row) for name, row in rows],
        arrays={"features": features, "columns": np.array(names),
                "documents": np.array(corpus.names)},
        facts=dict(zip(("documents", "features"), features.shape, strict=True)),
        said=f"{features.shape[0]} × {features.shape[1]}",
    ), to)  # fmt: skip


def _infer(network: Any, X: Any, labels: list[str], **settings: Any) -> NewRows:
    """Call `model.infer`. Its note about empty documents counts rows from 0; this one uses the
    names of the documents in the results."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* documents have no known term", PgbnWarning)
        found: NewRows = network.infer(X, **settings)
    if found.empty.size:
        first = ", ".join(labels[row] for row in found.empty[:5])
        notify(
            f"{found.empty.size} of {len(labels)} documents have no known term: {first}"
            f"{', …' if found.empty.size > 5 else ''}; their topic weights are those of the prior"
        )
    return found


def perplexity_command(
    model: Folder,
    data: Data,
    *,
    fraction: Annotated[float, typer.Option(
        callback=checked_by(lambda value: between(value, 0, 1)), metavar="0…1",
        help="The part of each document from which its topics are inferred.")] = 0.5,
    to: TableFile = None,
    sampling: Sampling,
    reading: Reading,
) -> None:  # fmt: skip
    """Show how well a model predicts new documents.

    Topics are inferred from a part of each document's tokens. The perplexity of the other tokens
    is printed.

    Example:

      pgbn perplexity model held-out/ --fraction 0.5
    """
    from pgbn.cli.models import open_model, read_for
    from pgbn.evaluation import HeldOut

    opened = open_model(model)
    _, X = read_for(opened, data, reading)
    held_out = HeldOut.of_model(opened.network, X, fraction=fraction, **vars(sampling))
    facts = {"perplexity": held_out.perplexity(), "tokens": int(held_out.cells.values.sum()),
             "documents": X.shape[0], "fraction": fraction}  # fmt: skip
    said = (
        f"{facts['perplexity']:.2f}: the perplexity of {facts['tokens']} held-out tokens of "
        f"{facts['documents']} documents, given {fraction:.0%} of each; it would be "
        f"{opened.network.vocabulary_size} if all terms were equally likely"
    )
    result = Result(facts, tuple(facts), [tuple(facts.values())], "row")
    give(result, to, lambda: output.say(said))


def generate_command(
    model: Folder,
    number: Annotated[int, typer.Option(
        "--number", "-n", min=1, metavar="N", help="The number of documents.")] = 5,
    length: Annotated[int | None, typer.Option(
        min=1, metavar="N", show_default=False,
        help="Tokens of each; by default like those of training documents.")] = None,
    c: Annotated[str, typer.Option(
        callback=one_of("median", "random", "prior"), metavar="RATES", rich_help_panel=SAMPLING,
        help="The rates c: median or random (of training documents), or prior.")] = "median",
    top: Annotated[int, typer.Option(
        min=1, metavar="N", help="Terms of each document that are printed.")] = 20,
    seed: Seed = 0,
    to: TableFile = None,
) -> None:  # fmt: skip
    """Draw synthetic documents from the model.

    Example:

      pgbn generate model -n 3 --length 100
    """
    from pgbn.cli.models import open_model

    opened = open_model(model)
    lengths = _usual_lengths(opened, number, seed) if length is None else length
    drawn = opened.network.generate(number, length=lengths, c=c, seed=seed)
    names = term_names(opened.vocabulary, opened.network.vocabulary_size)
    documents = []
    for row in range(number):
        counts = drawn["x"][[row]].tocoo()
        order = np.argsort(-counts.data, kind="stable")
        columns = counts.coords[1]
        documents.append({names[columns[i]]: counts.data[i].item() for i in order})
    lines = [(n, *each) for n, document in enumerate(documents, 1) for each in document.items()]
    result = Result(documents, ("document", "term", "count"), lines, "counts")

    def text() -> None:
        for n, document in enumerate(documents, 1):
            terms = [f"{term}×{count:g}" for term, count in list(document.items())[:top]]
            output.say(printable(f"{n}. {' '.join(terms) or '(empty)'}", one_line=True))

    give(result, to, text)


def _usual_lengths(opened: Model, number: int, seed: int) -> list[int] | None:
    """The lengths of training documents that are not empty, drawn at random; None if they are not
    known, or are not numbers of tokens."""
    if opened.saved.data is None or opened.network.link != "poisson":
        return None
    check_bytes(f"--number {number}: the documents", 200 * number, "draw fewer")
    lengths = np.asarray(opened.saved.data.sum(axis=1)).reshape(-1)
    lengths = lengths[lengths > 0]
    if not lengths.size:
        return None
    return [int(each) for each in np.random.default_rng(seed).choice(lengths, number)]


Labels = dict[tuple[int, int], str]


def label_command(
    model: Folder,
    labels: Annotated[
        list[str] | None,
        typer.Argument(help="Topics and their labels, such as layer1_topic0=weather. "
                       "layer1_topic0= removes the label.", metavar="[TOPIC=LABEL]...",
                       show_default=False),
    ] = None,
    keyword: Annotated[
        list[str] | None,
        typer.Option(help="A label for the topic that has most of some words: weather=rain,sun. "
                     "May be given several times.", metavar="LABEL=WORDS", show_default=False),
    ] = None,
    layer: Annotated[int, typer.Option(
        min=1, metavar="N", help="The layer of --keyword.")] = 1,
    to: TableFile = None,
) -> None:  # fmt: skip
    """Label topics, by name or by words. Labels appear in all lists and in the report.

    Examples:

      pgbn label model layer1_topic0=weather layer2_topic3="travel and food"

      pgbn label model --keyword weather=rain,sun --keyword law=court,judge

      pgbn label model    (lists the labels; with -o labels.csv, in a file)
    """
    from pgbn.cli.models import open_model
    from pgbn.evaluation.topic_words import keyword_labels, topic_name

    with wrong_usage():
        by_hand = dict(_place(text) for text in labels or ())
        wanted = dict(_keyword(text) for text in keyword or ())
    folder = model.parent if model.name == MANIFEST else model
    changing = (by_hand or wanted) and is_archive(folder)
    with locked(folder) if changing else nullcontext():  # read and saved under one lock
        opened = open_model(model)
        changes = keyword_labels(opened.network, wanted, layer, opened.vocabulary) | by_hand
        network = opened.network.with_labels(changes)
        if changes:
            _save(folder, opened, network, changes)
    shown = {topic_name(*place): label for place, label in sorted(network.labels.items())}

    def text() -> None:
        for topic, label in shown.items():
            output.say(f"{topic} {printable(label, one_line=True)}")
        if not shown:
            output.say(f"no topic has a label; pgbn label {model} layer1_topic0=weather gives one")

    give(Result(shown, ("topic", "label"), list(shown.items()), "labels"), to, text)


def _place(text: str) -> tuple[tuple[int, int], str]:
    """The topic and its label in "layer1_topic0=weather"."""
    topic, given, label = text.partition("=")
    found = re.fullmatch(r"layer(\d{1,9})_topic(\d{1,9})", topic.strip(), re.ASCII)
    if not given or found is None:
        raise DataError(f"{text!r:.80}: give a topic and a label, such as layer1_topic0=weather")
    return (int(found[1]), int(found[2])), label.strip()


def _keyword(text: str) -> tuple[str, Sequence[str]]:
    """The label and the words in "weather=rain,sun"."""
    label, _, words = text.partition("=")
    found = [word.strip() for word in words.split(",") if word.strip()]
    if not label.strip() or not found:
        raise DataError(f"--keyword {text!r}: give a label and words, such as weather=rain,sun")
    return label.strip(), found


def _save(folder: Path, opened: Model, network: TrainedNetwork, changes: Labels) -> None:
    """The model with its labelled network in place of the old one, and everything that was saved
    with it."""
    from pgbn.storage.folders import save
    from pgbn.training.training_result import LayerwiseTraining

    saved, value = opened.saved, opened.saved.object
    if hasattr(value, "set_labels"):  # an estimator
        value.set_labels(changes)
    elif isinstance(value, LayerwiseTraining):
        value = replace(value, models=(*value.models[:-1], network))
    else:
        value = network
    save(value, folder, vocabulary=saved.vocabulary, names=saved.names,
         record=saved.record, data=saved.data, columns=saved.columns)  # fmt: skip


SECONDS = 5.0  # between two progress notes


def build_command(
    data: Annotated[list[Path], typer.Argument(
        help="A folder of texts, .txt, .csv, .tsv, .jsonl or .parquet files, or counts in a .mtx, "
        ".npz or .svmlight file.", metavar="DATA...", show_default=False)],
    to: Annotated[Path, typer.Option(
        "--output", "-o", metavar="FOLDER", help="The folder for the corpus.")],
    reading: Reading,
    counting: Counting,
    block_rows: Annotated[int, typer.Option(
        min=1, metavar="N", rich_help_panel=RUNNING, help="Documents of a block.")] = 4096,
    overwrite: Annotated[bool, typer.Option(
        "--overwrite", help="Replace a corpus that is there.")] = False,
) -> None:  # fmt: skip
    """Count the terms of documents that need not fit into memory, and keep them in a folder.

    After a stop, the same command continues the build. The folder can be given to pgbn fit and
    other commands instead of a file.

    Examples:

      pgbn corpus build reviews.jsonl --text-column review -o reviews --min-df 5

      pgbn corpus build part-*.txt.gz -o pages

      pgbn corpus build counts.mtx --terms vocabulary.txt -o counts
    """
    from pgbn.storage.corpus import Corpus
    from pgbn.storage.count_files import MATRICES
    from pgbn.storage.sources import file_format

    with wrong_usage():
        options = counting.options()
        if file_format(data[0], reading.input_format) in MATRICES:
            counting.reject_for_counts(data[0])
            options = {}
    with interruptible():
        corpus = Corpus.build(
            data[0] if len(data) == 1 else data, to, block_rows=block_rows, overwrite=overwrite,
            progress=_Notes(), **reading.arguments(), **options,
        )  # fmt: skip
    documents, terms = corpus.shape
    output.result(
        {"corpus": str(to), "documents": documents, "terms": terms, "total": corpus.total,
         "blocks": corpus.block_count},
        lambda: output.say(
            f"{documents} documents, {terms} terms, total count {corpus.total:.10g}, in "
            f"{corpus.block_count} blocks; next: pgbn fit {to} -o model"
        ),
    )  # fmt: skip


def stream_features(
    network: Any, data: Path, to: Path, layer: int | None, sampling: Sampling
) -> None:
    """The features of a corpus in a folder, to a .npy file, block by block."""
    from pgbn.storage.corpus import Corpus

    corpus, notes = Corpus.open(data), _Notes()
    with cannot_write(to), interruptible():
        features = network.transform(corpus, to, layer=layer, **vars(sampling),
                                callback=lambda done, total: notes("features", done))  # fmt: skip
    rows, columns = features.shape
    output.result({"output": str(to), "documents": rows, "features": columns},
                  lambda: output.say(f"{to}: {rows} × {columns}"))  # fmt: skip


class _Notes:
    """Prints the progress of a build at intervals."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def __call__(self, what: str, documents: int) -> None:
        if time.monotonic() - self.last >= SECONDS:
            self.last = time.monotonic()
            output.note(f"{what}: {documents} documents")
