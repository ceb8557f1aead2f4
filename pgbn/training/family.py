"""Families of networks: a function from widths to a network, with the facts that growing needs.

    pgbn.train_layerwise(data, (60, 20), 2, family=lambda widths: my_network(widths))

A network of T layers must be the network of T − 1 layers with a layer on top: nodes and dims of the
layers below keep their names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from inspect import signature
from typing import Any

from pgbn import zoo
from pgbn.errors import DataError, NetworkError
from pgbn.network.layers import Units, compare, global_nodes, summed_nodes
from pgbn.network.network import Network

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
