"""Saved models, and new documents for them, as the commands use them.

It imports what a model needs: commands import it when they run.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from pgbn.cli.options import Reading
from pgbn.errors import DataError, notify
from pgbn.evaluation import Topic
from pgbn.storage.corpus import Corpus, read_corpus
from pgbn.storage.folders import Saved, open_saved
from pgbn.training.new_rows import align_terms, amount
from pgbn.training.trained import TrainedNetwork

__all__ = ["Model", "open_model", "read_for", "topic_row"]


class Model:
    """A saved model as the commands use it."""

    def __init__(self, path: Path, saved: Saved) -> None:
        self.path, self.saved = path, saved
        self.result = getattr(saved.object, "training_", saved.object)
        network = getattr(self.result, "deepest", self.result)
        if not isinstance(network, TrainedNetwork):
            raise DataError(f"{path}: holds a {saved.kind}; this command needs a trained model")
        self.network = network

    @property
    def vocabulary(self) -> list[str] | None:
        return self.saved.vocabulary


def open_model(path: Path) -> Model:
    """The trained model in a folder."""
    return Model(path, open_saved(path))


def topic_row(topic: Topic) -> dict[str, Any]:
    """A topic as JSON."""
    label = {"label": topic.label} if topic.label else {}
    return {"layer": topic.layer, "topic": topic.index, **label, "weight": topic.weight,
            "terms": dict(zip(topic.terms, topic.probabilities, strict=True))}  # fmt: skip


def read_for(model: Model, data: Path, reading: Reading) -> tuple[Corpus, sp.csr_array]:
    """New documents, and their counts in the columns of a model."""
    options = asdict(reading) | model.saved.record.get("vectorizer", {})
    corpus = read_corpus(data, vocabulary=model.vocabulary, **options)
    size = model.network.vocabulary_size
    if model.vocabulary is None or corpus.vocabulary is None:
        X, columns, tokens = align_terms(corpus.counts, size)
    else:
        X, columns, tokens = align_terms(corpus.counts, size, corpus.vocabulary, model.vocabulary)
    if columns:
        notify(f"{columns} unknown terms with {amount(tokens)} were dropped")
    return corpus, X
