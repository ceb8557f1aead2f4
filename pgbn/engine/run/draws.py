"""Draws of latent nodes, with named dims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.data.cells import Cells
from pgbn.engine.run.chain import Chain
from pgbn.errors import PgbnError, did_you_mean
from pgbn.storage import folders

if TYPE_CHECKING:
    from pgbn.network.network import Network


@dataclass(frozen=True)
class Draws:
    """Posterior draws: ``values[name]`` has the dims ("chain", "draw", *dims of the node).

    ``draws[name]`` is the same; ``name in draws``, ``list(draws)`` and ``len(draws)`` refer to the
    names, as in a dict.

    ``interrupted``: Ctrl-C came before the end. ``values`` then has the draws that were kept: those
    of the first chain so far, or of all complete chains. The draws of the chain that was not
    finished are in ``unfinished``. ``chain`` is its current state; ``chain.sweep(n)`` continues.

    ``network`` and ``data`` are those of the run, for prediction and criticism; ``coords`` are the
    labels along dims, from data frames, xarray or ``coords=``. ``given`` are the values of given
    nodes, with the dims ("draw", *dims of the node): one, or one after another.
    """

    values: dict[str, NDArray[np.float64]]
    dims: dict[str, tuple[str, ...]]
    attributes: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    unfinished: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    chain: Chain | None = None
    network: Network | None = None
    data: Mapping[str, Cells] = field(default_factory=dict)
    coords: Mapping[str, list[Any]] = field(default_factory=dict)
    given: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the dims of draws and data."""
        found: dict[str, int] = {}
        for cells in self.data.values():
            found |= zip(cells.dims, cells.shape, strict=True)
        for name, dims in self.dims.items():
            found |= zip(dims[2:], self.values[name].shape[2:], strict=True)
        return found

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self:
            raise PgbnError(f"no draws of {name!r} were kept.{did_you_mean(name, self.values)}")
        return self.values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.values

    def __len__(self) -> int:
        return len(self.values)

    def given_value(self, name: str) -> NDArray[Any]:
        """The value of a given node. If it changed from sweep to sweep, the value of each draw:
        (chain, draw, *dims)."""
        if not isinstance(name, str) or name not in self.given:
            raise PgbnError(f"{name!r} has no given value.{did_you_mean(name, self.given)}")
        stack = self.given[name]
        if len(stack) == 1:
            return np.asarray(stack[0])
        before, thin = self.attributes["burn_in"], self.attributes["thin"]
        chains, count = next(iter(self.values.values())).shape[:2]
        rows = stack[(before + thin * np.arange(1, count + 1) - 1) % len(stack)]
        return np.broadcast_to(rows, (chains, *rows.shape))

    def mean(self, name: str) -> NDArray[np.float64]:
        """The posterior mean of a node."""
        return np.asarray(self[name].mean(axis=(0, 1)))

    def predict(
        self,
        name: str,
        *,
        statistic: Callable[[Any], Any] | None = None,
        sparse: bool | None = None,
        sizes: Mapping[str, int] | None = None,
        indexes: Mapping[str, Any] | None = None,
        seed: int = 0,
        threads: int | None = None,
    ) -> Any:
        """Posterior predictive: x_rep ~ p(x | θ^s), a replicate of the data for every draw.

        An array (chain, draw, *dims); ``sparse=True`` gives a list, for each chain, of sparse
        matrices, one for each draw; ``statistic`` is a function of one replicate; its results are
        an array (chain, draw, …). More than 1 GB of dense replicates are not made unless asked for
        by ``sparse=False``. ``sizes={"doc": 100}`` predicts 100 new rows: nodes with the dim are
        generated given the draws of the nodes without it. ``indexes={"author": numbers}`` are the
        numbers of their categories. The totals of a multinomial are those of the data, if it has
        data.
        """
        from pgbn.evaluation.log_likelihood import predict

        return predict(self, name, statistic, sparse, sizes, indexes, seed, threads)

    def log_likelihood(
        self,
        name: str,
        by: str = "cell",
        *,
        rows: str | None = None,
        particles: int = 10,
        seed: int = 0,
        threads: int | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> NDArray[np.float64]:
        """log p(x_i | θ^s) for every draw and every cell of the data or, ``by="row"``, every row,
        with the latent values of the row integrated out.

        Given its latent values, omitting a row would omit data that these values have seen. The
        integral is done by importance sampling, with M = ``particles`` proposals: the cost grows
        with the square of M, and the error falls with M. The estimate of p is unbiased, that of log
        p too low on average. ``rows`` is the dim of the rows, the first of the node if it is
        missing; if several observed nodes have it, their data together are the row. Rows must be
        independent given the rest, and all latent nodes kept. ``data={"x": new}`` are rows that the
        draws have not seen (by row); draws of the nodes without rows are enough then.
        """
        from pgbn.evaluation.log_likelihood import log_likelihood

        return log_likelihood(self, name, by, rows, particles, seed, threads, data)

    def log_likelihood_function(self, name: str) -> Callable[[Any, Any], Any]:
        """The log likelihood by cell as a function, for data too large for an array: give it to
        ``arviz_stats.loo_i`` or ``loo_subsample`` as ``log_lik_fn``."""
        from pgbn.evaluation.log_likelihood import log_likelihood_function

        return log_likelihood_function(self, name)

    def to_xarray(self) -> Any:
        """An `xarray.Dataset` (needs the extra ``pgbn[arviz]``)."""
        from pgbn.evaluation.inference_data import draws_dataset

        return draws_dataset(self)

    def to_arviz(
        self,
        predict: Iterable[str] = (),
        log_likelihood: Mapping[str, str] | Iterable[str] = (),
        seed: int = 0,
    ) -> Any:
        """The draws as ArviZ takes them (needs the extra ``pgbn[arviz]``): the groups posterior
        (or prior, prior_predictive), sample_stats and observed_data, the latter if the data are
        small. ``predict`` and ``log_likelihood`` name observed nodes for posterior_predictive and
        log_likelihood; ``log_likelihood={"x": "row"}`` is by row."""
        from pgbn.evaluation.inference_data import inference_data

        return inference_data(self, predict, log_likelihood, seed)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write one self-contained HTML page. It has the graph of the network, tables of all nodes
        and of every node whose vectors sum to one, the derivation, and the settings. Traces and
        R-hat are those of numbers that do not depend on the order of units. Draws of a belief
        network also show its topics and documents. The options are those of
        `pgbn.report.report_data`, among them ``title``, ``coords``, ``settings``, ``texts`` and
        ``names``."""
        from pgbn.report import write_report

        return write_report(self, path, **options)

    def save(self, path: str | Path) -> None:
        """Write the draws to a folder; `pgbn.load` gives them back, each node when it is asked
        for."""
        folders.save(self, path)

    def __repr__(self) -> str:
        shapes = getattr(self.values, "shapes", None)  # of draws in a folder: reads no values
        shapes = shapes or {name: value.shape for name, value in self.values.items()}
        rows = [f"  {name}{list(self.dims[name])} {shape}" for name, shape in shapes.items()]
        return "\n".join(["Draws (interrupted)" if self.interrupted else "Draws", *rows])
