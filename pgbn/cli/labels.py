"""The command that names topics: label."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pgbn.cli.console import output, wrong_usage
from pgbn.cli.models import CsvFile, save_result
from pgbn.cli.options import Folder
from pgbn.errors import DataError, printable
from pgbn.storage.archive import MANIFEST, is_archive
from pgbn.storage.atomic_files import locked

if TYPE_CHECKING:
    from pgbn.cli.models import Model
    from pgbn.training.trained import TrainedNetwork


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
    """Name topics, by number or by words. Names stand in all lists and in the report.

    Examples:

      pgbn label model 1/0=weather 2/3="travel and food"

      pgbn label model --keyword weather=rain,sun --keyword law=court,judge

      pgbn label model    (lists the names; with -o names.csv, in a file)
    """
    from pgbn.cli.models import open_model
    from pgbn.evaluation import keyword_labels

    with wrong_usage():
        by_hand = dict(_place(text) for text in labels or ())
        wanted = dict(_keyword(text) for text in keyword or ())
    folder = model.parent if model.name == MANIFEST else model
    changing = (by_hand or wanted) and is_archive(folder)
    with locked(folder) if changing else nullcontext():  # what is saved is what was read
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
    """Of "1/0=weather" the topic and its name."""
    place, given, name = text.partition("=")
    layer, _, index = place.partition("/")
    if not given or not _is_number(layer) or not _is_number(index):
        raise DataError(f"{text!r}: give a layer, a topic and a name, such as 1/0=weather")
    return (int(layer), int(index)), name.strip()


def _is_number(text: str) -> bool:
    return text.strip().isdecimal() and len(text) < 20


def _keyword(text: str) -> tuple[str, Sequence[str]]:
    """Of "weather=rain,sun" the name and the words."""
    name, _, words = text.partition("=")
    found = [word.strip() for word in words.split(",") if word.strip()]
    if not name.strip() or not found:
        raise DataError(f"--keyword {text!r}: give a name and words, such as weather=rain,sun")
    return name.strip(), found


def _save(folder: Path, opened: Model, network: TrainedNetwork, changes: Labels) -> None:
    """The model with its labelled network in its place, and all that was saved beside it."""
    from pgbn.storage.folders import save
    from pgbn.training.training_result import LayerwiseTraining

    saved, value = opened.saved, opened.saved.object
    if hasattr(value, "set_labels"):  # an estimator
        value.set_labels(changes)
    elif isinstance(value, LayerwiseTraining):
        value = replace(value, networks=(*value.networks[:-1], network))
    else:
        value = network
    save(value, folder, vocabulary=saved.vocabulary, labels=saved.labels,
         record=saved.record, data=saved.data, columns=saved.columns)  # fmt: skip
