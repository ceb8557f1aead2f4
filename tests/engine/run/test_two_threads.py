"""One chain is advanced by one thread at a time: a second one meets an error, not a wrong chain."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from pgbn import Chain, DataError
from tests.helpers.small_data import NET, X, equal_arrays

USES: dict[str, Callable[[Chain], Any]] = {
    "sweep": lambda chain: chain.sweep(),
    "trace": lambda chain: list(chain.trace()),
    "restore": lambda chain: chain.restore(STATE, 2),
    "state": lambda chain: chain.state(),
    "append": lambda chain: chain.append({"x": X}, sweeps=1),
    "copy": copy.copy,
}


def make() -> Chain:
    return NET.chain({"x": X}, threads=1).sweep(2)


STATE = make().state()


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_chain_in_use_is_not_used_by_another_thread(use: Callable[[Chain], Any]) -> None:
    chain, inside, leave = make(), Event(), Event()
    last = chain._turns[-1]

    def slow(key: int) -> None:
        inside.set()
        assert leave.wait(10)
        last.run(key)

    chain._turns[-1] = replace(last, run=slow)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(chain.sweep)
        assert inside.wait(10)
        try:
            with pytest.raises(DataError, match=r"another thread.*a chain of its own"):
                use(chain)
        finally:
            leave.set()
        other.result()
    assert equal_arrays(chain.values, make().sweep().values)
    use(chain)  # nobody uses it now


def test_a_trace_that_has_not_ended() -> None:
    chain = make()
    trace = chain.trace()
    next(trace)
    _ = chain.values  # looking is allowed
    with pytest.raises(DataError, match="trace"):
        chain.sweep()
    trace.close()
    assert equal_arrays(chain.sweep().values, make().sweep(2).values)


def test_a_failure_ends_the_use() -> None:
    chain = make()
    with pytest.raises(DataError, match="no value of"):
        chain.restore({}, 2)
    chain.sweep()
