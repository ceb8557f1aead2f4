"""The sampler that is explained: the one that a chain takes, or the one that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgbn.engine.first_layer.choice import schedule_for
from pgbn.engine.first_layer.marginal import plain_pattern
from pgbn.engine.first_layer.pattern import Pattern
from pgbn.engine.first_layer.registry import automatic, sampler_names
from pgbn.errors import NetworkError, StaleReadError, did_you_mean
from pgbn.network.schedule import Schedule

if TYPE_CHECKING:
    from pgbn.engine.run.chain import Chain
    from pgbn.network.network import Network

__all__ = ["Way", "way_of", "way_of_chain"]


@dataclass(frozen=True)
class Way:
    """How a network is sampled: the name of the first layer's sampler ("composed" if it has
    none of its own), the schedule that goes with it, the first layer, and the observed nodes
    that have missing cells."""

    layer1: str
    schedule: Schedule
    pattern: Pattern | None
    missing: frozenset[str] = frozenset()


def way_of(network: Network, layer1: str = "auto") -> Way:
    """The way that `Network.chain` goes for ordinary counts, or by the sampler ``layer1``."""
    known = ("auto", *sampler_names(), "composed")
    if layer1 not in known:
        allowed, hint = ", ".join(map(repr, known)), did_you_mean(str(layer1), known)
        raise NetworkError(f"explain(layer1={layer1!r}): layer1 must be one of {allowed}.{hint}")
    pattern = plain_pattern(network.wiring)
    if isinstance(pattern, str) or layer1 == "composed":
        if layer1 not in ("auto", "blocked", "composed"):
            raise NetworkError(
                f"explain(layer1={layer1!r}): this sampler is not available: {pattern}; use "
                "layer1='auto' or 'blocked'"
            )
        return Way("composed", network.schedule, None)
    if layer1 != "auto":
        return Way(layer1, schedule_for(network, layer1), pattern)
    for kind in automatic():
        try:
            return Way(kind.name, schedule_for(network, kind.name), pattern)
        except StaleReadError:  # the user's order needs more values than this sampler keeps
            continue
    return Way("composed", network.schedule, None)


def way_of_chain(chain: Chain) -> Way:
    """The way of a chain, with the data that it has. Kernels of a first layer of another form than
    φ·θ draw from the same law as the general rules, and these are explained."""
    pattern = None if chain.sampler is None else plain_pattern(chain.network.wiring)
    missing = frozenset(
        name for name, cells in chain.program.cells.items() if cells.missing is not None
    )
    if isinstance(pattern, str):
        return Way("composed", chain.network.schedule, None, missing)
    return Way(chain.layer1, chain.schedule, pattern, missing)
