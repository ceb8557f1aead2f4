"""The vectorised draws: streams, broadcasting, threads, edges; `samplers.rows` too."""

from typing import Any

import numpy as np
import pytest

from pgbn.samplers import Stream, row_kernels, vectorised
from pgbn.samplers.random import restart
from pgbn.samplers.variates.crt import draw_crt

KEY = 0xFEDC_BA98_7654_3210  # above 2^63, where signed integers would fail
SMALL = (2, 3, 4, 5)
LARGE = (2, 30, 40, 50)  # above the size where threads are used

# A call of each function whose operands broadcast along different axes.
AXIS = {size: np.linspace(0.2, 3.0, size) for size in (2, 3, 4, 5, 30, 40, 50)}


def calls(shape: tuple[int, int, int, int]) -> dict[str, tuple[Any, ...]]:
    _, first, second, third = shape
    along_first = AXIS[first].reshape(1, first, 1, 1)
    along_second = AXIS[second].reshape(1, 1, second, 1)
    along_third = AXIS[third].reshape(1, 1, 1, third)
    counts = np.arange(first * third).reshape(1, first, 1, third) % 40
    return {
        "gamma": (along_first * along_third, along_second),
        "log_gamma": (along_second * 0.1,),
        "beta_odds": (along_first, along_third),
        "beta": (along_first, along_third),
        "bernoulli": (along_third / 4.0,),
        "poisson": (along_first * along_second * 4.0,),
        "truncated_poisson": (along_third,),
        "bessel": (np.log(along_second * 20.0),),
        "binomial": (counts, along_second / 4.0),
        "crt": (counts, along_second),
        "neg_log_beta": (along_second, counts),
        "dirichlet": (along_first * along_third, 2),
        "multinomial": (counts, along_second * along_third, 2),
        "categorical": (along_second * along_third, 2),
        "gig": (along_first - 1.0, along_second, along_third),
        "polya_gamma": (along_third,),
        "hidden_count": (along_second, along_third, counts),
        "log_normal": (along_first - 1.0, along_second, counts, along_third),
        "uniform": (),
        "normal": (along_first, along_third),
        "exponential": (along_second,),
    }


NAMES = list(calls(SMALL))
COUNTS = ["hidden_count", "poisson", "truncated_poisson", "bessel", "binomial", "crt", "multinomial",
          "categorical"]  # fmt: skip


def test_every_public_draw_is_tested() -> None:
    assert sorted(NAMES) == sorted(vectorised.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_result(name: str) -> None:
    draw = getattr(vectorised, name)
    first, again = (draw(Stream(KEY, SMALL), *calls(SMALL)[name]) for _ in range(2))
    other = draw(Stream(KEY - 1, SMALL), *calls(SMALL)[name])
    assert first.shape == SMALL
    assert first.flags.c_contiguous
    assert first.dtype == (np.int64 if name in COUNTS else np.float64)
    assert np.isfinite(first).all()
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("name", NAMES)
def test_threads_do_not_matter(name: str) -> None:
    draw = getattr(vectorised, name)
    alone, two, five = (draw(Stream(KEY, LARGE, n), *calls(LARGE)[name]) for n in (1, 2, 5))
    assert np.array_equal(alone, two)
    assert np.array_equal(alone, five)


@pytest.mark.parametrize("name", [name for name in NAMES if calls(SMALL)[name]])
def test_broadcasting_equals_written_out_operands(name: str) -> None:
    draw = getattr(vectorised, name)
    *operands, last = calls(SMALL)[name]
    if name in ("dirichlet", "multinomial", "categorical"):
        axis = last
        total = (2, 3, 1, 5) if name == "multinomial" else SMALL
        full = [np.broadcast_to(operands[0], total)]
        full += [np.broadcast_to(x, SMALL) for x in operands[1:]]
        full.append(axis)
    else:
        full = [np.broadcast_to(x, SMALL) for x in [*operands, last]]
    stream = Stream(KEY, SMALL)
    assert np.array_equal(draw(stream, *calls(SMALL)[name]), draw(stream, *full))


def test_row_streams() -> None:
    """Row i, along the last axis, is drawn in order from the stream of (key, i)."""
    draws = vectorised.crt(Stream(KEY, SMALL), 25, 2.0).reshape(-1, SMALL[3])
    rng = np.empty(2, np.uint64)
    for row in (0, 1, 23):
        restart(rng, np.uint64(KEY), row)
        assert [draw_crt(rng, 25, 2.0) for _ in range(SMALL[3])] == draws[row].tolist()


def test_operands_of_any_kind() -> None:
    stream = Stream(KEY, SMALL)
    expected = vectorised.gamma(stream, np.full(SMALL, 2.0), np.full(SMALL, 3.0))
    for shape in (2, 2.0, np.float32(2.0), np.array(2), np.full(5, 2), np.full((4, 5), 2.0)):
        assert np.array_equal(vectorised.gamma(stream, shape, 3.0), expected)
    strided = np.full((5, 4, 3, 2), 2.0).T
    before = list(row_kernels.gamma_rows.signatures)
    assert np.array_equal(vectorised.gamma(stream, strided, 3.0), expected)
    assert list(row_kernels.gamma_rows.signatures) == before  # not compiled again
    for shape in ((1, 1, 3, 1), (2,), (1, 1, 1, 1, 1)):
        with pytest.raises(ValueError, match="does not broadcast"):
            vectorised.gamma(stream, np.ones(shape), 1.0)


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0)])
def test_empty(shape: tuple[int, int, int, int]) -> None:
    stream = Stream(KEY, shape)
    assert vectorised.gamma(stream, 1.0, 1.0).shape == shape
    for axis in (1, 2, 3):
        assert vectorised.dirichlet(stream, 1.0, axis).shape == shape
        assert vectorised.multinomial(stream, 3, 1.0, axis).shape == shape


def test_multinomial_refuses() -> None:
    stream = Stream(KEY, SMALL)
    with pytest.raises(ValueError, match="axis must be"):
        vectorised.multinomial(stream, 3, 1.0, 0)
    with pytest.raises(ValueError, match="size 1 on the axis 3"):
        vectorised.multinomial(stream, np.ones(5), 1.0, 3)
    with pytest.raises(ValueError, match="axis must be"):
        vectorised.dirichlet(stream, 1.0, -1)
