"""Networks that are trained on data frames know the names of the terms: new documents go by name.

They went by position: columns in another order gave other shares, and no word of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pgbn
from pgbn.report import report_data
from tests.helpers.refusals import check_refused

NAMES = tuple("abcdef")
COUNTS = np.random.default_rng(0).poisson([[6, 6, 6, 0, 0, 0], [0, 0, 0, 6, 6, 6]] * 5)
FRAME = pd.DataFrame(COUNTS, columns=list(NAMES))
TURNED = FRAME[list(reversed(NAMES))]
FEW: dict[str, Any] = {"burn_in": 2, "collect": 1, "min_width": 1, "progress": False}


@pytest.fixture(scope="module")
def training() -> pgbn.LayerwiseTraining:
    return pgbn.train_layerwise(FRAME, (3, 2), 2, **FEW)


def test_new_documents_go_by_name(training: pgbn.LayerwiseTraining) -> None:
    assert [network.vocabulary for network in training] == [NAMES] * 2
    first, *others = (pgbn.infer(training, X, burn_in=2, samples=2).proportions["theta1"]
                      for X in (FRAME, TURNED, COUNTS))  # fmt: skip
    for other in others:
        np.testing.assert_array_equal(first, other)
    first, other = (report_data(training, X).theta[0] for X in (FRAME, TURNED))
    np.testing.assert_array_equal(first, other)


def test_other_trainings_know_them_too(tmp_path: Path) -> None:
    found = pgbn.checkpoint.train(FRAME, tmp_path / "model", 3, 1, **FEW).deepest
    assert found.vocabulary == pgbn.load(tmp_path / "model").deepest.vocabulary == NAMES
    batches = pgbn.train_minibatch(FRAME, 3, batch_size=5, steps=2, collect=1, progress=False)
    assert batches.vocabulary == NAMES


@pytest.mark.parametrize("names", [list(range(5, 11)), ["a", *"abcde"]])
def test_numbers_and_names_that_come_twice_are_no_names(names: list[Any]) -> None:
    assert pgbn.train_layerwise(FRAME.set_axis(names, axis=1), 3, 1, **FEW)[1].vocabulary is None


def test_the_same_documents_in_another_order_are_refused(training: Any) -> None:
    deepest, held = training.deepest, pgbn.HeldOut(TURNED)
    for call, name in (
        (lambda: pgbn.train_layerwise(TURNED, (3, 2), 2, start_from=training, **FEW), "X"),
        (lambda: pgbn.completion_perplexity(deepest, FRAME, train=TURNED), "train"),
        (lambda: pgbn.train_minibatch(FRAME, 3, held_out=TURNED, progress=False), "held_out"),
        (lambda: held.add_chain(pgbn.zoo.pfa(2).chain({"x": FRAME})), "held_out"),
    ):
        check_refused(call, pgbn.DataError, [f"{name}: the labels along 'term'", "'f'", "'a'"])
