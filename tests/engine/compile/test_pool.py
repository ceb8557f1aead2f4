"""Memory that is used again is never memory that somebody looks at."""

import numpy as np
import pytest

import pgbn
from pgbn.engine.compile.program import _MOST, Pool


def address(array) -> int:
    return array.__array_interface__["data"][0]


def test_an_array_that_nobody_has_is_given_again():
    pool = Pool()
    array = pool.empty((3, 4))
    first = address(array)
    assert address(pool.empty((3, 4))) != first
    del array
    assert address(pool.empty((3, 4))) == first
    assert pool.empty((3, 4), np.int32).dtype == np.int32
    assert pool.empty((4, 3)).shape == (4, 3)


@pytest.mark.parametrize(
    "hold",
    [
        lambda array: array,
        lambda array: array.reshape(12)[3:],
        lambda array: memoryview(array),
        lambda array: {"kept": [array.T]},
        lambda array: np.asarray(memoryview(array)).view(np.int64),
    ],
)
def test_whoever_looks_at_an_array_keeps_it(hold):
    pool = Pool()
    array = pool.empty((3, 4))
    first, held = address(array), hold(array)
    del array
    assert address(pool.empty((3, 4))) != first
    del held
    assert address(pool.empty((3, 4))) == first


def test_few_arrays_are_remembered():
    pool = Pool()
    held = [pool.empty((2,)) for _ in range(3 * _MOST)]
    assert len({address(array) for array in held}) == 3 * _MOST
    assert len(pool._arrays) == _MOST


def test_a_view_is_given_out_once():
    """As of an executor whose arrays are parts of a file: who looks at a view of it is not seen."""
    pool = Pool(lambda shape, dtype: np.frombuffer(bytearray(64), dtype).reshape(shape))
    first = pool.empty((2, 4)).reshape(8)
    assert address(pool.empty((2, 4))) != address(first)


@pytest.mark.parametrize("threads", [1, 2])
def test_values_that_were_seen_do_not_change(threads):
    X = np.random.default_rng(0).poisson(0.5, (300, 40))
    chain = pgbn.zoo.pgbn([80, 80, 80]).chain({"x": X}, seed=1, threads=threads)
    seen, copies, places = [], [], set()
    for _ in range(6):
        chain.sweep()
        now = {**chain.values, **chain.program.values, "counts": chain.counts["theta2"]}
        seen.append(now)
        copies.append({name: value.copy() for name, value in now.items()})
    for now, copy in zip(seen, copies, strict=True):
        assert all(np.array_equal(now[name], copy[name]) for name in copy)
    now = seen = copies = None
    for _ in range(12):
        chain.sweep()
        places.add(address(chain.program.values["theta2"]))
    assert len(places) < 12  # and memory is used again
