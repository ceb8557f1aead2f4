"""What the models of the zoo share: checks of their arguments, and the links to data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from pgbn.errors import NetworkError, did_you_mean
from pgbn.nodes import BernoulliPoisson, Gamma, Multinomial, Poisson, PoissonGamma
from pgbn.nodes.base import Observed
from pgbn.nodes.expression import Constant, Expression

__all__ = [
    "LINKS",
    "Prior",
    "check_link",
    "check_modalities",
    "check_positive",
    "check_prior",
    "check_total",
    "check_width",
    "check_widths",
    "observe",
    "per_layer",
]

LINKS = ("poisson", "bernoulli", "gamma")

Prior = tuple[float, float]


def check_width(width: Any, name: str = "width") -> int:
    """A width is an integer of at least 1."""
    if isinstance(width, bool) or not isinstance(width, Integral) or width < 1:
        raise NetworkError(f"{name}={width!r}: must be a positive integer, such as {name}=100")
    return int(width)


def check_widths(widths: Any) -> list[int]:
    """One width for each layer, the one nearest to the data first."""
    if isinstance(widths, (str, bytes, Mapping)) or not np.iterable(widths):
        raise NetworkError(
            f"widths={widths!r}: give a list with the width of each layer, such as widths=[100, 50]"
        )
    layers = list(widths)
    if not layers:
        raise NetworkError("widths=[]: give the width of at least one layer, e.g. widths=[100]")
    return [check_width(width, f"widths[{layer}]") for layer, width in enumerate(layers)]


def check_positive(value: Any, name: str) -> float:
    """A parameter that must be a positive number."""
    good = isinstance(value, Real) and not isinstance(value, bool)
    if not (good and isfinite(value) and value > 0):
        raise NetworkError(f"{name}={value!r}: must be a positive number")
    return float(value)


def check_prior(prior: Any, name: str) -> Prior:
    """The two positive parameters of a gamma (shape, rate) or beta (a, b) prior."""
    if not isinstance(prior, (tuple, list)) or len(prior) != 2:
        raise NetworkError(
            f"{name}={prior!r}: give two positive numbers, such as {name}=(1.0, 1.0)"
        )
    first, second = (check_positive(value, f"{name}[{i}]") for i, value in enumerate(prior))
    return first, second


def per_layer(value: Any, depth: int, name: str) -> list[float]:
    """One positive number for every layer, or the same for all."""
    values: Sequence[Any] = list(value) if isinstance(value, (list, tuple)) else [value] * depth
    if len(values) != depth:
        raise NetworkError(
            f"{name}={value!r}: give one number, or one for each of the {depth} layers"
        )
    return [check_positive(each, name) for each in values]


def check_link(link: Any, name: str = "link") -> str:
    """The name of a link between a rate and data."""
    if link not in LINKS:
        hint = did_you_mean(link, LINKS) if isinstance(link, str) else ""
        raise NetworkError(
            f"{name}={link!r}: must be 'poisson' (counts), 'bernoulli' (0 and 1) or 'gamma' "
            f"(reals ≥ 0).{hint}"
        )
    return str(link)


def check_modalities(modalities: Any) -> dict[str, str]:
    """At least one name, each with its link."""
    example = 'modalities={"words": "poisson", "tags": "bernoulli"}'
    if not isinstance(modalities, Mapping) or not modalities:
        raise NetworkError(f"modalities={modalities!r}: map names to links, such as {example}")
    for name in modalities:
        if not isinstance(name, str):
            raise NetworkError(f"modalities: the name {name!r} is not a string; give {example}")
    return {name: check_link(link, f"modalities[{name!r}]") for name, link in modalities.items()}


def check_total(total: Any) -> Expression:
    """The lengths of generated documents: none, one number, or one for each document."""
    if total is None:
        default: Expression = Multinomial.model_fields["total"].default
        return default
    lengths = np.asarray(total)
    if lengths.dtype.kind not in "iuf" or lengths.ndim > 1:
        raise NetworkError(f"total={total!r}: give a number, or a list with one for each document")
    if not (np.isfinite(lengths).all() and (lengths >= 0).all() and (lengths % 1 == 0).all()):
        raise NetworkError(f"total={total!r}: lengths of documents are integers 0, 1, 2, …")
    return Constant(value=lengths, dims=("doc",) * lengths.ndim)


def observe(
    name: str, link: Any, rate: Expression, dims: tuple[str, ...], noise: str, noise_prior: Any
) -> Observed:
    """The data node of a link; only "gamma" has the node ``noise``, its rate."""
    match check_link(link):
        case "poisson":
            return Poisson(name, rate, dims=dims)
        case "bernoulli":
            return BernoulliPoisson(name, rate, dims=dims)
    prior = check_prior(noise_prior, "noise_prior")
    return PoissonGamma(name, rate, Gamma(noise, *prior), dims=dims)
