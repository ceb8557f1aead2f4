"""The common parts of the models of the zoo: checks of their arguments, and their data node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Annotated, Any

import numpy as np

from pgbn.checks import is_finite_number
from pgbn.errors import NetworkError
from pgbn.nodes import Gamma, Multinomial
from pgbn.nodes.base import Observed
from pgbn.nodes.expression import Constant, Expression
from pgbn.zoo.links import get_link


def check_one_width(width: Any, name: str = "width") -> int:
    """A width is an integer of at least 1."""
    if isinstance(width, bool) or not isinstance(width, Integral) or width < 1:
        raise NetworkError(f"{name}={width!r}: must be a positive integer, such as {name}=100")
    bits = int(width).bit_length()
    if bits > 1000:  # smaller numbers that fit no machine are rejected with the data
        shown = f"{width!r:.60}" if bits < 10_000 else f"a number of {bits} bits"
        raise NetworkError(f"{name}={shown}: give a number below 2^63")
    return int(width)


def check_widths(widths: Any, name: str = "widths") -> list[int]:
    """One width for each layer, the one nearest to the data first; a number is one layer."""
    if isinstance(widths, Integral):
        return [check_one_width(widths, name)]
    if isinstance(widths, (str, bytes, Mapping)) or not np.iterable(widths):
        raise NetworkError(
            f"widths={widths!r}: give a list with the width of each layer, such as widths=[100, 50]"
        )
    layers = list(widths)
    if not layers:
        raise NetworkError("widths=[]: give the width of at least one layer, e.g. widths=[100]")
    return [check_one_width(width, f"widths[{layer}]") for layer, width in enumerate(layers)]


def check_positive_number(value: Any, name: str) -> float:
    """A parameter that must be a positive number."""
    if not (is_finite_number(value) and value > 0):
        raise NetworkError(f"{name}={value!r}: must be a positive number")
    return float(value)


def check_prior(prior: Any, name: str) -> tuple[float, float]:
    """The two positive parameters of a gamma (shape, rate) or beta (a, b) prior."""
    if not isinstance(prior, (tuple, list)) or len(prior) != 2:
        raise NetworkError(
            f"{name}={prior!r}: give two positive numbers, such as {name}=(1.0, 1.0)"
        )
    first, second = (check_positive_number(value, f"{name}[{i}]") for i, value in enumerate(prior))
    return first, second


def per_layer(value: Any, depth: int, name: str) -> list[float]:
    """One positive number for every layer, or the same for all."""
    values: Sequence[Any] = list(value) if isinstance(value, (list, tuple)) else [value] * depth
    if len(values) != depth:
        raise NetworkError(
            f"{name}={value!r}: give one number, or one for each of the {depth} layers"
        )
    return [check_positive_number(each, name) for each in values]


def check_features(features: Any, name: str = "features") -> Constant:
    """The covariates of documents: a row of real numbers for each."""
    array = np.asarray(features)
    if array.dtype.kind not in "iufb" or array.ndim != 2 or not array.size:
        raise NetworkError(
            f"features={features!r:.60}: give an array of numbers with a row for each document and "
            "a column for each covariate; turn a category into columns of 0 and 1"
        )
    if not np.isfinite(array.astype(np.float64)).all():
        raise NetworkError("features: has numbers that are not finite; fill or remove these rows")
    return Constant(array.astype(np.float64), dims=("doc", "covariate"))


def check_link(link: Any, name: str = "link") -> str:
    """The name of a link between a rate and data."""
    return get_link(link, name).name


def check_modalities(modalities: Any, name: str = "modalities") -> dict[str, str]:
    """At least one name, each with its link."""
    example = 'modalities={"words": "poisson", "tags": "bernoulli"}'
    if not isinstance(modalities, Mapping) or not modalities:
        raise NetworkError(f"modalities={modalities!r}: map names to links, such as {example}")
    for name in modalities:
        if not isinstance(name, str):
            raise NetworkError(f"modalities: the name {name!r} is not a string; give {example}")
    return {name: check_link(link, f"modalities[{name!r}]") for name, link in modalities.items()}


def check_modes(modes: Any, name: str = "modes") -> tuple[str, ...]:
    """The names of the modes of a tensor: at least two, each once."""
    names = () if isinstance(modes, str) or not np.iterable(modes) else tuple(modes)
    if len(names) < 2 or not all(
        isinstance(name, str) and f"_{name}".isidentifier() and name != "component"
        for name in names
    ) or len(set(names)) < len(names):  # fmt: skip
        raise NetworkError(
            f"modes={modes!r}: give the names of two modes or more, each once, such as "
            "modes=('sender', 'receiver', 'time')"
        )
    return names


def check_mode_widths(widths: Any, name: str = "widths") -> dict[str, int]:
    """The number of communities of each mode of a tensor."""
    if not isinstance(widths, Mapping):
        raise NetworkError(
            f"widths={widths!r}: give a dict from modes to widths, such as "
            "widths={'sender': 8, 'receiver': 8, 'action': 4}"
        )
    modes = check_modes(list(widths))
    return {mode: check_one_width(widths[mode], f"widths[{mode!r}]") for mode in modes}


def check_total(total: Any, name: str = "total") -> Expression:
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


def check_number_or_prior(value: Any, name: str) -> float | tuple[float, float]:
    """A positive number, or a pair of parameters of its prior."""
    if isinstance(value, (tuple, list)):
        return check_prior(value, name)
    return check_positive_number(value, name)


# The types of arguments: `validated` calls the check of each.
Width = Annotated[int, check_one_width]
Widths = Annotated[Any, check_widths]  # an int, or one for each layer
ModeWidths = Annotated[Mapping[str, int], check_mode_widths]
Modes = Annotated[Sequence[str], check_modes]
Modalities = Annotated[Mapping[str, str], check_modalities]
Positive = Annotated[float, check_positive_number]
Prior = Annotated[tuple[float, float], check_prior]
PositiveOrPrior = Annotated[float | tuple[float, float], check_number_or_prior]
Features = Annotated[Any, check_features]
Total = Annotated[Any, check_total]


def observe(
    name: str, link: Any, rate: Expression, dims: tuple[str, ...], noise: str, noise_prior: Any
) -> Observed:
    """The data node of a link, and the node ``noise`` if the link has one."""
    found = get_link(link)
    if not found.noise:
        return found.observe(name, rate, dims)
    prior = check_prior(noise_prior, "noise_prior")
    return found.observe(name, rate, dims, Gamma(noise, *prior))
