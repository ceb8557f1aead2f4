"""The labels of single tokens, compared with their printed probabilities."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np

from pgbn import Chain
from pgbn.engine.run.bound_steps import Turn
from pgbn.samplers.random import stream_key
from tests.helpers.printed_formulas import Reader
from tests.helpers.printed_laws import LIMIT

__all__ = ["check_tokens"]

# A count without the token at hand, or a sum of such counts.
OLD = re.compile(r"(?:\\sum_\{(?:[^{}]|\{\w+\})*\} )?\w+\^\{[^}]*-\}_\{[^}]*\}")
MINUS = "0000"  # stands for the token that is left out of a count


def check_tokens(chain: Chain, reader: Reader, turn: Turn, lines: list[str], draws: int) -> None:
    """How often the first token that is redrawn gets each label."""
    sampler: Any = chain.program.first_layers[turn.step.node]
    row = int(np.argmax(np.diff(sampler.tokens.tokens.row_start) > 0))  # the first with tokens
    first, last = sampler.tokens.tokens.row_start[row : row + 2]
    cell = sampler.tokens.tokens.word[first:last]
    here = slice(first, first + int((cell == cell[0]).sum()))  # which token is which is free
    sampler.tokens.labels[here] = np.sort(sampler.tokens.labels[here])[::-1]
    begun = {name: np.array(array) for name, array in sampler.state().items()}
    share = _shares(chain, reader, sampler, lines, row, int(first))
    seen = np.zeros(share.size)
    for number in range(4 * draws):
        sampler.restore(begun)
        turn.run(stream_key(turn.base, 10**6 + number))
        seen[int(sampler.tokens.labels[first])] += 1
    sampler.restore(begun)
    error = np.sqrt(share * (1 - share) * 4 * draws) + 1e-9
    z = (seen - share * 4 * draws) / error
    assert np.abs(z).max() < LIMIT, f"{turn.step.name}: labels {seen}, printed {share * 4 * draws}"


def _shares(
    chain: Chain, reader: Reader, sampler: Any, lines: list[str], row: int, first: int
) -> np.ndarray[Any, Any]:
    """The printed probabilities of the labels of a token: those of the topics, then of the further
    terms."""
    notation, pattern = reader.notation, sampler.pattern
    observed, loadings = chain.network[pattern.observed], chain.network[pattern.loadings]
    term, old = int(sampler.tokens.tokens.word[first]), int(sampler.tokens.labels[first])
    sizes = [chain.program.sizes[dim] for dim in observed.axes[:-1]]
    if pattern.index:  # tokens are those of an author: any document of theirs
        row = int(np.argmax(chain.program.indexes[pattern.index].reshape(-1) == row))
    rows = zip(observed.axes[:-1], np.unravel_index(row, sizes), strict=True)
    at = {notation.index[dim]: int(place) for dim, place in rows}
    at[notation.index[loadings.simplex]] = term
    topics, *others = [line.split(r"\propto ", 1)[1] for line in lines if line.startswith("P(")]
    for found in set(OLD.findall(topics)):
        topics = topics.replace(found, f"({found.replace('-}', '}').replace('^{}', '')} - {MINUS})")
    weights = []
    for label in range(sampler.topics):
        own = topics.replace(MINUS, "1" if label == old else "0")
        weights.append(reader.value(own, {**at, notation.index[pattern.topic]: label}))
    for formula, each in zip(others, pattern.further(chain.program.wiring), strict=True):
        for place in product(*(range(chain.program.sizes[dim]) for dim in each.contracted)):
            inner = zip((notation.index[dim] for dim in each.contracted), place, strict=True)
            weights.append(reader.value(formula, {**at, **dict(inner)}))
    return np.array(weights) / sum(weights)
