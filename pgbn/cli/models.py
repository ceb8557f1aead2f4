"""Saved models, runs and networks, and new documents for them, for the commands.

It imports the modules of a model, so commands import it when they run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import scipy.sparse as sp

from pgbn.cli.options import Reading
from pgbn.engine.run.draws import Draws
from pgbn.errors import DataError, PgbnError, StorageError, notify
from pgbn.evaluation.topic_words import Topic, topic_name
from pgbn.network.network import Network
from pgbn.storage.archive import LARGEST_MANIFEST, MANIFEST
from pgbn.storage.corpus import Corpus
from pgbn.storage.folders import Saved, load, open_saved
from pgbn.storage.read_limits import check_regular
from pgbn.storage.terms import saved_counting
from pgbn.storage.texts import not_in
from pgbn.training.new_rows import align_terms, amount
from pgbn.training.trained import TrainedNetwork, is_belief, unwrapped


class Model:
    """A saved model for the commands."""

    def __init__(self, path: Path, saved: Saved) -> None:
        self.path, self.saved = path, saved
        self.result = getattr(saved.object, "training_", saved.object)
        network = unwrapped(self.result)
        if not is_belief(network):
            raise DataError(f"{path}: holds a {saved.kind}; this command needs a trained model")
        self.network = network

    @property
    def vocabulary(self) -> list[str] | None:
        return self.saved.vocabulary


def open_model(path: Path) -> Model:
    """The trained model in a folder."""
    return Model(path, open_saved(path))


def open_draws(path: Path) -> tuple[Draws, Network]:
    """The run of `pgbn.Network.sample` in a folder, finished or not, and its network."""
    saved = open_saved(path)
    if not isinstance(saved.object, Draws):
        raise DataError(
            f"{path}: holds a {saved.kind}; this command needs a run of pgbn sample or net.sample"
        )
    if saved.object.network is None:
        raise DataError(f"{path}: these draws do not contain their network; sample again")
    return saved.object, saved.object.network


def read_network(path: Path) -> Network:
    """A network: from a JSON file, or from anything that is saved in a folder."""
    if path.suffix == ".json" and path.name != MANIFEST and not path.is_dir():
        try:
            check_regular(path, LARGEST_MANIFEST)
            return Network.from_json(path.read_text("utf-8-sig"))
        except FileNotFoundError:
            raise DataError(f"{path}: no such file; write net.to_json() into it") from None
        except UnicodeDecodeError:
            raise not_in(path, "utf-8", "not a network in JSON; save it as utf-8") from None
        except StorageError:
            raise
        except PgbnError as error:
            raise DataError(f"{path}: {error}") from error
    trained = unwrapped(load(path))
    if isinstance(trained, TrainedNetwork):
        return trained.network
    found = trained if isinstance(trained, Network) else getattr(trained, "network", None)
    if not isinstance(found, Network):
        raise DataError(f"{path}: no network in it; an estimator that was not fitted has none yet")
    return found


def topic_row(topic: Topic) -> dict[str, Any]:
    """A topic as JSON."""
    label = {"label": topic.label} if topic.label else {}
    return {"topic": topic_name(topic.layer, topic.index), "layer": topic.layer, **label,
            "weight": topic.weight,
            "terms": dict(zip(topic.terms, topic.probabilities, strict=True))}  # fmt: skip


def read_for(model: Model, data: Path, reading: Reading) -> tuple[Corpus, sp.csr_array]:
    """New documents, and their counts in the columns of a model."""
    options = reading.arguments() | saved_counting(model.saved.record, model.path)
    corpus = Corpus.read(data, vocabulary=model.vocabulary, **options)
    size = model.network.vocabulary_size
    if model.vocabulary is None or corpus.vocabulary is None:
        X, columns, tokens = align_terms(corpus.counts, size)
    else:
        X, columns, tokens = align_terms(corpus.counts, size, corpus.vocabulary, model.vocabulary)
    if columns:
        notify(f"{columns} unknown terms with {amount(tokens)} were dropped")
    return corpus, X
