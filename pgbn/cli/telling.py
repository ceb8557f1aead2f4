"""What the commands that train say before and after."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pgbn.cli.console import output
from pgbn.storage.blocks import Corpus

if TYPE_CHECKING:
    from pgbn.evaluation import Topic
    from pgbn.training.settings import Settings
    from pgbn.training.trained import TrainedNetwork

__all__ = ["as_options", "describe", "finished", "foretell", "hierarchy"]

FEW_TERMS = 20
_CHILDREN = 3  # that are shown of a theme; one less of each topic below
_LONG = 1000, 500  # sweeps of each layer, burn-in (as in the paper) and collection


def finished(folder: Path) -> None:
    """What a training ended with: its widths, how its layers read, and what to know of them."""
    from pgbn.evaluation import layer_quality, training_advice
    from pgbn.storage.folders import open_saved
    from pgbn.training.trained import TrainedNetwork, unwrapped

    saved = open_saved(folder)
    result = getattr(saved.object, "training_", saved.object)
    network = unwrapped(result)
    widths = list(getattr(network, "widths", ()))
    stopped = getattr(result, "stopped", "")
    topics = isinstance(network, TrainedNetwork)
    layers = layer_quality(network) if topics else []
    advice = training_advice(result, saved.data) if hasattr(result, "networks") and topics else []

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


def as_options(sentence: str) -> str:
    """A sentence that names arguments of Python, with the options of the command line."""
    return re.sub(r"\b(max_width|burn_in|stop_words|max_df|min_df)\b",
                  lambda found: "--" + found[0].replace("_", "-"), sentence)  # fmt: skip


def describe(corpus: Corpus) -> None:
    """The size of a corpus, and whether too much was left out of it."""
    documents, terms = corpus.shape
    output.note(f"documents: {documents}, terms: {terms}, total count: {corpus.total:.10g}")
    if corpus.texts is not None and terms < FEW_TERMS:
        output.note("pgbn: note: few terms are left; --min-df 1, --max-df 1.0 and --stop-words "
                    "none leave out fewer")  # fmt: skip
    if not corpus.total:
        output.note("pgbn: note: all counts are zero; there are no topics to find")


def foretell(settings: Settings) -> None:
    """How long the training is, what a longer one is for, and how long that takes."""
    sweeps = sum(settings.burn_in) + sum(settings.collect)
    burn_in, collect = _LONG
    times = round((burn_in + collect) * len(settings.burn_in) / max(sweeps, 1))
    longer = f" (about {times} times as long)" if times > 1 else ""
    more = "" if min(settings.burn_in) >= burn_in else (
        f", enough to explore; for results to rely on, --burn-in {burn_in} --collect {collect}"
        f"{longer}; compare several seeds")  # fmt: skip
    output.note(f"sweeps: {sweeps}{more}")


def hierarchy(network: TrainedNetwork, vocabulary: Sequence[str] | None) -> list[str]:
    """A table of contents: every topic of the top layer with its largest topics below, and theirs.
    A topic k stands under the topic l that holds most of it, argmax_l weight_l φ_lk."""
    from pgbn.evaluation import topics

    found = [topics(network, layer, 6, vocabulary) for layer in range(1, network.depth + 1)]
    lines = []

    def add(layer: int, topic: Topic, above: int) -> None:
        lines.append(f"{'    ' * above}{topic.weight:6.1%}  {' '.join(topic.terms)}")
        if layer > 1:
            upper, phi = found[layer - 1], network.phi[layer - 1]
            index = np.array([each.index for each in upper])
            held = np.array([each.weight for each in upper])[:, None] * phi[index]
            under = index[held.argmax(axis=0)]
            own = [each for each in found[layer - 2] if under[each.index] == topic.index]
            for each in own[: _CHILDREN - above]:
                add(layer - 1, each, above + 1)

    for theme in found[-1]:
        add(network.depth, theme, 0)
    return lines
