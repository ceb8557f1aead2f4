"""Pieces of the derivation of a belief network with two layers."""

from __future__ import annotations

from functools import cache

import pgbn as pg

__all__ = ["SHAPE", "section", "two_layers"]

SHAPE = r"\sum_{k_2} \phi^{(2)}_{k_1 k_2}\, \theta^{(2)}_{k_2 j}"


@cache
def two_layers() -> str:
    """The derivation in LaTeX, with all values held."""
    return pg.zoo.pgbn([3, 2]).explain("latex", "blocked")


def section(text: str, start: str, end: str) -> str:
    """From one phrase up to another."""
    place = text.index(start)
    return text[place : text.index(end, place)]
