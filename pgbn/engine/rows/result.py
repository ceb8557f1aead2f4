"""NewRows: what is known of new rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import PgbnError, did_you_mean

__all__ = ["NewRows"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NewRows:
    """The posterior of nodes for new rows: ``values[name]`` are its means, ``sd[name]`` the
    standard deviations, both with the dims ``dims[name]`` of the node.

    ``quantiles[name]`` has the dim "quantile" before these, ``draws[name]`` the dim "draw", if
    they were asked for. ``given`` are the nodes that were held, ``left_out`` those that only given
    ones depend on. ``result[name]``, ``name in result``, ``list(result)`` speak of the means.
    """

    values: Mapping[str, Array]
    sd: Mapping[str, Array]
    dims: Mapping[str, tuple[str, ...]]
    quantiles: Mapping[str, Array] = field(default_factory=dict)
    draws: Mapping[str, Array] = field(default_factory=dict)
    levels: tuple[float, ...] = ()
    given: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        if name not in self.values:
            raise PgbnError(f"{name!r} was not inferred.{did_you_mean(name, self.values)}")
        return self.values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __len__(self) -> int:
        return len(self.values)

    def to_xarray(self) -> Any:
        """An `xarray.Dataset` (needs the extra ``pgbn[arviz]``): the means under the names of the
        nodes, and beside them name_sd, name_quantile and name_draw."""
        try:
            import xarray
        except ImportError:
            raise PgbnError("this needs xarray: pip install 'pgbn[arviz]'") from None
        out: dict[str, Any] = {}
        for name, mean in self.values.items():
            out[name] = (self.dims[name], mean)
            out[f"{name}_sd"] = (self.dims[name], self.sd[name])
            if name in self.quantiles:
                out[f"{name}_quantile"] = (("quantile", *self.dims[name]), self.quantiles[name])
            if name in self.draws:
                out[f"{name}_draw"] = (("draw", *self.dims[name]), self.draws[name])
        coords = {"quantile": list(self.levels)} if self.levels else {}
        return xarray.Dataset(out, coords=coords, attrs=dict(self.attributes))

    def __repr__(self) -> str:
        rows = [f"  {n}{list(self.dims[n])} {v.shape}" for n, v in self.values.items()]
        given = f"  given {', '.join(self.given)}" if self.given else ""
        out = f"  left out {', '.join(self.left_out)}" if self.left_out else ""
        return "\n".join(line for line in ("NewRows", *rows, given, out) if line)
