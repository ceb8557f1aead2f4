"""Slice sampling: a way to draw every latent node whose conditional has no closed form.

Neal, R. (2003), "Slice sampling", Annals of Statistics 31. The scale of x is one on which it may be
any real number: ln x, or the log odds of a probability. The density f, up to a factor, includes the
Jacobian.

1. Draw a height y ~ U(0, f(x)).
2. Place an interval of width w at random around x.
3. Step it out while its ends are inside the slice {f > y}, by at most m widths.
4. Draw points of the interval until one is inside the slice. Shrink it to each point that is not.

Each entry has its own interval. Entries that are independent given the rest move together, the
others one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Protocol

import numpy as np

from pgbn.nodes.base import Array, Latent
from pgbn.nodes.rules import kernel_rule
from pgbn.samplers import vectorised
from pgbn.samplers.elementary import exp_of, log1p_of, log_of
from pgbn.samplers.random import Stream

WIDTH, MOST = 1.0, 64  # w and m
_TRIES = 200  # after which the interval has no width left
_LIMIT = 600.0  # e^600 is finite, and so is its inverse
_NEAR_ONE = 1.0 - 2.0**-53
_LARGEST = 1e15  # counts beyond it are not exact as floats


class LogConditional(Protocol):
    """ln p(value | rest) of a node, up to a constant: one number for every entry.

    Entries along the axes ``coupled`` are not independent given the rest: they share one number.
    ``support`` is that of the node."""

    support: str
    coupled: tuple[int, ...]

    def __call__(self, value: Array) -> Array: ...


@kernel_rule(
    Latent,
    name="slice",
    equation=r"K(\cdot \mid x)\text{ by slice sampling, which leaves the conditional invariant}",
    reference="Neal 2003, slice sampling by stepping out and shrinking",
)
def slice_draw(stream: Stream, value: Array, log_conditional: LogConditional) -> Array:
    """New values of all entries; an entry of exactly 0 is switched off, and stays 0."""
    if log_conditional.support == "whole":
        return move_counts(stream, value, log_conditional)
    unit = log_conditional.support == "unit"
    fixed = ~(value > 0.0)
    x = _log_odds(value) if unit else log_of(np.where(fixed, 1.0, value))

    def back(x: Array) -> Array:
        inside = np.clip(x, -_LIMIT, _LIMIT)
        found = np.minimum(1.0 / (1.0 + exp_of(-inside)), _NEAR_ONE) if unit else exp_of(inside)
        return np.where(fixed, value, found)

    def height(x: Array) -> Array:
        jacobian = log_of(back(x)) + log1p_of(-back(x)) if unit else np.where(fixed, 0.0, x)
        each = log_conditional(back(x)) + _sums(jacobian, log_conditional.coupled)
        outside = (np.abs(x) > _LIMIT).any(axis=log_conditional.coupled, keepdims=True)
        return np.where(outside | np.isnan(each), -np.inf, each)

    for place in _places(stream.shape, log_conditional.coupled):
        x = _move(stream, x, height, place)
    return back(x)


def move_counts(
    stream: Stream, value: Array, log_conditional: LogConditional, width: Array | float = WIDTH
) -> Array:
    """New whole numbers: h is the floor of x = h + u, u ~ U(0, 1), whose density is P(h)."""

    def height(x: Array) -> Array:
        each = log_conditional(np.floor(np.clip(x, 0.0, _LARGEST)))
        outside = ((x < 0.0) | (x > _LARGEST)).any(axis=log_conditional.coupled, keepdims=True)
        return np.where(outside | np.isnan(each), -np.inf, each)

    x = value + vectorised.uniform(stream.child("within"))
    widths = np.broadcast_to(width, stream.shape)
    for place in _places(stream.shape, log_conditional.coupled):
        x = _move(stream, x, height, place, widths[place])
    return np.floor(np.clip(x, 0.0, _LARGEST))


def _log_odds(value: Array) -> Array:
    inside = np.clip(value, 1e-300, _NEAR_ONE)
    return np.asarray(log_of(inside) - log1p_of(-inside))


def _sums(each: Array, axes: tuple[int, ...]) -> Array:
    return np.asarray(each.sum(axis=axes, keepdims=True)) if axes else each


def _places(shape: tuple[int, ...], coupled: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """The entries that move together: all, or one after another along the coupled axes."""
    for numbers in product(*(range(shape[axis]) for axis in coupled)):
        chosen = dict(zip(coupled, numbers, strict=True))
        yield tuple(
            slice(chosen[axis], chosen[axis] + 1) if axis in chosen else slice(None)
            for axis in range(len(shape))
        )


def _move(
    stream: Stream,
    x: Array,
    height: Callable[[Array], Array],
    place: tuple[slice, ...],
    width: Array | float = WIDTH,
) -> Array:
    """One slice of the entries at a place, given the others."""

    def uniform(name: str) -> Array:
        return vectorised.uniform(stream.child(name))[place]

    def at(part: Array) -> Any:
        whole = x.copy()
        whole[place] = part
        return height(whole)

    here = x[place]
    level = at(here) + log_of(uniform("height"))
    left = here - width * uniform("interval")
    right = left + width
    below = np.floor(MOST * uniform("steps"))
    left = _step_out(at, level, left, -width, below)
    right = _step_out(at, level, right, width, MOST - 1 - below)
    new, done = here.copy(), np.zeros(here.shape, bool)
    for number in range(_TRIES):
        tried = np.where(done, new, left + (right - left) * uniform(f"shrink {number}"))
        done |= at(tried) >= level
        new = np.where(done, tried, here)
        if done.all():
            break
        left = np.where(tried < here, tried, left)
        right = np.where(tried < here, right, tried)
    whole = x.copy()
    whole[place] = new
    return whole


def _step_out(
    at: Callable[[Array], Array], level: Array, end: Array, width: Any, most: Array
) -> Array:
    """Move an end of the interval until it is outside the slice, by ``most`` widths at most."""
    for number in range(MOST):
        inside = (at(end) >= level) & (number < most)
        if not inside.any():
            break
        end = np.where(inside, end + width, end)
    return end
