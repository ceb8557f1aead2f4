"""The settings of a layer-wise training, resolved once: checked, and complete.

    Settings.of(100, 3, burn_in=[300, 200, 100])      # from the arguments of `train_layerwise`
    Settings.from_content(settings.content())         # to JSON, in a checkpoint, and back

Whoever trains hands over a `Settings`; nobody else checks or completes what a user gave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from pgbn.checks import (
    DEPTH,
    MOST_LAYERS,
    OTHER_NAMES,
    check_flag,
    check_integer,
    check_seed,
    is_finite_number,
    is_integral,
)
from pgbn.errors import DataError, did_you_mean
from pgbn.training.family import Build, Family, read_family
from pgbn.training.grown import GrownNetwork
from pgbn.training.trained import Priors, TrainedNetwork, read_priors
from pgbn.zoo.arguments import check_link

# ---- per layer ----------------------------------------------------------------------------------
#
# Arguments that are one number, or one for each layer.


def budgets(name: str, value: Any, depth: int) -> int | tuple[int, ...]:
    """How wide layers may be: one number for the first of them, where K_t ≤ K_{t−1} above it, or
    numbers that do not grow, one for each layer (those beyond ``depth`` are not used)."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if is_integral(value) and value >= 1:
        return int(value)
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise DataError(
            f"{name}={value!r} must be an integer of at least 1, or one such for each layer, as in "
            f"{name}=(100, 30, 10)"
        )
    if not all(is_integral(number) and number >= 1 for number in value):
        raise DataError(f"{name}={value!r} must hold integers of at least 1, one for each layer")
    each = tuple(int(number) for number in value)
    if len(each) < depth:
        raise DataError(
            f"{name}={value!r}: {len(each)} of depth={depth} layers; give one number for each of "
            "them, or one for the first layer"
        )
    for below, above in pairwise(each):
        if above > below:
            raise DataError(
                f"{name}={value!r}: {above} is more than the {below} of the layer below, and no "
                "layer is wider than the one below; give numbers that do not grow"
            )
    return each


def layers_asked(max_width: Any, depth: Any) -> Any:
    """How many layers are asked for: ``depth``, or, where it is None, as many as ``max_width`` has
    budgets; of one number, the default."""
    if depth is not None:
        return depth
    each = np.ndim(max_width) == 1 if isinstance(max_width, np.ndarray) else None
    if each or (isinstance(max_width, Sequence) and not isinstance(max_width, (str, bytes))):
        return max(len(max_width), 1)
    return DEPTH


def integers(name: str, value: Any, depth: int, least: int = 1) -> tuple[int, ...]:
    """An integer for every layer."""
    each = [value] * depth if is_integral(value) else _list(name, value, depth)
    if not all(is_integral(number) and number >= least for number in each):
        raise DataError(
            f"{name}={value!r} must be an integer of at least {least}, or one such for each layer"
        )
    if any(number >= 2**63 for number in each):  # what no array or loop can have
        raise DataError(f"{name}={value!r:.60}: give numbers below 2^63")
    return tuple(int(number) for number in each)


def positives(name: str, value: Any, depth: int) -> tuple[float, ...]:
    """A positive number for every layer."""
    each = [value] * depth if isinstance(value, Real) else _list(name, value, depth)
    if not all(is_finite_number(number) and float(number) > 0 for number in each):
        raise DataError(
            f"{name}={value!r} must be positive and finite, one number or one for each layer"
        )
    return tuple(float(number) for number in each)


