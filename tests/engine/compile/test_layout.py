"""How dims map to axes, in memory and beside a node."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import zoo
from pgbn.engine.compile.layout import (
    Labelled,
    align,
    labelled_number,
    shape4,
    storage_order,
    strides_of,
)
from tests.helpers.refusals import Case, check_refused

REFUSED: dict[str, Case] = {}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    check_refused(*REFUSED[name])


SIZES_OF = {"d": 2, "k": 3, "v": 4}


def labelled(*dims: str, replicates: int = 1) -> Labelled:
    shape = (replicates, *(SIZES_OF[dim] for dim in dims))
    array = np.arange(float(np.prod(shape))).reshape(shape)
    return Labelled(lambda: array, dims, replicates)


@pytest.mark.parametrize(
    ("dims", "shape"),
    [((), (5, 1, 1, 1)), (("k",), (5, 1, 1, 3)), (("d", "k"), (5, 1, 2, 3)),
     (("d", "k", "v"), (5, 2, 3, 4))],
)  # fmt: skip
def test_shapes_are_filled_up_on_the_left(dims: tuple[str, ...], shape: tuple[int, ...]) -> None:
    assert shape4(dims, SIZES_OF, 5) == shape


@pytest.mark.parametrize(
    ("own", "beside", "shape"),
    [
        ((), ("d", "k"), (1, 1, 1, 1)),
        (("k",), ("d", "k"), (1, 1, 1, 3)),
        (("d",), ("d", "k"), (1, 1, 2, 1)),
        (("k", "d"), ("d", "k"), (1, 1, 2, 3)),
        (("v", "d"), ("d", "k", "v"), (1, 2, 1, 4)),
    ],
)
def test_align(own: tuple[str, ...], beside: tuple[str, ...], shape: tuple[int, ...]) -> None:
    part = labelled(*own)
    found = align(part, beside, SIZES_OF)()
    assert found.shape == shape
    order = [own.index(dim) for dim in beside if dim in own]
    assert found.reshape(-1).tolist() == part.get()[0].transpose(order).reshape(-1).tolist()


def test_numbers_and_replicates_are_aligned_as_they_are() -> None:
    assert align(labelled_number(2.5), ("d", "k"), SIZES_OF)() == 2.5
    assert labelled_number(2.5).get().tolist() == [2.5]
    assert align(labelled("k", replicates=5), ("d", "k"), SIZES_OF)().shape == (5, 1, 1, 3)


@pytest.mark.parametrize(
    ("array", "replicates", "summed", "strides", "offsets"),
    [
        (("d", "k"), 1, (), [0, 0, 3, 0], [0]),
        (("d", "k"), 5, (), [6, 0, 3, 0], [0]),
        (("d", "k"), 1, ("k",), [0, 0, 3, 0], [0, 1, 2]),
        (("k", "v"), 1, ("k",), [0, 0, 0, 1], [0, 4, 8]),
        (("v",), 1, ("k",), [0, 0, 0, 1], [0, 0, 0]),
    ],
)
def test_strides(
    array: tuple[str, ...], replicates: int, summed: tuple[str, ...], strides: list[int],
    offsets: list[int],
) -> None:  # fmt: skip
    """Of a flat array along (replicate, -, d, v), and for each entry of the summed dims."""
    found, places = strides_of(array, SIZES_OF, replicates, ("d", "v"), summed)
    assert found == strides
    assert places.tolist() == offsets


def test_the_dim_that_is_summed_lies_last_in_memory() -> None:
    network = zoo.pgbn([3, 2])
    order = {name: storage_order(network.wiring, network[name]) for name in network.latent}
    assert order["phi1"] == ("term", "topic1")
    assert order["theta1"] == ("doc", "topic1")
    assert order["phi2"] == ("topic1", "topic2")
    assert order["theta2"] == ("doc", "topic2")
    assert order["gamma0"] == ()
    assert storage_order(network.wiring, network["x"]) == ("doc", "term")
