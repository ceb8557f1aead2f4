"""The commands that use a trained model: info, topics, transform, perplexity, …"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pgbn.checks import term_names
from pgbn.cli.console import check_target, output
from pgbn.cli.corpora import stream_features
from pgbn.cli.options import Data, Folder, Reading, Sampling, Seed, between, checked_by, one_of
from pgbn.cli.tables import CsvFile, give_table, save_result
from pgbn.errors import PgbnWarning, notify, printable
from pgbn.storage.archive import is_archive, read_manifest
from pgbn.storage.folders import open_saved, read_folder

if TYPE_CHECKING:
    from pgbn.engine.rows.new_rows import NewRows
    from pgbn.evaluation import Topic


_MODELS = ("training", "trained", "grown", "estimator", "transformer")


def info_command(model: Folder, to: CsvFile = None) -> None:
    """Say what a folder holds.

    Example:

      pgbn info model
    """
    from pgbn.engine.run.run_store import RUN
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
            found |= {key: chain[key] for key in ("sweeps", "seed", "number", "layer1", "shapes")}
        return found

    facts = read_folder(model, read)
    if facts["kind"] in _MODELS and read_manifest(model)["groups"]:
        saved = open_saved(model)
        network = unwrapped(saved.object)  # of a family of its own, it has no terms and no link
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
    layer: Annotated[int | None, typer.Option(min=1, help="One layer; all if left out.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Terms of each topic.")] = 10,
    number: Annotated[
        int | None, typer.Option("--number", "-n", min=1, help="The weightiest topics only.")
    ] = None,
    relevance: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="1 ranks terms by probability, smaller values those first "
            "that are rarer elsewhere; 1 in layer 1 and 0.3 above if left out.",
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
    from pgbn.evaluation import topics

    opened = open_model(model)
    layers = range(opened.network.depth, 0, -1) if layer is None else [layer]
    found = {
        t: topics(opened.network, t, top, opened.vocabulary, relevance)[:number] for t in layers
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
                                            "CSV on standard output if left out.")] = None,
    layer: Annotated[int | None, typer.Option(min=1, help="The layer whose proportions are "
                                              "written; the first if left out.")] = None,
    concat: Annotated[bool, typer.Option(help="All layers side by side.")] = False,
    sampling: Sampling,
    reading: Reading,
) -> None:  # fmt: skip
    """Write the topic proportions of new documents.

    Of a corpus that pgbn corpus build wrote, a .npy file is written block by block, and goes on
    after a stop when the same command is given again.

    Example:

      pgbn transform model new.csv --column review -o features.csv
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
    found = _infer(opened.network, X, corpus.labels, layers=chosen, units=False, **vars(sampling))
    features = found.features(chosen)
    names = [
        f"layer{t}_topic{k}" for t in found.layers for k in range(opened.network.widths[t - 1])
    ]
    give_table(
        to, "document", corpus.labels, names, features,
        {"features": features, "columns": np.array(names), "documents": np.array(corpus.labels)},
        ("document", "features"), dict(zip(("documents", "features"), features.shape, strict=True)),
        f"{features.shape[0]} × {features.shape[1]}",
    )  # fmt: skip


def _infer(network: Any, X: Any, labels: list[str], **settings: Any) -> NewRows:
    """`pgbn.infer`; its note of empty documents counts rows from 0, ours says what they are called
    in the results."""
    from pgbn.training.new_rows import infer

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* documents have no known term", PgbnWarning)
        found = infer(network, X, **settings)
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
    """Say how well a model predicts new documents.

    It sees a part of the tokens of each; what is printed is the perplexity of each of the others.

    Example:

      pgbn perplexity model held-out/ --fraction 0.5
    """
    from pgbn.cli.models import open_model, read_for
    from pgbn.evaluation import completion_perplexity

    opened = open_model(model)
    _, X = read_for(opened, data, reading)
    held = completion_perplexity(opened.network, X, fraction=fraction, **vars(sampling))
    facts = {"perplexity": held.perplexity(), "tokens": int(held.cells.values.sum()),
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
    length: Annotated[int | None, typer.Option(min=1, help="Tokens of each; drawn if left out.")]
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
    from pgbn.evaluation import generate_documents

    opened = open_model(model)
    drawn = generate_documents(opened.network, number, length=length, c=c, seed=seed)
    names = term_names(opened.vocabulary, opened.network.vocabulary_size)
    documents = []
    for row in range(number):
        counts = drawn.counts[[row]].tocoo()
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
