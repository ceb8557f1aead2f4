"""New rows: the question about them, and the answer, `NewRows`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import is_integral
from pgbn.engine.data.cells import Cells
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.generate import Given
from pgbn.engine.run.shown import NamedArrays, Summary
from pgbn.errors import DataError, PgbnError, did_you_mean
from pgbn.network.layers import layers_above
from pgbn.network.network import Network
from pgbn.storage.read_limits import check_bytes

Array = NDArray[np.float64]


# ---- the question -------------------------------------------------------------------------------


class Quantity(NamedTuple):
    """The value of a node, or each row of it divided by its sum, as θ_j / θ_·j."""

    name: str
    share: bool


@dataclass(frozen=True)
class Wanted:
    """The wanted results: the names of nodes, the levels of quantiles, whether all draws, and the
    moments of ``proportions``, of ``values``, or of both."""

    names: tuple[str, ...]
    levels: tuple[float, ...] = ()
    draws: bool = False
    proportions: bool = False
    values: bool = True

    @property
    def quantities(self) -> list[Quantity]:
        """All quantities with moments."""
        kinds = [False] * self.values + [True] * self.proportions
        return [Quantity(name, share) for name in self.names for share in kinds]


def sweeps_each(burn_in: int, draws: int, given: int) -> tuple[int, int]:
    """The sweeps of the rows for each of several given draws: before their first draw, and draws.

    Each has an equal part of both, and at least 10 sweeps before its first draw, if that many were
    asked for; the counts of a row need fewer to forget their start."""
    return max(-(-burn_in // given), min(burn_in, 10)), -(-draws // given)


class GivenBlocks(Given):
    """Draws of the given nodes, each for a block of sweeps: ``settle``, then ``each`` draws of the
    rows; see `sweeps_each`."""

    def __init__(self, stacks: dict[str, NDArray[Any]], burn_in: int, draws: int) -> None:
        self.stacks = stacks
        self.count = max(map(len, stacks.values()), default=1)
        self.settle, self.each = sweeps_each(burn_in, draws, self.count)

    @property
    def draws(self) -> int:
        """The number of draws of a row, given all draws together."""
        return self.each * self.count

    def number(self, sweep: int) -> int:
        return max(sweep - 1, 0) // (self.settle + self.each)


class CountLaw(NamedTuple):
    """How a count behind a datum is drawn (`count_law`), and whether the data are integers."""

    latent: str | Callable[..., int] | None
    whole: bool


@dataclass(frozen=True)
class RowTask:
    """New rows along a ``plate`` of a `row_network`, and what is ``wanted`` of them. ``law`` is how
    kernels draw the counts behind the data; None: no kernel."""

    network: Network
    plate: str
    given: GivenBlocks
    wanted: Wanted
    seed: int
    law: CountLaw | None = None


# ---- the answer ---------------------------------------------------------------------------------


class Found(NamedTuple):
    """The moments of one node, and its quantiles and draws if they were asked for."""

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    quantiles: NDArray[np.float64] | None
    draws: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False, repr=False)
class NewRows(NamedArrays):
    """The posterior of nodes for new rows, read like a dict: ``new["theta"]`` has the posterior
    means, with the dims of the node.

    Parameters
    ----------
    means, sd
        Posterior means and standard deviations, by name.
    dims
        The dims of each of them.
    quantiles
        Quantiles at the ``levels``, if they were asked for, with the dim "quantile" first.
    draws
        All draws, if they were asked for, with the dim "draw" first.
    levels
        The levels of the quantiles.
    left_out
        Nodes that were omitted, since only given ones depend on them.
    attributes
        The settings: seed, burn_in, draws.
    network, data
        Those of the rows.
    given
        The draws of the given nodes.
    coords
        Labels along dims.
    proportions, proportions_sd
        Means and standard deviations of each row divided by its sum, as θ_j / θ_·j.
    empty
        The numbers of rows without a datum above 0: their result is the prior.

    Examples
    --------
    >>> import pgbn as pg
    >>> net = pg.zoo.pfa(2)
    >>> draws = net.sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4)
    >>> new = net.infer({"x": [[1, 1, 0], [0, 0, 0]]}, draws, burn_in=2, draws=4)
    >>> new
    NewRows
      p2[doc] (2,)
      theta1[doc, topic1] (2, 2)
      settings: seed 0, burn_in 2, draws 4
      given: phi1, r
      left out: gamma0, c0
      without data above 0: 1 rows
    >>> new["theta1"].shape
    (2, 2)
    """

    means: Mapping[str, Array]
    sd: Mapping[str, Array]
    dims: Mapping[str, tuple[str, ...]]
    quantiles: Mapping[str, Array] = field(default_factory=dict)
    draws: Mapping[str, Array] = field(default_factory=dict)
    levels: tuple[float, ...] = ()
    left_out: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    network: Network | None = None
    data: Mapping[str, Cells] = field(default_factory=dict)
    given: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    coords: Mapping[str, list[Any]] = field(default_factory=dict)
    proportions: Mapping[str, Array] = field(default_factory=dict)
    proportions_sd: Mapping[str, Array] = field(default_factory=dict)
    empty: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def layers(self) -> dict[int, str]:
        """The nodes that are the topic weights of layers, by the number of the layer, from 1 on."""
        if self.network is None:
            return {}
        found = layers_above(self.network, self.network.observed[0])
        number = {layer.scores: t for t, layer in enumerate(found, 1)}
        return {number[name]: name for name in self.dims if name in number}

    def features(self, layer: int | None = None) -> Array:
        """The mean proportions of one layer, or those of all layers side by side.

        Parameters
        ----------
        layer
            The number of a layer, from 1 on; by default all layers.

        Returns
        -------
        numpy.ndarray
            One row for each new row.

        Examples
        --------
        >>> import pgbn as pg
        >>> net = pg.zoo.pfa(2)
        >>> draws = net.sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4)
        >>> new = net.infer({"x": [[1, 1, 0]]}, draws, draws=4, proportions=True)
        >>> new.features().sum(axis=1).round(6)
        array([1.])
        """
        layers = self.layers
        if layer is not None and (not is_integral(layer) or layer not in layers):
            raise DataError(f"layer={layer!r} was not inferred; layers: {tuple(layers)}")
        chosen = layers if layer is None else (layer,)
        if not set(chosen) or not self.proportions:
            raise DataError("features: no proportions of layers were inferred (proportions=True)")
        return np.concatenate([self.proportions[layers[t]] for t in chosen], axis=1)

    def __getitem__(self, name: str) -> Array:
        if name not in self:
            raise PgbnError(f"{name!r} was not inferred.{did_you_mean(name, self.means)}")
        return self.means[name]

    @property
    def _named(self) -> Mapping[str, NDArray[np.float64]]:
        return self.means

    def to_draws(self) -> Draws:
        """The draws of the rows as `pgbn.Draws`, each with the given draw that it belongs to.

        All methods of `pgbn.Draws` then apply to the new rows. ``predict``, for example, predicts
        their data, also those of nodes without data. It needs ``keep="draws"`` in `Network.infer`.

        Examples
        --------
        >>> import pgbn as pg
        >>> net = pg.zoo.pfa(2)
        >>> draws = net.sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4)
        >>> new = net.infer({"x": [[1, 1, 0]]}, draws, draws=8, keep="draws")
        >>> new.to_draws().predict("x").shape
        (1, 8, 1, 3)
        """
        if not self.draws or self.network is None:
            raise PgbnError('to_draws: no draws were kept; infer with keep="draws"')
        count = len(next(iter(self.draws.values())))
        need = 8 * sum(count * stack[0].size for stack in self.given.values() if len(stack) > 1)
        check_bytes(f"to_draws: {count} draws of {', '.join(self.given)}", need,
                    "infer with fewer draws=, or given fewer draws")  # fmt: skip
        values = {name: np.asarray(value)[None] for name, value in self.draws.items()}
        for name, stack in self.given.items():
            many = np.broadcast_to(stack, (count, *stack.shape[1:])) if len(stack) == 1 else (
                np.repeat(stack, count // len(stack), axis=0))  # fmt: skip
            values[name] = many[None]
        axes = {name: self.network[name].axes for name in values}
        return Draws(
            values, {name: ("chain", "draw", *dims) for name, dims in axes.items()},
            {**self.attributes, "given": list(self.given)},
            network=self.network, data=self.data, coords=self.coords,
        )  # fmt: skip

    def to_xarray(self) -> Any:
        """The result as an `xarray.Dataset` (needs the extra ``pgbn[arviz]``).

        Returns
        -------
        xarray.Dataset
            The means under the names of the nodes, and also name_sd and, if they were asked for,
            name_proportions, name_quantile and name_draw.

        Examples
        --------
        >>> import pgbn as pg
        >>> net = pg.zoo.pfa(2)
        >>> draws = net.sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4)
        >>> new = net.infer({"x": [[1, 1, 0]]}, draws, draws=4, quantiles=[0.1, 0.9])
        >>> new.to_xarray()["theta1_quantile"].dims
        ('quantile', 'doc', 'topic1')
        """
        try:
            import xarray
        except ImportError:
            raise PgbnError("this needs xarray: pip install 'pgbn[arviz]'") from None
        parts = [
            (self.means, "", ()),
            (self.sd, "_sd", ()),
            (self.proportions, "_proportions", ()),
            (self.quantiles, "_quantile", ("quantile",)),
            (self.draws, "_draw", ("draw",)),
        ]
        out = {
            f"{name}{ending}": ((*first, *self.dims[name]), value)
            for arrays, ending, first in parts
            for name, value in arrays.items()
        }
        used = {dim for dims in self.dims.values() for dim in dims}
        coords = {dim: labels for dim, labels in self.coords.items() if dim in used}
        coords |= {"quantile": list(self.levels)} if self.levels else {}
        return xarray.Dataset(out, coords=coords, attrs=dict(self.attributes))

    def _summary(self) -> Summary:
        arrays = {**self.proportions, **self.means}
        return Summary(
            "NewRows",
            [(name, self.dims[name], value.shape) for name, value in arrays.items()],
            {
                "settings": ", ".join(f"{n} {v}" for n, v in self.attributes.items()),
                "given": ", ".join(self.given),
                "left out": ", ".join(self.left_out),
                "without data above 0": f"{self.empty.size} rows" if self.empty.size else "",
            },
        )
