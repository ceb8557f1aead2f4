"""The settings of a training: the right is taken, the wrong is refused before any work."""

from __future__ import annotations

import json
from dataclasses import fields
from inspect import signature
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError
from pgbn.samplers.executor import SERIAL
from pgbn.training.layerwise import trained_so_far
from pgbn.training.settings import Settings
from pgbn.training.training_result import LayerwiseTraining
from tests.helpers.short_training import QUICK, X, no_work


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"depth": 0}, "depth=0"),
        ({"max_width": 2.5}, "max_width=2.5"),
        ({"link": "probit"}, "link='probit'"),
        ({"seed": -3}, "seed=-3"),
        ({"burn_in": [5]}, "give one number, or 2 of them, one for each layer"),
        ({"sweeps": 0}, "sweeps=0"),
        ({"eta": -1.0}, "eta=-1.0"),
        ({"eta": [0.1, np.inf]}, r"eta=\[0.1, inf\]"),
        ({"eta": np.nan}, "eta=nan"),
        (
            {"eta": [0.1, 0.1, 0.1]},
            r"eta=\[0.1, 0.1, 0.1\]: give one number, or 2 of them, one for each layer",
        ),
        ({"burn_in": [5, 0]}, r"burn_in=\[5, 0\]"),
        (
            {"burn_in": (1, 2, 3)},
            r"burn_in=\(1, 2, 3\): give one number, or 2 of them, one for each layer",
        ),
        ({"sweeps": np.ones((2, 2), int)}, "sweeps="),
        ({"average": 6}, "average=6 must be at most sweeps=5"),
        ({"average": 3, "sweeps": [4, 2]}, r"average=3 must be at most sweeps=\[4, 2\]"),
    ],
)
def test_numbers_are_checked_first(arguments: dict[str, Any], message: str) -> None:
    settings = {"max_width": 3, "depth": 2, "callback": no_work, **QUICK, **arguments}
    with pytest.raises(pgbn.PgbnError, match=message):
        pgbn.train_layerwise(X, **settings)


def test_what_was_trained_so_far_has_the_eta_of_its_layers() -> None:
    seen: list[LayerwiseTraining] = []

    settings = Settings(3, 2, eta=[0.1, 0.2])

    def look(event: pgbn.Event) -> None:
        seen.append(trained_so_far(event, settings, SERIAL))

    pgbn.train_layerwise(X, 3, 2, eta=[0.1, 0.2], callback=look, **QUICK)
    assert {done.deepest.eta for done in seen} == {(0.1,), (0.1, 0.2)}


# ---- resolved once, and kept --------------------------------------------------------------


def test_train_layerwise_and_settings_have_the_same_arguments() -> None:
    """The public signature repeats the defaults for its readers."""
    public = signature(pgbn.train_layerwise).parameters
    for name, parameter in signature(Settings).parameters.items():
        if name != "start":
            assert public[name].default == parameter.default, name
    others = {"X", "start_from", "callback", "threads", "progress", "executor", "save", "minutes",
              "vocabulary", "names"}  # fmt: skip
    assert public.keys() - others == {field.name for field in fields(Settings)}


def test_settings_are_complete_and_survive_json() -> None:
    priors = pgbn.Priors(c=(2.0, 3.0))
    settings = Settings(9, np.float64(2), burn_in=np.array([3, 2]), sweeps=range(4, 6),
                        priors=priors)  # fmt: skip
    assert (settings.eta, settings.burn_in, settings.sweeps) == ((0.05, 0.05), (3, 2), (4, 5))
    content = json.loads(json.dumps(settings.content()))
    assert (content["eta"], content["burn_in"]) == (0.05, [3, 2])
    assert Settings.from_content(content) == settings
    assert Settings(**vars(settings)) == settings


def test_settings_that_an_older_version_left_out_are_the_defaults() -> None:
    kept = {"max_width": 9, "depth": 2, "burn_in": 6, "eta": None, "priors": None}
    assert Settings.from_content(kept) == Settings(9, 2, burn_in=6)
    with pytest.raises(DataError, match=r"no argument is called 'burnin'.*burn_in"):
        Settings.from_content({**kept, "burnin": 3})


