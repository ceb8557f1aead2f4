"""Where a training begins: at nothing, at a trained network, or where another was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pgbn.engine.data.cells import Cells, read_array
from pgbn.errors import DataError
from pgbn.training.growing import Progress
from pgbn.training.result import LayerwiseTraining
from pgbn.training.settings import Settings
from pgbn.training.trained import TrainedNetwork, observed_node
from pgbn.zoo import layers

__all__ = ["check_resumed", "check_start", "find_start", "networks_of", "read_training"]


def read_training(X: Any, link: str) -> Cells:
    """The documents to train on, checked."""
    if isinstance(X, Cells):  # read before
        return X
    return read_array(observed_node(link, "X"), X)


def find_start(start: Any) -> list[TrainedNetwork]:
    """The networks that ``start_from`` stands for; none if it is left out."""
    if start is None:
        return []
    found = start
    if isinstance(start, (str, Path)):
        from pgbn.storage.folders import load

        found = load(start)
    found = getattr(found, "training_", found)  # of an estimator
    networks = list(found) if isinstance(found, LayerwiseTraining) else [found]
    if not isinstance(networks[-1], TrainedNetwork):
        held = "" if found is start else f" holds a {type(found).__name__}"
        raise DataError(
            f"start_from={start!r:.80}{held}: give a trained network, a training, a fitted "
            "estimator, or the folder of one"
        )
    return networks


def check_start(last: TrainedNetwork, cells: Cells, settings: Settings) -> None:
    """The network to go on from must fit the documents and what is to be trained."""
    if last.link != settings.link:
        raise DataError(f"start_from: its link is {last.link!r}, not link={settings.link!r}")
    if last.depth > settings.depth:
        raise DataError(
            f"start_from: it has {last.depth} layers, more than depth={settings.depth}; give "
            f"depth={last.depth} to train it further, or start from a network of fewer layers"
        )
    if last.vocabulary_size != cells.columns:
        raise DataError(
            f"start_from: trained on {last.vocabulary_size} terms, but X has {cells.columns}; give "
            "the same X"
        )
    if any(name not in last.state for name in last.network().latent):
        raise DataError(
            "start_from: this network has no state to go on from; train it with keep_states=True, "
            "or start from the deepest network of a training"
        )
    documents = last.state[layers.theta(1)].shape[0]
    if documents != cells.rows:
        raise DataError(
            f"start_from: trained on {documents} documents, but X has {cells.rows}; give the same X"
        )
    given = settings.max_width
    for layer, (most, width) in enumerate(zip(_list(given), last.widths, strict=False), 1):
        if most < width:
            which = "the first layer" if layer == 1 else f"layer {layer}"
            least = f"max_width={width}" if isinstance(given, int) else f"{width} for it"
            raise DataError(
                f"max_width={given}: {which} of start_from has {width} factors, and keeps them; "
                f"give {least} or more, or train anew, without start_from"
            )


def _list(max_width: int | tuple[int, ...]) -> tuple[int, ...]:
    return (max_width,) if isinstance(max_width, int) else max_width


def networks_of(resume: Any) -> list[TrainedNetwork]:
    """The networks that a training had when it was stopped."""
    if not isinstance(resume, Progress):
        raise DataError(
            f"resume={resume!r}: give the pgbn.Progress that a callback saw; for a folder with a "
            "checkpoint, use pgbn.resume(path)"
        )
    return list(resume.networks)


def check_resumed(resume: Progress, cells: Cells, depth: int) -> None:
    """A training that goes on must be of the same documents, and not be deeper already."""
    shape = resume.chain.program.cells[layers.DATA].shape
    if shape != cells.shape or resume.depth > depth:
        raise DataError(
            f"resume: a training of layer {resume.depth} on documents × terms {shape} does not fit "
            f"depth={depth} and X of {cells.shape}; give the arguments that it had"
        )