def _list(name: str, value: Any, depth: int) -> list[Any]:
    """A list as long as the network is deep: what is too short or too long is a mistake."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != depth:
        layers = f"each of {depth} layers" if depth > 1 else "the one layer"
        raise DataError(f"{name}={value!r}: give one number, or one for {layers}")
    return list(value)


# ---- settings -----------------------------------------------------------------------------------


_DEFAULT_ETA = 0.05
_PER_LAYER = ("eta", "burn_in", "collect")
_OF_FAMILY = ("eta", "link", "priors")


@dataclass(frozen=True)
class Settings:
    """What is trained and for how long: the arguments of `train_layerwise` that decide the result.

    Invariant: ``eta``, ``burn_in`` (B_t) and ``collect`` (C_t) have one entry for each of the
    ``depth`` layers, and no entry is left open but ``layer1``, which may be "auto". A ``family``
    has its own eta, link and priors: there are none here then.
    """

    max_width: int | tuple[int, ...]
    depth: int
    eta: tuple[float, ...]
    burn_in: tuple[int, ...]
    collect: tuple[int, ...]
    link: str
    seed: int
    layer1: str
    average: int
    min_width: int
    min_count: int
    trace_every: int
    priors: Priors
    keep_states: bool
    keep_draws: int = 0
    family: Family | None = None

    @classmethod
    def of(
        cls,
        max_width: int | Sequence[int],
        depth: int,
        *,
        eta: float | Sequence[float] | None = None,
        burn_in: int | Sequence[int] = 1000,
        collect: int | Sequence[int] = 500,
        link: str = "poisson",
        seed: int = 0,
        layer1: str = "auto",
        average: int = 1,
        min_width: int = 4,
        min_count: int = 1,
        trace_every: int = 10,
        priors: Priors | None = None,
        keep_states: bool = False,
        keep_draws: int = 0,
        family: Build | Family | None = None,
        start: TrainedNetwork | GrownNetwork | None = None,
    ) -> Settings:
        """From arguments, with the meaning and the defaults that they have in `train_layerwise`.
        ``start`` is the network to go on from, whose eta and priors are taken where none are
        given."""
        depth = check_depth(depth)
        each = integers("collect", collect, depth)
        if not isinstance(priors, Priors | None):
            raise DataError(f"priors={priors!r}: give pgbn.Priors(...), or None for the paper's")
        if family is not None:
            _refuse_beside_family(eta=eta, link=None if link == "poisson" else link, priors=priors)
            eta, link, priors = (), "", Priors()
            family = family if isinstance(family, Family) else Family(family)
        elif isinstance(start, GrownNetwork):
            raise DataError(f"start_from: {start!r} is of a family of its own; give it as family=")
        elif start is not None:
            eta = _eta(start.eta, depth) if eta is None else eta
            priors = priors or start.priors
        if check_integer("average", average, 1) > min(each):
            raise DataError(f"average={average!r} must be at most collect={collect!r}")
        if check_integer("keep_draws", keep_draws, 0) > min(each):
            raise DataError(
                f"keep_draws={keep_draws!r} must be at most collect={collect!r}: of a sweep one "
                "draw can be kept"
            )
        return cls(
            max_width=budgets("max_width", max_width, depth),
            depth=depth,
            eta=() if family else positives("eta", _DEFAULT_ETA if eta is None else eta, depth),
            burn_in=integers("burn_in", burn_in, depth),
            collect=each,
            link="" if family else check_link(link),
            seed=check_seed(seed),
            layer1=layer1,  # checked with the network and the data, which it must fit
            average=int(average),
            min_width=check_integer("min_width", min_width, 0),
            min_count=check_integer("min_count", min_count, 0),
            trace_every=check_integer("trace_every", trace_every, 0),
            priors=priors or Priors(),
            keep_states=check_flag("keep_states", keep_states),
            keep_draws=int(keep_draws),
            family=family,
        )

    def first(self, depth: int) -> Settings:
        """The same for the first layers only."""
        return replace(
            self, depth=depth, **{name: getattr(self, name)[:depth] for name in _PER_LAYER}
        )

    def budget(self, below: tuple[int, ...] = ()) -> int:
        """How wide the layer above those of widths ``below`` begins: by its own budget, if it has
        one, and no wider than the layer that it stands on (K_t ≤ K_{t−1})."""
        if isinstance(self.max_width, int):
            return below[-1] if below else self.max_width
        return min((self.max_width[len(below)], *below[-1:]))

    # ---- JSON -------------------------------------------------------------------------

    def content(self) -> dict[str, Any]:
        """As JSON; what is the same in all layers is one number."""
        content = asdict(replace(self, family=None))
        del content["family"]
        if self.family is not None:
            for name in _OF_FAMILY:
                del content[name]
            content["family"] = self.family.content()
        for name in (name for name in _PER_LAYER if name in content):
            numbers = list(content[name])
            content[name] = numbers[0] if len(set(numbers)) == 1 else numbers
        if not self.keep_draws:  # as files were before draws could be kept
            del content["keep_draws"]
        if not isinstance(self.max_width, int):
            content["max_width"] = list(self.max_width)
        return content

    @classmethod
    def from_content(cls, content: Mapping[str, Any], build: Build | None = None) -> Settings:
        """From JSON. Versions that left out eta and priors trained with the defaults, whatever
        network they went on from. ``build`` is the family, where files cannot hold it."""
        check_known(content)
        given = {name: value for name, value in content.items() if value is not None}
        if "priors" in given:
            given["priors"] = read_priors(given["priors"])
        if "family" in given:
            given["family"] = read_family(given["family"], build)
        elif build is not None:
            raise DataError("family: this training is of a belief network; leave it out")
        try:
            return cls.of(**given)
        except TypeError as error:  # a file may lack an argument, or have any in its place
            raise DataError(f"arguments of a training that are damaged: {error}") from error


def check_known(arguments: Mapping[str, Any], others: Sequence[str] = ()) -> None:
    """Refuse what is the name of no setting, nor of ``others``."""
    known = [*(field.name for field in fields(Settings)), *others]
    for name in arguments:
        if name not in known:
            hint = (
                f" Give the number of topics, at most, as max_width={arguments[name]!r:.40}."
                if name in OTHER_NAMES
                else did_you_mean(name, known)
            )
            raise DataError(f"train: no argument is called {name!r}.{hint}")


def check_depth(depth: Any) -> int:
    """The number of layers, at most."""
    if check_integer("depth", depth, 1) > MOST_LAYERS:
        raise DataError(f"depth={depth!r} must be at most {MOST_LAYERS}")
    return int(depth)


def _eta(start: tuple[float, ...], depth: int) -> tuple[float, ...]:
    """η of every layer where none is given: those of the network to go on from, whose topmost is
    that of further layers; of a network that does not tell, the default."""
    known = start or (_DEFAULT_ETA,)
    return (*known, *[known[-1]] * depth)[:depth]


def _refuse_beside_family(**given: Any) -> None:
    """Refuse what a belief network takes, where another family is grown."""
    for name, value in given.items():
        if value is not None:
            raise DataError(
                f"{name}={value!r}: an argument of the belief network; with family= leave it out, "
                "and let the family set it"
            )
