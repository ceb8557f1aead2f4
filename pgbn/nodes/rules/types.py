"""What a rule is: how evidence is made, how a node is drawn, which counts are behind data.

The parameters of its functions name the quantities that a rule reads. The schedule check and
`Network.explain` use these names. They are looked up once, since every network needs them many
times. A rule may use these names:

``stream``    the keyed random stream (counts only): the count is drawn on the way up and kept
``value``     the node's own value (data, for an observed node)
``count``     the count that the node receives; for an observed node, its (latent) counts
``exposure``  the exposure that the node receives
any slot      the value of that slot, e.g. ``shape`` and ``rate`` of a Gamma

A count function without ``stream`` draws nothing: it is computed whenever it is read.
A kernel rule may name ``log_conditional`` instead of ``count`` and ``exposure``. It is a function
of a value of the node: ln p(value | the slots, all that depends on it), for every entry.
Each rule draws independently: a quantity that two slots share must be a node, or the draw of a
link.
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
    """The likelihood of a node's value that its children send up. The likelihood has four kinds:

    - "poisson", of a value λ: λ^count · exp(−exposure·λ);
    - "probability", of a probability p: p^count · (1−p)^exposure;
    - "odds": the same of the p in a value (1−p)/p;
    - "quadratic", of the value ψ of an entire slot: exp(count·ψ − ½ exposure·ψ²). ψ may be
      negative. The nodes in a weighted sum ψ receive the evidence through the weights.

    Evidence of several children is added up.
    """

    count: Any
    exposure: Any


Function = Callable[..., Any]
DENSITY = "log_conditional"


@dataclass(frozen=True, eq=False)
class EvidenceRule:
    """What ``child`` sends to the nodes in its ``slot``.

    ``count`` and ``exposure`` are each a function, the name of a quantity that is passed on
    unchanged, or (exposure) a number. ``drawn`` means that the count function returns an
    `Evidence` whose exposure is random and is kept; it gives the dims of that exposure.
    ``relation`` is "collapsed" if the child's value is integrated out, otherwise "given".
    ``additive``: sums of the child depend on the slot only through the same sums of the slot.
    ``unit_exposure``: the rule is valid only if the child receives an exposure of 1.
    ``normalised``: the slot must sum to one over the child's simplex.
    ``log_probability``: the elementwise log probability of ``drawn``, the result of a count
    function that draws, given what it reads. Only `pgbn.testing.check_conjugacy` needs it.
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
        """The name of the quantity that is passed on as the count; empty if there is none."""
        return self.count if isinstance(self.count, str) else getattr(self.count, "passed_on", "")

    @property
    def is_computed(self) -> bool:
        """Whether the count is kept as a drawn one is, but computed."""
        return getattr(self.count, "is_computed", False)

    @property
    def is_integer(self) -> bool:
        """Whether the count is an integer, as thinning and tables need it."""
        return self.is_random or self.count == "count"

    @property
    def is_quadratic(self) -> bool:
        """Whether the evidence is a quadratic form in the value of the entire slot.

        Nothing is then shared out, and the nodes in the slot are drawn jointly."""
        return self.kind == QUADRATIC

    @property
    def sends_value(self) -> bool:
        """Whether it depends on the value of the child, and not on what the child receives."""
        reads = {*self.count_reads, *self.exposure_reads}
        return self.relation == "given" and not reads & {"count", "exposure"}


@dataclass(frozen=True, eq=False)
class DrawRule:
    """How ``node`` is drawn given evidence of ``kind``.

    ``posterior`` gives new parameters of its own family. A ``kernel`` gives the new value itself,
    and need only leave the conditional of the value invariant.
    ``constant_over_simplex``: the rule is valid only if the exposure does not vary along the
    node's simplex; the exposure then cancels.
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
        """Whether the draw uses evidence. Otherwise it uses log densities, given all that depends
        on the node."""
        return DENSITY not in names_read(self.posterior)


@dataclass(frozen=True, eq=False)
class LinkRule:
    """The latent Poisson counts behind the data of ``node``, at its non-zero cells.

    With ``all_cells`` there may also be counts behind a datum of 0. ``log_probability`` is as in
    `EvidenceRule`."""

    node: type[Node]
    slot: str
    counts: Function | None
    equation: str
    reference: str
    log_probability: Function | None = None
    all_cells: bool = False


def names_read(source: object) -> tuple[str, ...]:
    """The names that a function reads, or the one name of a quantity that is passed on."""
    if isinstance(source, str):
        return (source,)
    if callable(source):
        return tuple(name for name in inspect.signature(source).parameters if name != "stream")
    return ()


def kept_count(source: Function | str) -> Function:
    """A computed count as a function of the stream, so that it is kept as a drawn count is."""
    names = names_read(source)
    if callable(source) and "stream" in inspect.signature(source).parameters:
        return source

    def count(stream: object, **given: Any) -> Any:
        found = np.asarray(source(**given) if callable(source) else given[source])
        return found.astype(np.int64) if (found == np.floor(found)).all() else found

    kind = inspect.Parameter.KEYWORD_ONLY
    reads = [inspect.Parameter(name, kind) for name in ("stream", *names)]
    count.__signature__ = inspect.Signature(reads)  # type: ignore[attr-defined]
    count.is_computed = True  # type: ignore[attr-defined]
    count.passed_on = "" if callable(source) else source  # type: ignore[attr-defined]
    return count
