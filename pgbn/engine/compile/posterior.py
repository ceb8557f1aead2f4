"""What a draw rule returns, checked: new values of the slots of its node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import numpy as np

from pgbn.engine.compile.program import Program
from pgbn.errors import NetworkError
from pgbn.nodes.base import Node
from pgbn.nodes.rules.registry import is_own

__all__ = ["check_posterior", "posterior_of"]


def posterior_of(program: Program, node: Node) -> Callable[[], Mapping[str, Any]]:
    """The function that gives the new slots of a node by its draw rule, checked."""
    posterior = program.wiring.draws[node.name].posterior
    needed = signature(posterior).parameters
    arguments = {argument: program.quantity(node, argument).get for argument in needed}
    heard = program.heard_from(node.name)

    def get() -> Mapping[str, Any]:
        updated = posterior(**{argument: read() for argument, read in arguments.items()})
        check_posterior(node, updated, heard)
        return dict(updated)

    return get


def check_posterior(node: Node, updated: Any, heard: tuple[str, ...] = ()) -> None:
    """Refuse what is no parameters of a node: a draw rule returns new values of its slots, made
    from the evidence that it ``heard`` by other rules."""
    rule, slots = f"{node.name}: the draw rule of {type(node).__name__}", node.slots()
    if not isinstance(updated, Mapping):
        raise NetworkError(
            f"{rule} returned {type(updated).__name__}; return a dict from names of slots "
            f"({', '.join(slots)}) to their new values"
        )
    for slot, value in updated.items():
        if slot not in slots:
            raise NetworkError(
                f"{rule} returned a value of {slot!r}, which is no slot; its slots are "
                f"{', '.join(slots)}"
            )
        if np.asarray(value).dtype.kind not in "iufb":
            raise NetworkError(f"{rule} returned {value!r:.60} for {slot!r}; return numbers")
        least = np.min(value)  # NaN if one of them is
        if np.isnan(least):
            raise NetworkError(
                f"{rule} returned NaN for {slot!r}; are the rule, and the numbers that it reads, "
                "finite?"
            )
        if least < 0 and slot not in node.real_slots:
            others = f", or the rule for {' or '.join(dict.fromkeys(heard))}," if heard else ""
            real = f" (a slot that may be negative, as a mean, stands in real_slots = ({slot!r},))"
            raise NetworkError(
                f"{rule} returned the negative value {least:g} for {slot!r}; has it{others} a "
                f"wrong sign?{real if is_own(type(node)) else ''}"
            )
