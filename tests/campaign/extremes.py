"""Models with hyperparameters, values and data at the ends of what floats hold."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

import pgbn
from tests.campaign.harness import check_finite, refusable

__all__ = ["Extremes"]

NUMBERS = (1e-320, 1e-300, 1e-100, 1e-12, 1e-3, 0.05, 1.0, 7.0, 1e3, 1e8, 1e15, 1e100, 1e300)
COUNTS = (0, 0, 0, 1, 2, 7, 300, 10**6, 2**31 - 1, 2**40)
SHAPES = ((1, 1), (1, 5), (5, 1), (3, 4), (6, 30), (2, 200))


class Extremes:
    """A network of the zoo or one drawn here, odd data, a few sweeps of every sampler."""

    def __init__(self, place: Path) -> None:
        pass

    def run(self, number: int) -> None:
        choice = random.Random(f"extreme {number}")
        network = refusable(lambda: self.network(choice))
        if network is None:
            return
        shape = choice.choice(SHAPES)
        most = choice.choice((3, 6, len(COUNTS)))
        x = np.array([choice.choice(COUNTS[:most]) for _ in range(shape[0] * shape[1])]).reshape(
            shape
        )
        sampler = choice.choice(("auto", "blocked", "composed"))
        if sampler == "auto" and x.sum() > 10**7:
            sampler = "blocked"  # the labels of so many tokens take their time
        chain = refusable(lambda: network.chain({"x": x}, seed=number, sampler=sampler, threads=1))
        if chain is None or refusable(lambda: chain.sweep(3)) is None:
            return
        check_finite("after three sweeps", chain.values)
        for name, value in chain.values.items():
            node = network.nodes[name]
            if node.simplex is None:
                assert (value >= 0).all(), name
            else:
                axis = node.axes.index(node.simplex)
                assert np.allclose(value.sum(axis=axis), 1.0), name

    def network(self, choice: random.Random) -> pgbn.Network:
        """Every prior at a number of the list."""

        def number() -> float:
            return choice.choice(NUMBERS)

        def pair() -> tuple[float, float]:
            return number(), number()

        kind: Any = choice.choice(("pgbn", "pfa", "lda", "own"))
        if kind == "pgbn":
            widths = [choice.choice((1, 3)) for _ in range(choice.choice((1, 2, 3)))]
            return pgbn.zoo.pgbn(widths, number(), pair(), pair(), pair(), pair())
        if kind == "lda":
            return pgbn.zoo.lda(choice.choice((1, 4)), eta=number())
        if kind == "pfa":
            return pgbn.zoo.pfa(choice.choice((1, 4)), eta=number())
        theta = pgbn.Gamma("theta", number(), pgbn.Gamma("c", *pair()), dims=("doc", "topic"))
        phi = pgbn.Dirichlet("phi", number(), over="term", dims="topic")
        rate = phi @ theta + pgbn.Gamma("noise", *pair())
        return pgbn.Network(pgbn.Poisson("x", rate, dims=("doc", "term")), sizes={"topic": 3})
