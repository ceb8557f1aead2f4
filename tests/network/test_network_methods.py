"""Methods of networks which packages above carry out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pgbn import DataError, zoo
from tests.helpers.small_data import X


def test_samples_are_those_of_the_chains() -> None:
    net, data = zoo.pfa(2), {"x": X}
    draws = net.sample(data, 2, 3, chains=2, seed=4, keep=["r"], progress=False)
    for number in (0, 1):
        chain = net.chain(data, seed=4, chain=number).sweep(5)
        assert np.array_equal(draws["r"][number, -1], chain.values["r"])


WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "seed=-1 must be": ("generate", {"seed": -1}),
    "sizes=3: give a dict": ("generate", {"sizes": 3}),
    "draws=0 must be an integer of at least 1": ("prior_predictive", {"draws": 0}),
    "steps=0 must be an integer of at least 1": ("forecast", {"draws": {}, "steps": 0}),
    "burn_in=-1 must be": ("infer", {"data": {}, "given": {}, "burn_in": -1}),
    "draws=0 must be": ("infer", {"data": {}, "given": {}, "draws": 0}),
    "proportions='a': give True": ("infer", {"data": {}, "given": {}, "proportions": "a"}),
    "chain=-1 must be": ("chain", {"data": {}, "chain": -1}),
    "thin=0 must be": ("sample", {"data": {}, "thin": 0}),
    "save='': give a path": ("sample", {"data": {}, "save": ""}),
    "sweeps=1 must be an integer of at least 2": ("animate", {"data": {}, "sweeps": 1}),
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_numbers_are_named_before_any_work(words: str) -> None:
    method, arguments = WRONG[words]
    with pytest.raises(DataError, match=words):
        getattr(zoo.pfa(2), method)(**arguments)


def test_an_unknown_argument_names_the_method_and_the_nearest() -> None:
    with pytest.raises(TypeError, match=r"Network\.sample has no argument 'n_draws'.*'draws'"):
        zoo.pfa(2).sample({"x": X}, n_draws=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Network\.sample: missing a required argument: 'data'"):
        zoo.pfa(2).sample()  # type: ignore[call-arg]
