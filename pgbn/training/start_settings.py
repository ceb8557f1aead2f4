"""What a training takes from the network that it goes on from: eta, priors, the first width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pgbn.errors import DataError
from pgbn.training.per_layer import positives
from pgbn.training.trained import Priors, TrainedNetwork

__all__ = ["check_width", "choose_eta", "choose_priors"]

_DEFAULT_ETA = 0.05


def choose_eta(eta: Any, depth: int, networks: Sequence[TrainedNetwork]) -> tuple[float, ...]:
    """η of every layer. None: those of the last network, whose topmost is that of further layers;
    of a new network, the default."""
    if eta is not None:
        return positives("eta", eta, depth)
    known = (networks[-1].eta if networks else ()) or (_DEFAULT_ETA,)
    return (*known, *[known[-1]] * depth)[:depth]


def choose_priors(priors: Priors | None, networks: Sequence[TrainedNetwork]) -> Priors:
    """The priors. None: those of the last network; of a new network, the paper's."""
    if priors is not None:
        return priors
    return networks[-1].priors if networks else Priors()


def check_width(max_width: int, start: TrainedNetwork) -> None:
    """Refuse a width that the network to go on from exceeds."""
    if max_width < start.widths[0]:
        raise DataError(
            f"max_width={max_width}: the first layer of start_from has {start.widths[0]} factors, "
            f"and keeps them; give max_width={start.widths[0]} or more, or train anew, without "
            "start_from"
        )
