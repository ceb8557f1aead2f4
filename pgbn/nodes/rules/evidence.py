"""Evidence: the one message that travels up the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Evidence"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a node hears about its value λ from below.

    For the kind "poisson" it is the likelihood λ^count · exp(−exposure·λ); for the kind
    "probability", about a probability p, it is p^count · (1−p)^exposure, and "odds" is the same
    about the p of a value (1−p)/p. Evidence adds.
    """

    count: Any
    exposure: Any
