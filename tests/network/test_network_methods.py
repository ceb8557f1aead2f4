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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda net: net.sample({"x": X}, n_draws=3), r"Network\.sample has no .*'n_draws'.*'draws'"),
        (lambda net: net.sample({"x": X}, warmup=3), "no argument 'warmup'. Did you mean 'burn_in'"),
        (lambda net: net.sample({"x": X}, random_state=3), "Did you mean 'seed'"),
        (lambda net: net.sample(), r"Network\.sample: the argument 'data' is missing; write Network.sample\(data\)"),
        (lambda net: zoo.pfa(2).with_given("phi1", over=1), "Network.with_given has no argument 'over'"),
        (lambda net: type(net)(net["x"], size={"a": 1}), "Network has no argument 'size'.*'sizes'"),
        (lambda net: net.theta1, r"no attribute 'theta1'; write net\['theta1'\]"),
        (lambda net: net.fit({"x": X}), "no attribute 'fit'; write net.sample"),
        (lambda net: net._fit, "no attribute '_fit'$"),
        (lambda net: net.with_sizes(term=len(X[0])).chain({"x": X.T}), "is it transposed"),
        (lambda net: zoo.pfa(2).generate(), r"give sizes=\{'term': …, 'doc': …\} to Network"),
    ],
)  # fmt: skip
def test_a_wrong_call_names_the_method_and_the_remedy(call: Any, words: str) -> None:
    with pytest.raises((TypeError, AttributeError, DataError), match=words):
        call(zoo.pfa(2))
