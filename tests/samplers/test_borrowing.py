"""Functions that count no references, and those that must."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import compiler, types
from numba.core.registry import cpu_target

from pgbn.samplers.borrowing import borrows
from pgbn.samplers.compiled import njit
from pgbn.samplers.uncounted import uncounted

VECTOR, MATRIX = numba.float64[::1], numba.float64[:, ::1]


class Pair(NamedTuple):
    a: Any
    b: Any


class _Typed(compiler.CompilerBase):  # type: ignore[misc, unused-ignore]
    """Stops where the types are known."""

    def define_pipelines(self) -> list[Any]:
        manager = compiler.PassManager("types")
        builder = compiler.DefaultPassBuilder
        for part in (builder.define_untyped_pipeline, builder.define_typed_pipeline):
            manager.passes.extend(part(self.state).passes)
        manager.finalize()
        return [manager]


def state_of(function: Any, *kinds: Any) -> Any:
    """What the compiler knows of a function before it translates it."""
    context, target = cpu_target.typing_context, cpu_target.target_context
    context.refresh()
    target.refresh()
    flags = compiler.Flags()
    flags.nrt = True
    pipeline = _Typed(context, target, None, kinds, None, flags, {})
    with pytest.raises(AttributeError, match="cr"):  # what a translation would give
        pipeline.compile_extra(function)
    return pipeline.state


def total(a):
    s = 0.0
    for i in range(a.size):
        s += a[i]
    return s


def part(a, i):
    row = a[i]
    middle = row[1:-1]
    return middle[0] + a.reshape(-1)[0] + a[i, 1:].size


def of_a_tuple(pair):
    first, second = pair
    both = (second, first)
    return both[1][0]


def copies(a, b):
    a[1:] = b[1:]


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (total, [VECTOR]),
        (part, [MATRIX, numba.int64]),
        (of_a_tuple, [types.Tuple((VECTOR, MATRIX))]),
        (copies, [VECTOR, VECTOR]),
    ],
)
def test_parts_of_arguments_are_borrowed(function: Any, kinds: list[Any]) -> None:
    assert borrows(state_of(function, *kinds))


def returns(a):
    return a


def allocates(a):
    return np.empty(a.size)[0]


def chooses(a, b):
    return a[b][0]


def adds(a):
    return (a + a)[0]


def gathers(a):
    return len([a, a])


def of_a_list(a):
    return a[0][0]


def walks(a):
    s = 0.0
    for each in a:
        s += each
    return s


def transposes(a):
    return a.T[0, 0]


def generates(a):
    yield a[0]


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (returns, [VECTOR]),
        (allocates, [VECTOR]),
        (chooses, [VECTOR, numba.int64[::1]]),
        (adds, [VECTOR]),
        (gathers, [VECTOR]),
        (of_a_list, [types.ListType(VECTOR)]),
        (walks, [VECTOR]),
        (transposes, [MATRIX]),
        (generates, [VECTOR]),
    ],
)
def test_what_makes_or_keeps_arrays_is_counted(function: Any, kinds: list[Any]) -> None:
    assert not borrows(state_of(function, *kinds))


@njit(cache=False)
def _b_of(pair):
    return pair.b[1:]


@njit(cache=False)
def _reads(pair, i):
    tail = _b_of(pair)
    return tail[i] + pair.a[i]


@njit(cache=False)
def _of_both(a, b, n):
    pair, s = uncounted(Pair(a, b)), 0.0
    for i in range(n):
        s += _reads(pair, i)
    return s + _b_of(pair)[0]


@njit(cache=False)
def _mean(a):
    return a.mean() + a.sum() + np.median(a)


@njit(cache=False)
def _calls(a):
    return _mean(a) + _mean(a[1:])


def test_borrowed_arrays_are_as_before() -> None:
    """Values, and the number of references that Python sees."""
    a, b = np.arange(5.0), np.arange(7.0)
    before = sys.getrefcount(a), sys.getrefcount(b)
    for _ in range(100):
        assert _of_both(a, b, 3) == 3 + 6 + 1
        assert _calls(a) == 2 + 10 + 2 + 2.5 + 10 + 2.5
        assert total_of(a) == 10
    assert (sys.getrefcount(a), sys.getrefcount(b)) == before


@njit(cache=False)
def total_of(a):
    return total_linked(a)


total_linked = njit(cache=False)(total)

_LEAKS = """
import warnings
import numpy as np
import pgbn
from numba.core.runtime import rtsys

warnings.simplefilter("ignore")
rows = np.random.default_rng(0).poisson(0.5, (40, 30))

def work():
    for layer1 in ("collapsed", "partial", "blocked"):
        pgbn.zoo.pgbn([6, 4]).chain({"x": rows}, seed=0, layer1=layer1).sweep(3)
    pgbn.PGBN(5, 2, burn_in=3, collect=2, random_state=0).fit(rows).transform(rows)

work()
before = rtsys.get_allocation_stats()
work()
after = rtsys.get_allocation_stats()
print(after.alloc - before.alloc, after.free - before.free)
"""


def test_whatever_a_sweep_allocates_is_freed() -> None:
    command = [sys.executable, "-c", "import os; os.environ['NUMBA_NRT_STATS'] = '1'\n" + _LEAKS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    made, freed = map(int, done.stdout.split())
    assert made == freed > 100
