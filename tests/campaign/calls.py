"""Public functions with one wrong argument: a result, or an error that names it or shows it."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pgbn
from pgbn import testing
from tests.helpers.hostile import ODD, attempt

__all__ = ["Calls"]

X = np.random.default_rng(0).poisson(1.0, (8, 6))
FEW: dict[str, Any] = {"burn_in": 1, "draws": 1, "progress": False}
WRONG = (*ODD, np.zeros((2, 2)), np.array(["a"]), [[1], [1, 2]], {"a": 1}, {"x": None}, ("a", "b"), range(3),
         10**400, -(2**63), pgbn, X)  # fmt: skip


class Calls:
    """A call of a list of right ones, with one argument replaced."""

    def __init__(self, place: Path) -> None:
        network = pgbn.zoo.pgbn([3, 2])
        mild = pgbn.zoo.pgbn([2], 0.5, (2, 4), (9, 9), (9, 9), (9, 9))
        tiny = {"doc": 2, "term": 3}
        draws = network.sample({"x": X}, 1, 2, chains=1, progress=False)
        model = pgbn.train_layerwise(X, 3, 1, burn_in=1, sweeps=1, progress=False).deepest
        folder = place / "model"
        model.save(folder)
        self.calls: list[tuple[Callable[..., Any], dict[str, Any]]] = [
            (pgbn.zoo.pgbn, {"widths": [3, 2], "eta": 0.1, "p_prior": (1, 1), "link": "poisson"}),
            (pgbn.zoo.pfa, {"width": 3, "eta": 0.1}),
            (pgbn.zoo.lda, {"width": 3, "eta": 0.1}),
            (pgbn.zoo.pgds, {"width": 3, "tau": 1.0}),
            (pgbn.Gamma, {"name": "a", "shape": 1.0, "rate": 1.0, "dims": "doc"}),
            (pgbn.Dirichlet, {"name": "a", "concentration": 1.0, "over": "term", "dims": "doc"}),
            (pgbn.Poisson, {"name": "a", "rate": 1.0, "dims": "doc"}),
            (network.sample, {"data": {"x": X}, "seed": 0, "threads": 1, "chains": 1, **FEW}),
            (network.chain, {"data": {"x": X}, "seed": 0, "threads": 1, "sampler": "auto"}),
            (network.generate, {"sizes": tiny, "seed": 0}),
            (network.explain, {"format": "text", "sampler": "auto", "brief": True}),
            (network.with_sizes, {"doc": 3}),
            (draws.predict, {"name": "x", "seed": 0, "sparse": False}),
            (draws.log_likelihood, {"name": "x", "by": "row"}),
            (draws.mean, {"name": "r"}),
            (pgbn.load, {"path": folder}),
            (testing.geweke, {"network": mild, "sizes": tiny, "replicates": 100, "sweeps": 1,
                              "seed": 0, "sampler": "blocked", "threads": 1}),
            (testing.check_conjugacy, {"network": mild, "sizes": tiny, "seed": 0, "draws": 1,
                                       "replicates": 2, "tolerance": 1e-8}),
            (testing.z_mean, {"sample": [1.0, 2.0], "mean": 1.5}),
            (testing.z_counts, {"sample": [1, 2], "pmf": lambda n: 0.5**(n + 1), "top": 9}),
        ]  # fmt: skip

    def run(self, number: int) -> None:
        choice = random.Random(f"call {number}")
        function, right = self.calls[number % len(self.calls)]
        name, wrong = choice.choice(list(right)), choice.choice(WRONG)
        shown = next(iter(repr(wrong).splitlines()), "")[:20]
        culprits = (name, shown, *(["x"] if name == "data" else []))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            attempt(lambda: function(**{**right, name: wrong}), culprits)
