"""An executor in one file outside the package gives the bits that threads give."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from tests.helpers.own_executor import Backwards

X = np.random.default_rng(0).poisson(0.5, (600, 70))
MODELS = {
    "pgbn": zoo.pgbn([30, 20]),
    "bernoulli": zoo.pgbn([30, 20], link="bernoulli"),
    "lda": zoo.lda(30, 0.1, 0.1),
    "time": zoo.gp_dpfa(30),
}


@pytest.mark.parametrize(
    ("name", "sampler"),
    [
        ("pgbn", "collapsed"),
        ("pgbn", "partial"),
        ("pgbn", "blocked"),
        ("pgbn", "composed"),
        ("bernoulli", "auto"),
        ("lda", "auto"),
        ("time", "auto"),
    ],
)
def test_another_executor_gives_the_same_bits(name: str, sampler: str) -> None:
    data = {"x": np.minimum(X, 1) if name == "bernoulli" else X}
    executor = Backwards()
    own = MODELS[name].chain(data, sampler=sampler, executor=executor).sweep(2)
    threads = MODELS[name].chain(data, sampler=sampler, threads=2).sweep(2)
    assert sum(executor.used.values()) > 0
    for node, value in threads.values.items():
        assert np.array_equal(own.values[node], value), node


def test_every_kind_of_work_goes_through_it() -> None:
    executor = Backwards()
    for sampler in ("collapsed", "composed"):
        MODELS["pgbn"].chain({"x": X}, sampler=sampler, executor=executor).sweep(1)
    assert min(executor.used.values()) > 0, executor.used
    with pytest.raises(pgbn.DataError, match="give one of them"):
        MODELS["pgbn"].chain({"x": X}, threads=2, executor=executor)
