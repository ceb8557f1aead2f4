"""Evidence: the one message that travels up the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["QUADRATIC", "Evidence"]

QUADRATIC = "quadratic"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a node hears about its value λ from below.

    For the kind "poisson" it is the likelihood λ^count · exp(−exposure·λ); for the kind
    "probability", about a probability p, it is p^count · (1−p)^exposure, and "odds" is the same
    about the p of a value (1−p)/p. For the kind "quadratic" it is exp(count·ψ − ½ exposure·ψ²)
    about the value ψ of a whole slot, whatever its sign: what stands in that slot, in a sum with
    weights, hears of ψ through these. Evidence adds.
    """

    count: Any
    exposure: Any
