"""Saved objects: what comes back is what went in, with the names beside it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.errors import StorageError
from pgbn.report import report_data
from pgbn.storage import open_saved
from tests.helpers.models import algorithm1
from tests.helpers.saved import QUICK, counts, same_networks


def test_network(tmp_path: Path) -> None:
    network = zoo.pgbn([6, 4]).with_order(algorithm1(2))
    pgbn.save(network, tmp_path / "n")
    assert pgbn.load(tmp_path / "n").to_json() == network.to_json()


def test_trained(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    words = [f"wörd {v} \u2603" for v in range(70)]
    pgbn.save(trained, tmp_path / "t", vocabulary=words, labels=range(50), record={"a": [1, None]},
              data=counts())  # fmt: skip
    saved = open_saved(tmp_path / "t")
    same_networks(saved.object, trained)
    assert saved.object.stopped == trained.stopped
    assert (saved.vocabulary, saved.record, saved.package) == (
        words,
        {"a": [1, None]},
        pgbn.__version__,
    )
    assert saved.labels == [str(i) for i in range(50)]
    assert (saved.data != counts()).nnz == 0
    pgbn.save(trained.deepest, tmp_path / "t")  # in the place of the other
    assert repr(pgbn.load(tmp_path / "t")) == repr(trained.deepest)
    spec = json.loads((tmp_path / "t" / "model.json").read_text())["body"]["content"]["object"]
    assert spec["networks"][0]["network"]["format"] == "pgbn-network/1"


def test_start_from_a_folder(folder: Path, trained: pgbn.LayerwiseTraining) -> None:
    one = pgbn.train_layerwise(counts(), 8, 3, start_from=folder, **QUICK)
    two = pgbn.train_layerwise(counts(), 8, 3, start_from=trained, **QUICK)
    same_networks(one, two)


def test_a_dict_of_columns_names_the_terms(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    columns = {f"w{v}": v for v in reversed(range(70))}
    pgbn.save(trained, tmp_path / "t", vocabulary=columns)
    assert open_saved(tmp_path / "t").vocabulary == [f"w{v}" for v in range(70)]


def test_saved_names_come_back(tmp_path: Path, trained: pgbn.LayerwiseTraining) -> None:
    """Lists of topics and reports of a loaded model have the terms' names, and keep them."""
    words = [f"word{v}" for v in range(70)]
    wanted = pgbn.evaluation.topics(trained, 1, 3, words)
    pgbn.save(trained, tmp_path / "t", vocabulary=words)
    again = pgbn.load(tmp_path / "t")
    assert pgbn.evaluation.topics(again, 1, 3) == wanted
    assert report_data(again).vocabulary == words
    other = [f"other{v}" for v in range(70)]
    assert pgbn.evaluation.topics(again, 1, 3, other)[0].terms[0].startswith("other")
    again = pgbn.train_layerwise(counts(), 8, 2, start_from=again, **QUICK)  # sweeps more
    pgbn.save(again.deepest, tmp_path / "t")
    assert pgbn.load(tmp_path / "t").vocabulary == tuple(words)
    assert open_saved(tmp_path / "t").vocabulary == words


def test_saved_names_of_an_estimator(tmp_path: Path) -> None:
    frame = pytest.importorskip("pandas").DataFrame(
        counts().toarray(), columns=[f"column{v}" for v in range(70)]
    )
    model = pgbn.PFA(5, burn_in=5, collect=5, random_state=0).fit(frame)
    pgbn.save(model, tmp_path / "e")
    assert open_saved(tmp_path / "e").vocabulary == list(frame)
    assert pgbn.load(tmp_path / "e").topics(top=3) == model.topics(top=3)
    words = [f"word{v}" for v in range(70)]
    pgbn.save(model.fit(counts()), tmp_path / "e", vocabulary=words)
    again = pgbn.load(tmp_path / "e")
    assert again.topics(top=3) == model.topics(top=3, vocabulary=words)
    assert np.array_equal(again.transform(counts()), model.transform(counts()))
    assert again.fit(counts()).topics()[0].terms[0].startswith("term")  # other data, other terms


@pytest.mark.parametrize("name", ["PGBN", "PFA"])
def test_estimators(tmp_path: Path, name: str) -> None:
    make = getattr(pgbn, name)
    width = {"max_width": 6} if name == "PGBN" else {"width": 6}
    model = make(**width, burn_in=5, collect=5, random_state=np.int64(3))
    pgbn.save(model, tmp_path / "e")
    assert pgbn.load(tmp_path / "e").get_params() == model.get_params()
    model.fit(counts())
    pgbn.save(model, tmp_path / "e")
    again = pgbn.load(tmp_path / "e")
    assert np.array_equal(again.transform(counts()), model.transform(counts()))
    assert again.widths_ == model.widths_
    model.set_params(random_state=np.random.RandomState(0))
    with pytest.raises(StorageError, match="random_state"):
        pgbn.save(model, tmp_path / "e")
