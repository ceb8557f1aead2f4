"""The settings of a layer-wise training, resolved once: checked, and complete.

    Settings(100, 3, burn_in=[300, 200, 100])         # from the arguments of `train_layerwise`
    Settings.from_content(settings.content())         # to JSON, in a checkpoint, and back

Training functions take a `Settings`; only this module checks and completes a user's arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
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
from pgbn.network.network import Network
from pgbn.training.family import Build, Family, read_family
from pgbn.training.trained import Priors, TrainedNetwork, make_network, read_priors
from pgbn.zoo.arguments import check_link

_DEFAULT_ETA = 0.05
_PER_LAYER = ("eta", "burn_in", "sweeps")
_OF_BELIEF = ("eta", "link", "priors")


def _as_list(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def budgets(name: str, value: Any, depth: int) -> int | tuple[int, ...]:
    """The maximum widths of layers: one number for the first layer, with K_t ≤ K_{t−1} above it, or
    one number for each layer, none larger than the one before. Numbers beyond ``depth`` are not
    used."""
    value = _as_list(value)
    if is_integral(value) and value >= 1:
        return int(value)
    if not _is_list(value):
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


def layers_asked(max_width: Any, depth: Any) -> int:
    """The maximum number of layers: ``depth``, or, if it is None, the length of ``max_width``. If
    ``max_width`` is one number, the default is taken."""
    if depth is None:
        widths = _as_list(max_width)
        depth = max(len(widths), 1) if _is_list(widths) else DEPTH
    if check_integer("depth", depth, 1) > MOST_LAYERS:
        raise DataError(f"depth={depth!r} must be at most {MOST_LAYERS}")
    return int(depth)


def _each_layer(name: str, value: Any, depth: int) -> list[Any]:
    """One number for every layer: a list that is too short or too long is a mistake."""
    number = is_finite_number(value) or is_integral(value)  # 10**400 is no float
    if number or value is None or isinstance(value, (bool, float)):
        return [value] * depth
    each = _as_list(value)
    if not _is_list(each) or len(each) != depth:
        layers = f"or {depth} of them, one for each layer" if depth > 1 else "as there is one layer"
        raise DataError(f"{name}={value!r:.60}: give one number, {layers}")
    return list(each)


def _integers(name: str, value: Any, depth: int) -> tuple[int, ...]:
    each = _each_layer(name, value, depth)
    if not all(is_integral(number) and number >= 1 for number in each):
        raise DataError(
            f"{name}={value!r} must be an integer of at least 1, or one such for each layer"
        )
    if any(number >= 2**63 for number in each):  # too large for any array or loop
        raise DataError(f"{name}={value!r:.60}: give numbers below 2^63")
    return tuple(int(number) for number in each)


def _positives(name: str, value: Any, depth: int) -> tuple[float, ...]:
    each = _each_layer(name, value, depth)
    if not all(is_finite_number(number) and float(number) > 0 for number in each):
        raise DataError(
            f"{name}={value!r} must be positive and finite, one number or one for each layer"
        )
    return tuple(float(number) for number in each)


@dataclass(frozen=True)
class Settings:
    """What is trained and for how long: the arguments of `train_layerwise` that decide the result,
    with the same meaning and defaults. ``start`` is the network to continue from; it provides eta
    and priors if none are given.

    Invariant: ``eta``, ``burn_in`` (B_t) and ``sweeps`` (C_t) have one entry for each of the
    ``depth`` layers. Every entry is resolved but ``sampler``, which may be "auto" and is checked
    with the network and the data. A ``family`` has its own eta, link and priors; then there are
    none here.
    """

    max_width: Any
    depth: Any
    eta: Any = None
    burn_in: Any = 1000
    sweeps: Any = 500
    link: str = "poisson"
    seed: int = 0
    sampler: str = "auto"
    average: int = 1
    min_width: int = 4
    min_count: int = 1
    trace_every: int = 10
    priors: Any = None
    keep_states: bool = False
    keep_draws: int = 0
    family: Any = None
    start: InitVar[TrainedNetwork | None] = None

    def __post_init__(self, start: TrainedNetwork | None) -> None:
        depth = layers_asked(self.max_width, self.depth)
        found: dict[str, Any] = {
            "depth": depth,
            "burn_in": _integers("burn_in", self.burn_in, depth),
            "sweeps": _integers("sweeps", self.sweeps, depth),
            "max_width": budgets("max_width", self.max_width, depth),
            "seed": check_seed(self.seed),
            "keep_states": check_flag("keep_states", self.keep_states),
            **(self._of_family() if self.family is not None else self._of_belief(start, depth)),
        }
        least = {"average": 1, "min_width": 0, "min_count": 0, "trace_every": 0, "keep_draws": 0}
        found |= {name: check_integer(name, getattr(self, name), n) for name, n in least.items()}
        for name, remedy in (("average", ""), ("keep_draws", ": each sweep gives one draw")):
            if found[name] > min(found["sweeps"]):
                raise DataError(
                    f"{name}={found[name]!r} must be at most sweeps={self.sweeps!r}{remedy}"
                )
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def _of_family(self) -> dict[str, Any]:
        """Check a family: no argument of the belief network may be given with it."""
        for name, none in (("eta", (None, ())), ("link", ("poisson", "")), ("priors", (None,))):
            value = getattr(self, name)
            if not any(value is each or value == each for each in none):
                raise DataError(
                    f"{name}={value!r}: an argument of the belief network; with family= omit it, "
                    "and let the family set it"
                )
        family = self.family if isinstance(self.family, Family) else Family(self.family)
        return {"eta": (), "link": "", "priors": None, "family": family}

    def _of_belief(self, start: TrainedNetwork | None, depth: int) -> dict[str, Any]:
        """The settings of the belief network; further layers have the topmost eta of ``start``."""
        if start is not None and not start.link:
            raise DataError(f"start_from: {start!r} has its own family; give that as family=")
        if not isinstance(self.priors, Priors | None):
            raise DataError(
                f"priors={self.priors!r}: give pgbn.Priors(...), or None for the paper's"
            )
        eta: Any = _DEFAULT_ETA if self.eta is None else self.eta
        if start is not None and self.eta is None:
            eta = (*start.eta, *[start.eta[-1]] * depth)[:depth]
        priors = self.priors or (start.priors if start is not None else Priors())
        return {"eta": _positives("eta", eta, depth), "link": check_link(self.link),
                "priors": priors}  # fmt: skip

    def first(self, depth: int) -> Settings:
        """The same for the first layers only."""
        return replace(
            self, depth=depth, **{name: getattr(self, name)[:depth] for name in _PER_LAYER}
        )

    @cached_property
    def grown(self) -> Family:
        """The networks that are grown: belief networks, unless there is another family."""

        def belief(widths: tuple[int, ...]) -> Network:
            # Further layers, for which nothing is given, have the eta of the topmost.
            eta = (*self.eta, *self.eta[-1:] * len(widths))[: len(widths)]
            return make_network(widths, eta, self.link, self.priors)

        return Family(belief) if self.family is None else self.family

    def budget(self, below: tuple[int, ...] = ()) -> int:
        """The first width of the layer above those of widths ``below``: at most its own maximum
        width, if it has one, and at most that of the layer below (K_t ≤ K_{t−1})."""
        if isinstance(self.max_width, int):
            return below[-1] if below else self.max_width
        return int(min((self.max_width[len(below)], *below[-1:])))

    # ---- JSON -------------------------------------------------------------------------

    def content(self) -> dict[str, Any]:
        """As JSON; a value that is the same in all layers is one number."""
        content = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        if self.family is None:
            del content["family"]
            content["priors"] = asdict(self.priors)
        else:
            content["family"] = self.family.content()
            for name in _OF_BELIEF:
                del content[name]
        for name in (name for name in _PER_LAYER if name in content):
            each = list(content[name])
            content[name] = each[0] if len(set(each)) == 1 else each
        if not self.keep_draws:  # as files were before draws could be kept
            del content["keep_draws"]
        if not isinstance(self.max_width, int):
            content["max_width"] = list(self.max_width)
        return content

    @classmethod
    def from_content(cls, content: Mapping[str, Any], build: Build | None = None) -> Settings:
        """From JSON. Versions that did not write eta and priors trained with the defaults, whatever
        network they continued from. ``build`` is the family, if files cannot contain it."""
        check_known(content)
        given = {name: value for name, value in content.items() if value is not None}
        if "priors" in given:
            given["priors"] = read_priors(given["priors"])
        if "family" in given:
            given["family"] = read_family(given["family"], build)
        elif build is not None:
            raise DataError("family: this training is of a belief network; omit it")
        try:
            return cls(**given)
        except TypeError as error:  # a file may lack an argument, or have any in its place
            raise DataError(f"the arguments of the training are damaged: {error}") from error


def check_known(arguments: Mapping[str, Any], others: Sequence[str] = ()) -> None:
    """Reject names that are neither a setting nor one of ``others``."""
    known = [*(field.name for field in fields(Settings)), *others]
    for name in arguments:
        if name not in known:
            hint = (
                f" Give the number of topics, at most, as max_width={arguments[name]!r:.40}."
                if name in OTHER_NAMES
                else did_you_mean(name, known)
            )
            raise DataError(f"train: no argument is called {name!r}.{hint}")
