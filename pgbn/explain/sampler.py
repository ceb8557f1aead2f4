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

    name: str
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


def sampler_of(network: Network, sampler: str = "auto") -> ExplainedSampler:
    """The sampler that `Network.chain` takes for ordinary counts, or the one named ``sampler``."""
    known = ("auto", *sampler_names(), "composed")
    if not isinstance(sampler, str) or sampler not in known:
        allowed, hint = ", ".join(map(repr, known)), did_you_mean(str(sampler), known)
        raise NetworkError(f"explain(sampler={sampler!r}): sampler must be one of {allowed}.{hint}")
    wiring = network.wiring
    patterns = find_patterns(wiring)
    if isinstance(patterns, str) or sampler == "composed":
        return _composed(network, sampler, str(patterns))
    kinds = automatic() if sampler == "auto" else [sampler_named(sampler)]
    reason = ""
    for kind in kinds:
        reason = unsupported(kind, wiring, patterns)
        if reason:
            continue
        try:
            return _by_sampler(network, kind.name, schedule_for(network, kind.name), patterns)
        except StaleReadError:  # the user's order needs more values than this sampler keeps
            if sampler != "auto":
                raise
    return _composed(network, sampler, reason)


def _composed(network: Network, sampler: str, reason: str) -> ExplainedSampler:
    if sampler not in ("auto", "blocked", "composed"):
        raise NetworkError(
            f"explain(sampler={sampler!r}): this sampler is not available: {reason}; use "
            "sampler='auto' or 'blocked'"
        )
    return ExplainedSampler("composed", network.schedule)


def _by_sampler(
    network: Network,
    sampler: str,
    schedule: Schedule,
    patterns: tuple[Pattern, ...],
    missing: frozenset[str] = frozenset(),
) -> ExplainedSampler:
    """A sampler that gives labels to tokens, or the one of a plain first layer. What others draw of
    a wider one is what the general rules say, and these are explained."""
    found = ExplainedSampler(sampler, schedule, patterns, missing)
    if any(found.labels(step) for step in schedule):
        return found
    if not isinstance(plain_pattern(network.wiring), str):
        return found
    return ExplainedSampler("composed", network.schedule, (), missing)


def sampler_of_chain(chain: Chain) -> ExplainedSampler:
    """The sampler of a chain, and which of its data have missing cells."""
    missing = frozenset(
        name for name, cells in chain._program.cells.items() if cells.missing is not None
    )
    patterns = find_patterns(chain.network.wiring)
    if chain._first_layer is None or isinstance(patterns, str):
        return ExplainedSampler(chain.sampler, chain.schedule, (), missing)
    return _by_sampler(chain.network, chain.sampler, chain.schedule, patterns, missing)
