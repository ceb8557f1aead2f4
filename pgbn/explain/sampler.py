"""The sampler that is explained: the one that a chain takes, or the one that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgbn.engine.first_layer.choice import (
    Pattern,
    automatic,
    find_patterns,
    plain_pattern,
    sampler_named,
    sampler_names,
    schedule_for,
    unsupported,
)
from pgbn.errors import NetworkError, StaleReadError, did_you_mean
from pgbn.network.schedule import Schedule
from pgbn.network.steps import Step

if TYPE_CHECKING:
    from pgbn.engine.run.chain import Chain
    from pgbn.network.network import Network


@dataclass(frozen=True)
class ExplainedSampler:
    """How a network is sampled: the name of the first layer's sampler ("composed" if it has
    none of its own), the schedule that goes with it, the first layers, and the observed nodes
    that have missing cells."""

    layer1: str
    schedule: Schedule
    patterns: tuple[Pattern, ...] = ()
    missing: frozenset[str] = frozenset()

    def labels(self, step: Step) -> Pattern | None:
        """The first layer whose tokens get their labels in a step, with the scores integrated
        out; None for other steps."""
        for pattern in self.patterns if step.upward else ():
            if step.node == pattern.observed and pattern.scores in step.marginalises:
                return pattern
        return None


def sampler_of(network: Network, layer1: str = "auto") -> ExplainedSampler:
    """The sampler that `Network.chain` takes for ordinary counts, or the one named ``layer1``."""
    known = ("auto", *sampler_names(), "composed")
    if layer1 not in known:
        allowed, hint = ", ".join(map(repr, known)), did_you_mean(str(layer1), known)
        raise NetworkError(f"explain(layer1={layer1!r}): layer1 must be one of {allowed}.{hint}")
    wiring = network.wiring
    patterns = find_patterns(wiring)
    if isinstance(patterns, str) or layer1 == "composed":
        return _composed(network, layer1, str(patterns))
    kinds = automatic() if layer1 == "auto" else [sampler_named(layer1)]
    reason = ""
    for kind in kinds:
        reason = unsupported(kind, wiring, patterns)
        if reason:
            continue
        try:
            return _by_sampler(network, kind.name, schedule_for(network, kind.name), patterns)
        except StaleReadError:  # the user's order needs more values than this sampler keeps
            if layer1 != "auto":
                raise
    return _composed(network, layer1, reason)


def _composed(network: Network, layer1: str, reason: str) -> ExplainedSampler:
    if layer1 not in ("auto", "blocked", "composed"):
        raise NetworkError(
            f"explain(layer1={layer1!r}): this sampler is not available: {reason}; use "
            "layer1='auto' or 'blocked'"
        )
    return ExplainedSampler("composed", network.schedule)


def _by_sampler(
    network: Network,
    layer1: str,
    schedule: Schedule,
    patterns: tuple[Pattern, ...],
    missing: frozenset[str] = frozenset(),
) -> ExplainedSampler:
    """A sampler that gives labels to tokens, or the one of a plain first layer. What others draw of
    a wider one is what the general rules say, and these are explained."""
    sampler = ExplainedSampler(layer1, schedule, patterns, missing)
    if any(sampler.labels(step) for step in schedule):
        return sampler
    if not isinstance(plain_pattern(network.wiring), str):
        return sampler
    return ExplainedSampler("composed", network.schedule, (), missing)


def sampler_of_chain(chain: Chain) -> ExplainedSampler:
    """The sampler of a chain, and which of its data have missing cells."""
    missing = frozenset(
        name for name, cells in chain.program.cells.items() if cells.missing is not None
    )
    patterns = find_patterns(chain.network.wiring)
    if chain.sampler is None or isinstance(patterns, str):
        return ExplainedSampler(chain.layer1, chain.schedule, (), missing)
    return _by_sampler(chain.network, chain.layer1, chain.schedule, patterns, missing)
