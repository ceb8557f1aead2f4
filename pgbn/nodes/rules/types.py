"""What a rule is: how evidence is made, how a node is drawn, which counts stand behind data.

A rule names, by the parameters of its functions, what it reads; the schedule check and
`Network.explain` are made from that. It is looked up once, since every network asks for it many
times. Names a rule may use:

``stream``    the keyed random stream (counts only): the count is drawn on the way up and kept
``value``     the node's own value (data, for an observed node)
``count``     the count that the node hears; for an observed node, its (latent) counts
``exposure``  the exposure that the node hears
any slot      the value of that slot, e.g. ``shape`` and ``rate`` of a Gamma

A count function without ``stream`` draws nothing: it is computed whenever it is read.
A kernel rule may name ``log_conditional`` in place of ``count`` and ``exposure``: a function that
gives, for a value of the node, ln p(value | the slots, all that depends on it), of every entry.
Each rule draws on its own: what two slots share must be a node, or the draw of a link.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pgbn.nodes.base import Node

QUADRATIC = "quadratic"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a node hears about its value λ from below: the one message that travels up.

    For the kind "poisson" it is the likelihood λ^count · exp(−exposure·λ); for the kind
    "probability", about a probability p, it is p^count · (1−p)^exposure, and "odds" is the same
    about the p of a value (1−p)/p. For the kind "quadratic" it is exp(count·ψ − ½ exposure·ψ²)
    about the value ψ of a whole slot, whatever its sign: what stands in that slot, in a sum with
    weights, hears of ψ through these. Evidence adds.
    """

    count: Any
    exposure: Any


Function = Callable[..., Any]
DENSITY = "log_conditional"


@dataclass(frozen=True, eq=False)
class EvidenceRule:
    """What ``child`` tells whatever stands in its ``slot``.

    ``count`` and ``exposure`` are each a function, the name of something that is passed on
    as it is, or (exposure) a number. ``drawn`` means that the count function returns an
    `Evidence` whose exposure is random and is kept; it gives the dims of that exposure.
    ``relation`` is "collapsed" if the child's value is integrated out, else "held".
    ``additive``: sums of the child depend on the slot only through the same sums of the slot.
    ``unit_exposure``: the rule holds only if the child hears an exposure of 1. ``normalised``: the
    slot must sum to one over the child's simplex.
    ``log_probability``, for a count that is drawn: the log probability of ``drawn`` (what the
    count function returned) given what it reads, elementwise; `pgbn.testing.check_conjugacy`
    needs it, and nothing else.
    """

    child: type[Node]
    slot: str
    relation: str
    kind: str
    count: Function | str
    exposure: Function | str | float | None
    drawn: Callable[[Any], tuple[str, ...]] | None
    unit_exposure: bool
    normalised: bool
    additive: bool
    equation: str
    reference: str
    log_probability: Function | None

    @cached_property
    def count_reads(self) -> tuple[str, ...]:
        """Names that the count is made from."""
        return names_read(self.count)

    @cached_property
    def exposure_reads(self) -> tuple[str, ...]:
        """Names that the exposure is made from, when it is read."""
        return () if self.drawn else names_read(self.exposure)

    @cached_property
    def is_random(self) -> bool:
        """Whether the count is drawn on the way up and kept."""
        return callable(self.count) and "stream" in inspect.signature(self.count).parameters

    @property
    def passed_on(self) -> str:
        """The name of what is passed on as the count, as it is; empty if the count is made."""
        return self.count if isinstance(self.count, str) else getattr(self.count, "passed_on", "")

    @property
    def is_integer(self) -> bool:
        """Whether the count is an integer, as thinning and tables need it."""
        return self.is_random or self.count == "count"

    @property
    def is_quadratic(self) -> bool:
        """Whether it is about the value of the whole slot, as a quadratic form in it: then nothing
        is shared out, and what stands in the slot is drawn jointly."""
        return self.kind == QUADRATIC

    @property
    def sends_value(self) -> bool:
        """Whether it is about the value of the child alone, whatever the child hears."""
        reads = {*self.count_reads, *self.exposure_reads}
        return self.relation == "held" and not reads & {"count", "exposure"}


@dataclass(frozen=True, eq=False)
class DrawRule:
    """How ``node`` is drawn given evidence of ``kind``.

    ``posterior`` gives new parameters of its own family. If it is a ``kernel`` it gives the new
    value itself, and need only leave the conditional of the value invariant.
    ``constant_over_simplex``: the rule holds only if the exposure does not vary along the node's
    simplex; then it cancels.
    """

    node: type[Node]
    kind: str
    posterior: Function
    constant_over_simplex: bool
    equation: str
    reference: str
    kernel: bool = False
    name: str = ""

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """Names that the draw is made from."""
        return tuple(name for name in names_read(self.posterior) if name != DENSITY)

    @cached_property
    def reads_value(self) -> bool:
        """Whether the draw begins from the node's own value, which must then be current."""
        return "value" in self.reads

    @cached_property
    def receives(self) -> bool:
        """Whether it is made from evidence. Else it is made from log densities, and what depends on
        the node is held."""
        return DENSITY not in names_read(self.posterior)


@dataclass(frozen=True, eq=False)
class LinkRule:
    """The latent Poisson counts behind the data of ``node``, at its non-zero cells, or at
    ``all_cells``, where there may be counts behind a datum of 0; ``log_probability`` as in
    `EvidenceRule`."""

    node: type[Node]
    slot: str
    counts: Function | None
    equation: str
    reference: str
    log_probability: Function | None = None
    all_cells: bool = False


def names_read(source: object) -> tuple[str, ...]:
    """The names that a function, or the name of what is passed on as it is, reads."""
    if isinstance(source, str):
        return (source,)
    if callable(source):
        return tuple(name for name in inspect.signature(source).parameters if name != "stream")
    return ()


def kept_count(source: Function | str) -> Function:
    """A count that is computed as a function of the stream, as those that are drawn are."""
    names = names_read(source)
    if callable(source) and "stream" in inspect.signature(source).parameters:
        return source

    def count(stream: object, **given: Any) -> Any:
        found = np.asarray(source(**given) if callable(source) else given[source])
        return found.astype(np.int64) if (found == np.floor(found)).all() else found

    kind = inspect.Parameter.KEYWORD_ONLY
    reads = [inspect.Parameter(name, kind) for name in ("stream", *names)]
    count.__signature__ = inspect.Signature(reads)  # type: ignore[attr-defined]
    count.passed_on = "" if callable(source) else source  # type: ignore[attr-defined]
    return count
