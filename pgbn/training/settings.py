"""The settings of a layer-wise training, resolved once: checked, and complete, with its family.

    Settings(100, 3, burn_in=[300, 200, 100])         # from the arguments of `train_layerwise`
    Settings.from_content(settings.content())         # to JSON, in a checkpoint, and back

Training functions take a `Settings`; only this module checks and completes a user's arguments.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass, fields, replace
from functools import cache, cached_property, partial
from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np

from pgbn import zoo
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
from pgbn.errors import DataError, NetworkError, did_you_mean
from pgbn.network.layers import Units, compare, global_nodes, summed_nodes
from pgbn.network.network import Network
from pgbn.training.trained import Priors, TrainedNetwork, make_network, read_priors
from pgbn.zoo.arguments import check_link

# ---- families of networks -----------------------------------------------------------------------
#
# A family is a function from widths to a network, with the facts that growing needs:
#
#     pgbn.train_layerwise(data, (60, 20), 2, family=lambda widths: my_network(widths))
#
# A network of T layers must be the network of T − 1 layers with a layer on top: nodes and dims of
# the layers below keep their names.

Build = Callable[[tuple[int, ...]], Network]


def _takes_one(build: Callable[..., Any]) -> bool:
    """Whether a function can be called with the widths alone, as far as Python can tell."""
    try:
        signature(build).bind(())
    except TypeError:
        return False
    except ValueError:  # it has no signature
        pass
    return True


class Family:
    """The networks that a function makes of widths, each made once.

    Invariant: they are networks in which the dims of layer t have the size K_t.
    """

    def __init__(self, build: Build) -> None:
        if not callable(build) or not _takes_one(build):
            raise DataError(
                f"family={build!r:.60}: give a function from widths to a pgbn.Network, such as "
                "pgbn.zoo.pgbn or lambda widths: pgbn.zoo.multimodal(widths, modalities)"
            )
        self.build = build
        self.network = cache(self._network)
        self.units = cache(self._units)

    def _network(self, widths: tuple[int, ...]) -> Network:
        """The network of these widths."""
        network = self.build(widths)
        if not isinstance(network, Network):
            raise DataError(
                f"family: {self.name} gave a {type(network).__name__} for the widths {widths}; "
                "it must return a pgbn.Network"
            )
        return network

    def _units(self, depth: int) -> Units:
        """The units of the top layer of a network of ``depth`` layers, seen by small networks."""
        widths = _small(depth)
        narrower = (*widths[:-1], widths[-1] - 1)
        try:
            return compare(self.network(narrower), self.network(widths), narrower[-1])
        except NetworkError as error:
            raise DataError(f"family: {self.name}: {error}") from None

    def example(self, depth: int = 1) -> Network:
        """A small network of ``depth`` layers, which shows the nodes and data of the family."""
        return self.network(_small(depth))

    def layers(self, depth: int) -> tuple[str, ...]:
        """The dim of the units of each layer; it is the same one in networks of any depth."""
        widths, found = _small(depth), []
        network = self.network(widths)
        for layer, width in enumerate(widths, 1):
            dim = self.units(layer).dim
            if network.sizes.get(dim) != width or dim in found:
                raise DataError(
                    f"family: {self.name}: the units of layer {layer} have the dim {dim!r} in a "
                    f"network of {layer} layers, but not in one of {depth}; layers keep the names "
                    "of their nodes and dims when others are put on top"
                )
            found.append(dim)
        return tuple(found)

    def shared(self, network: Network) -> list[str]:
        """The latent nodes that all rows share. Rows are the dims, such as documents, that the
        scores of the first layer have in addition to their units."""
        small, units = self.example(), self.units(1)
        scores, _ = summed_nodes(small, units)
        axes = {dim for name in scores for dim in small[name].axes}
        return global_nodes(network, axes - set(units.dims))

    # ---- in words, and in files ---------------------------------------------------------

    @property
    def name(self) -> str:
        """What the function is called."""
        function = getattr(self.build, "func", self.build)  # of a partial
        return f"{function.__module__}.{getattr(function, '__qualname__', function)}"

    def content(self) -> dict[str, Any]:
        """As JSON. A model of the zoo with JSON arguments can be read again. Only the name of any
        other function is kept, since nothing in a file is executed."""
        build: Any = self.build
        arguments: dict[str, Any] = {}
        if isinstance(build, partial) and not build.args:
            build, arguments = build.func, dict(build.keywords)
        known = next((name for name in zoo.__all__ if getattr(zoo, name) is build), None)
        try:
            same = known is not None and json.loads(json.dumps(arguments)) is not None
        except (TypeError, ValueError):
            same = False
        return {"zoo": known, "arguments": arguments} if same else {"function": self.name}


def _small(depth: int) -> tuple[int, ...]:
    """Widths that shrink: (4, 3) for two layers."""
    return tuple(range(depth + 2, 2, -1))


def read_family(content: Mapping[str, Any], build: Build | None = None) -> Family:
    """Read a family from JSON; ``build`` is needed for those that are not in the zoo."""
    if build is not None:
        return Family(build)
    if not isinstance(content, Mapping):
        raise DataError(f"family: {content!r:.60} is not a family: damaged")
    name, arguments = content.get("zoo"), content.get("arguments")
    if name in zoo.__all__:
        if not isinstance(arguments, dict):
            raise DataError(f"family: the arguments of zoo.{name} are {arguments!r:.60}: damaged")
        family = Family(partial(getattr(zoo, name), **arguments))
        try:
            family.example()
        except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
            raise DataError(f"family: zoo.{name} with {arguments!r:.60}: {error}") from error
        return family
    raise DataError(
        f"this training grows a family of your own, {content.get('function')}, and files hold no "
        "functions; continue in Python with pgbn.resume(path, family=...)"
    )


# ---- settings -----------------------------------------------------------------------------------

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
            f"{name}={value!r:.60} is of length {len(each)}, but depth={depth}; give one number "
            f"for each layer, or {name}=100 for the first layer"
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
