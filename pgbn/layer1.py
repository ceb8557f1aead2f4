"""The samplers of the first layer: the same posterior with more integrated out."""

from __future__ import annotations

from pgbn.errors import NetworkError
from pgbn.program import Program
from pgbn.schedule import Schedule, Step
from pgbn.wiring import Wiring

__all__ = ["Layer1", "choose", "variant_step"]

VARIANTS = ("auto", "collapsed", "partial", "blocked")


def variant_step(wiring: Wiring, step: Step, layer1: str) -> Step:
    return step


class Layer1:
    def __init__(self, program: Program, layer1: str) -> None:
        self.observed = ""

    def start(self, key: int) -> None: ...

    def step(self, key: int) -> None: ...


def choose(program: Program, layer1: str) -> tuple[str, Schedule]:
    if layer1 not in VARIANTS:
        raise NetworkError(f"layer1={layer1!r}: must be one of {VARIANTS}")
    return "blocked", program.network.schedule
