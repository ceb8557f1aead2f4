"""The commands that use a trained model: info, topics, label, transform, perplexity, generate; and
``pgbn corpus build``."""

from __future__ import annotations

import json
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
    CsvFile,
    cannot_write,
    check_target,
    give_table,
    interruptible,
    output,
    save_result,
    wrong_usage,
)
from pgbn.cli.options import (
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

if TYPE_CHECKING:
    from pgbn.cli.models import Model
    from pgbn.engine.rows.new_rows import NewRows
    from pgbn.evaluation.topic_words import Topic
    from pgbn.training.trained import TrainedNetwork


_MODELS = ("training", "trained", "grown", "estimator", "transformer")


def info_command(model: Folder, to: CsvFile = None) -> None:
    """Show what a folder contains.

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
    if to is not None:
        return save_result(to, ("fact", "value"), rows, "facts")
    output.result(facts, lambda: output.table(str(model), ("", ""), rows))


def topics_command(
    model: Folder,
    layer: Annotated[int | None, typer.Option(min=1, help="One layer; by default all.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Terms of each topic.")] = 10,
    number: Annotated[
        int | None, typer.Option("--number", "-n", min=1, help="Show only the heaviest topics.")
    ] = None,
    relevance: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="1 ranks terms by probability, smaller values prefer terms "
            "that are rarer elsewhere; by default 1 in layer 1 and 0.3 above.",
        ),
    ] = None,
    to: CsvFile = None,
) -> None:
    """List the topics of a model by weight.

    Example:

      pgbn topics model --layer 2 --top 15 -n 20

      pgbn topics model -o topics.csv
    """
    from pgbn.cli.models import open_model, topic_row

    opened = open_model(model)
    layers = range(opened.network.depth, 0, -1) if layer is None else [layer]
    found = {
        t: opened.network.topics(t, top, opened.vocabulary, relevance)[:number] for t in layers
    }

    if to is not None:
        lines = [(t.layer, t.index, t.label, f"{t.weight:.6g}", " ".join(t.terms))
                 for every in found.values() for t in every]  # fmt: skip
        return save_result(to, ("layer", "topic", "label", "weight", "terms"), lines, "topics")

    def text() -> None:
        for t, every in found.items():
            rows = [(each.index, f"{each.weight:.1%}", _terms(each)) for each in every]
            title = f"\nLayer {t}: {opened.network.widths[t - 1]} topics"
            output.table(title, ("topic", "weight", "terms"), rows)

    output.result([topic_row(each) for every in found.values() for each in every], text)


def _terms(topic: Topic) -> str:
    return f"{topic.label + ': ' if topic.label else ''}{' '.join(topic.terms)}"


def transform_command(
    model: Folder,
    data: Data,
    *,
    to: Annotated[Path | None, typer.Option("--output", "-o", help="A .csv, .npy or .npz file; "
                                            "CSV on standard output by default.")] = None,
    layer: Annotated[int | None, typer.Option(min=1, help="The layer whose proportions are "
                                              "written; by default the first.")] = None,
    concat: Annotated[bool, typer.Option(help="All layers, next to each other.")] = False,
    sampling: Sampling,
    reading: Reading,
) -> None:  # fmt: skip
    """Write the topic proportions of new documents.

    The .npy file of a corpus from pgbn corpus build is written block by block. After a stop, the
    same command continues it.

    Example:

      pgbn transform model new.csv --text-column review -o features.csv
    """
    from pgbn.cli.models import open_model, read_for

    if concat and layer is not None:
        raise typer.BadParameter(f"--layer {layer} is one layer and --concat all: give one of them")
    check_target(to, ".csv", ".npy", ".npz")
    opened = open_model(model)
    chosen = None if concat else 1 if layer is None else layer
    if to is not None and to.suffix == ".npy" and is_archive(data):
        return stream_features(opened.network, data, to, chosen, sampling)
    corpus, X = read_for(opened, data, reading)
    found = _infer(opened.network, X, corpus.names, layers=chosen, units=False, **vars(sampling))
    features = found.features(chosen)
    names = [
        f"layer{t}_topic{k}" for t in found.layers for k in range(opened.network.widths[t - 1])
    ]
    give_table(
        to, "document", corpus.names, names, features,
        {"features": features, "columns": np.array(names), "documents": np.array(corpus.names)},
        ("document", "features"), dict(zip(("documents", "features"), features.shape, strict=True)),
        f"{features.shape[0]} × {features.shape[1]}",
    )  # fmt: skip


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
            f"{', …' if found.empty.size > 5 else ''}; their proportions are those of the prior"
        )
    return found


def perplexity_command(
    model: Folder,
    data: Data,
    *,
    fraction: Annotated[float, typer.Option(callback=checked_by(lambda value: between(value, 0, 1)),
                                            help="The part of each document that is seen.")] = 0.5,
    to: CsvFile = None,
    sampling: Sampling,
    reading: Reading,
) -> None:  # fmt: skip
    """Show how well a model predicts new documents.

    The model sees a part of the tokens of each; the perplexity of the other tokens is printed.

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
    if to is not None:
        return save_result(to, tuple(facts), [tuple(facts.values())], "row")
    said = (
        f"{facts['perplexity']:.2f}: the perplexity of {facts['tokens']} held-out tokens of "
        f"{facts['documents']} documents, given {fraction:.0%} of each; of equally likely terms it "
        f"would be {opened.network.vocabulary_size}"
    )
    output.result(facts, lambda: output.say(said))


def generate_command(
    model: Folder,
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="Documents.")] = 5,
    length: Annotated[int | None, typer.Option(min=1, help="Tokens of each; drawn by default.")]
    = None,
    c: Annotated[str, typer.Option(callback=one_of("median", "random", "prior"), help="Rates: "
                                   "median, random (of training documents) or prior.")] = "median",
    top: Annotated[int, typer.Option(min=1, help="Terms of each that are printed.")] = 20,
    seed: Seed = 0,
    to: CsvFile = None,
) -> None:  # fmt: skip
    """Draw synthetic documents from the top of the network down.

    Example:

      pgbn generate model -n 3 --length 100
    """
    from pgbn.cli.models import open_model

    opened = open_model(model)
    drawn = opened.network.generate(number, length=length, c=c, seed=seed)
    names = term_names(opened.vocabulary, opened.network.vocabulary_size)
    documents = []
    for row in range(number):
        counts = drawn["x"][[row]].tocoo()
        order = np.argsort(-counts.data, kind="stable")
        columns = counts.coords[1]
        documents.append({names[columns[i]]: counts.data[i].item() for i in order})
    if to is not None:
        lines = [(n, *each) for n, document in enumerate(documents, 1) for each in document.items()]
        return save_result(to, ("document", "term", "count"), lines, "counts")

    def text() -> None:
        for n, document in enumerate(documents, 1):
            terms = [f"{term}×{count:g}" for term, count in list(document.items())[:top]]
            output.say(printable(f"{n}. {' '.join(terms) or '(empty)'}", one_line=True))

    output.result(documents, text)