def test_settings_of_the_first_layers() -> None:
    settings = Settings(9, 3, eta=[0.1, 0.2, 0.3], burn_in=[3, 2, 1], sweeps=4)
    assert settings.first(2) == Settings(9, 2, eta=[0.1, 0.2], burn_in=[3, 2], sweeps=4)
    assert settings.first(3) == settings


# ---- budgets ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ((6, 5), r"max_width=\(6, 5\) is of length 2, but depth=3; give one number for each"),
        ((6, 4, 5), r"max_width=\(6, 4, 5\): 5 is more than the 4 of the layer below"),
        ((6, 5, 0), r"max_width=\(6, 5, 0\) must hold integers of at least 1"),
        ((6, 5.5, 4), r"max_width=\(6, 5.5, 4\) must hold integers"),
        (np.array([6.5, 5.0, 4.0]), r"max_width=\[6.5, 5.0, 4.0\] must hold integers"),
        (
            np.ones((3, 1), int),
            r"(?s)max_width=array.* must be an integer of at least 1, or one such",
        ),
        (np.array(6), r"max_width=array\(6\) must be an integer"),
        ((), r"max_width=\(\) is of length 0, but depth=3"),
        ("6,5,4", "max_width='6,5,4' must be an integer of at least 1, or one such for each layer"),
        ({6: 5}, "max_width={6: 5} must be an integer"),
        (True, "max_width=True must be an integer"),
        (None, "max_width=None must be an integer"),
        ((True, 1, 1), "must hold integers"),
    ],
)
def test_budgets_that_cannot_be(budget: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pgbn.train_layerwise(X, budget, 3, callback=no_work, **QUICK)


def test_no_layer_is_wider_than_its_budget_or_than_the_layer_below() -> None:
    every: list[Any] = [(9, 4, 2), [9, 4, 2], np.array([9, 4, 2]), (9.0, 4.0, 2.0), (9, 4, 2, 1)]
    for given in every:
        settings = Settings(given, 3)
        assert [settings.budget(below) for below in ((), (9,), (3,), (9, 4), (9, 1))] == [
            9, 4, 3, 2, 1,
        ]  # fmt: skip
        assert Settings.from_content(json.loads(json.dumps(settings.content()))) == settings
    paper = Settings(9, 3)
    assert [paper.budget(below) for below in ((), (7,), (7, 6))] == [9, 7, 6]


def test_a_training_keeps_to_its_budgets() -> None:
    widths: dict[int, int] = {}

    def note(event: pgbn.Event) -> None:
        if (event.phase, event.sweep) == ("burn_in", 1):
            widths[event.depth] = event.chain.network.sizes[f"topic{event.depth}"]

    result = pgbn.train_layerwise(X, (8, 5, 3), 3, callback=note, **QUICK)
    assert widths == {1: 8, 2: min(5, result.widths[0]), 3: min(3, result.widths[1])}
    equal = pgbn.train_layerwise(X, (8, 8, 8), 3, **QUICK)
    assert np.array_equal(equal.deepest.r, pgbn.train_layerwise(X, 8, 3, **QUICK).deepest.r)


def test_a_beginning_must_fit_the_budgets_of_all_its_layers() -> None:
    start = pgbn.train_layerwise(X, (8, 5), 2, **QUICK)
    second = start.widths[1]
    with pytest.raises(DataError, match=rf"max_width=\(8, 2, 1\): layer 2 .* has {second} factors"):
        pgbn.train_layerwise(X, (8, 2, 1), 3, start_from=start, callback=no_work, **QUICK)
    deeper = pgbn.train_layerwise(X, (8, 5, 2), 3, start_from=start, **QUICK)
    whole = pgbn.train_layerwise(X, (8, 5, 2), 3, **QUICK)
    assert deeper.widths[2] <= 2
    assert np.array_equal(deeper.deepest.r, whole.deepest.r)
