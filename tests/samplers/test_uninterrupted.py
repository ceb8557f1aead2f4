"""Ctrl-C waits for the compiler."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from numba.core import registry

from pgbn.samplers.compiled import njit
from pgbn.samplers.uninterrupted import uninterrupted


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_it_is_heeded_afterwards() -> None:
    done = []

    def work() -> None:
        with uninterrupted(), uninterrupted():
            press()
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]


def test_whoever_heeds_it_hears_each_press() -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        with uninterrupted():
            press()
            press()
            assert received == []
    finally:
        signal.signal(signal.SIGINT, before)
    assert received == [signal.SIGINT] * 2


def test_outside_the_main_thread() -> None:
    def look() -> Any:
        with uninterrupted():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(look).result() is signal.getsignal(signal.SIGINT)


def test_a_kernel_is_compiled_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of the compiler it could end the interpreter, minutes later."""
    kernel = njit()(lambda x: x + 1)
    true = registry.CPUDispatcher.compile

    def pressed(self: Any, sig: Any) -> Any:
        press()
        return true(self, sig)

    monkeypatch.setattr(registry.CPUDispatcher, "compile", pressed)
    with pytest.raises(KeyboardInterrupt):
        kernel(1)
    monkeypatch.undo()
    assert len(kernel.signatures) == 1
    assert kernel(1) == 2
