"""What is kept of a chain: values of nodes, imputed data, and values of expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.expressions import Deterministic
from pgbn.engine.data.imputed import check_imputed
from pgbn.errors import DataError, did_you_mean
from pgbn.network.serialise import expression_from_json, expression_json

if TYPE_CHECKING:
    from pgbn.engine.run.chain import Chain
    from pgbn.network.network import Network

__all__ = ["Keep", "read_keep"]

Expressions = Mapping[str, Deterministic]


class Keep:
    """Names of nodes of a network, and of expressions of its latent nodes."""

    def __init__(
        self, network: Network, names: tuple[str, ...], expressions: Expressions | None = None
    ) -> None:
        self.network, self.names, self.expressions = network, names, dict(expressions or {})
        for name in names:
            known = (*network.latent, *network.observed, *self.expressions)
            if not isinstance(name, str) or name not in known:
                raise DataError(
                    f"keep: {name!r:.60} is not a latent node.{did_you_mean(name, network.latent)}"
                )
        self.data = [name for name in names if name in network.observed]
        self.latent = [name for name in names if name in network.latent]

    @classmethod
    def from_json(
        cls, network: Network, names: tuple[str, ...], content: Mapping[str, Any]
    ) -> Keep:
        """What `json` wrote, with the names."""
        found = {name: Deterministic(network, name, expression_from_json(network, value))
                 for name, value in content.items()}  # fmt: skip
        return cls(network, names, found)

    def json(self) -> dict[str, Any]:
        """The expressions, for a file."""
        return {name: expression_json(part.expression) for name, part in self.expressions.items()}

    def axes(self, name: str) -> tuple[str, ...]:
        """The dims of what is kept under a name."""
        return (self.expressions.get(name) or self.network.nodes[name]).axes

    def shape(self, name: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape of one draw."""
        return tuple(sizes[dim] for dim in self.axes(name))

    def bytes(self, sizes: Mapping[str, int]) -> int:
        """The memory that one draw of everything needs."""
        return 8 * sum(prod(self.shape(name, sizes)) for name in self.names)

    def is_simplex(self, name: str) -> bool:
        """Whether it is a node whose entries sum to one."""
        return name in self.network.nodes and self.network.nodes[name].simplex is not None

    def reader(self, chain: Chain) -> Callable[[], dict[str, NDArray[np.float64]]]:
        """The function that gives the values of a chain as it stands, by name."""
        for name in self.data:
            check_imputed(chain.program, name, "keep")
        readers = {n: part.reader(chain.program) for n, part in self.expressions.items()}

        def read() -> dict[str, NDArray[np.float64]]:
            values: dict[str, Any] = dict(chain.select(self.latent))
            values |= {name: chain.imputed(name) for name in self.data}
            for name, part in self.expressions.items():
                chain.refresh(part.names)
                values[name] = readers[name]()[0]
            return {name: np.array(values[name], np.float64) for name in self.names}

        return read


def read_keep(network: Network, keep: Any) -> Keep:
    """What ``keep`` of `Network.sample` says: names, or a dict of names and expressions."""
    if not network.free:
        raise DataError(
            f"given: {', '.join(network.held)} leave nothing to draw; leave one of them out"
        )
    if keep is not None and not np.iterable(keep):
        raise DataError(f"keep={keep!r}: give a list of names of latent nodes")
    if isinstance(keep, Mapping):
        plain = {n: value for n, value in keep.items() if n not in network.nodes}
        expressions = {n: Deterministic(network, n, value) for n, value in plain.items()}
        return Keep(network, tuple(keep), expressions)
    kept = network.free if keep is None else [keep] if isinstance(keep, str) else list(keep)
    return Keep(network, tuple(kept))