Labels = dict[tuple[int, int], str]


def label_command(
    model: Folder,
    labels: Annotated[
        list[str] | None,
        typer.Argument(help="Topics and their names: 1/0=weather 2/3=travel; 1/0= takes the name "
                       "away.", show_default=False),
    ] = None,
    keyword: Annotated[
        list[str] | None,
        typer.Option(help="A name for the topic that has most of some words: weather=rain,sun. "
                     "May be given several times.", show_default=False),
    ] = None,
    layer: Annotated[int, typer.Option(min=1, help="The layer of --keyword.")] = 1,
    to: CsvFile = None,
) -> None:  # fmt: skip
    """Name topics, by number or by words. Names appear in all lists and in the report.

    Examples:

      pgbn label model 1/0=weather 2/3="travel and food"

      pgbn label model --keyword weather=rain,sun --keyword law=court,judge

      pgbn label model    (lists the names; with -o names.csv, in a file)
    """
    from pgbn.cli.models import open_model
    from pgbn.evaluation.topic_words import keyword_labels

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
    if to is not None:
        rows = [(t, k, name) for (t, k), name in sorted(network.labels.items())]
        return save_result(to, ("layer", "topic", "label"), rows, "label")
    shown = {f"{t}/{k}": name for (t, k), name in sorted(network.labels.items())}

    def text() -> None:
        for place, name in shown.items():
            output.say(f"{place} {printable(name, one_line=True)}")
        if not shown:
            output.say(f"no topic has a name; pgbn label {model} 1/0=weather gives one")

    output.result(shown, text)


def _place(text: str) -> tuple[tuple[int, int], str]:
    """The topic and its name in "1/0=weather"."""
    place, given, name = text.partition("=")
    layer, _, index = place.partition("/")
    if not given or not _is_number(layer) or not _is_number(index):
        raise DataError(f"{text!r}: give a layer, a topic and a name, such as 1/0=weather")
    return (int(layer), int(index)), name.strip()


def _is_number(text: str) -> bool:
    return text.strip().isdecimal() and len(text) < 20


def _keyword(text: str) -> tuple[str, Sequence[str]]:
    """The name and the words in "weather=rain,sun"."""
    name, _, words = text.partition("=")
    found = [word.strip() for word in words.split(",") if word.strip()]
    if not name.strip() or not found:
        raise DataError(f"--keyword {text!r}: give a name and words, such as weather=rain,sun")
    return name.strip(), found


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
        ".npz or .svmlight file.", show_default=False)],
    to: Annotated[Path, typer.Option("--to", "-o", help="The folder of the corpus.")],
    reading: Reading,
    counting: Counting,
    block_rows: Annotated[int, typer.Option(min=1, help="Documents of a block.")] = 4096,
    overwrite: Annotated[bool, typer.Option(help="Replace a corpus that is there.")] = False,
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
            counting.refuse_for_counts(data[0])
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
