"""Draws of latent nodes, with named dims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import validated
from pgbn.engine.data.cells import Cells
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.shown import NamedArrays, Summary
from pgbn.errors import PgbnError, did_you_mean, missing_attribute
from pgbn.storage import folders

if TYPE_CHECKING:
    from pgbn.network.network import Network


# What other packages call a method.
_METHODS = {
    **dict.fromkeys(("posterior", "to_inferencedata", "to_inference_data"), "draws.to_arviz()"),
    "summary": "arviz.summary(draws.to_arviz())",
    "plot_trace": "arviz.plot_trace(draws.to_arviz())",
    "posterior_predictive": "draws.predict(name)",
    **dict.fromkeys(("samples", "get_samples", "get_values"), "draws[name]"),
    **dict.fromkeys(("std", "sd"), "draws[name].std(axis=(0, 1))"),
}


@dataclass(frozen=True, eq=False, repr=False)
class Draws(NamedArrays):
    """Posterior draws by name, read like a dict: ``draws["theta"]`` is an array with the dims
    ("chain", "draw", *dims of the node).

    Parameters
    ----------
    arrays
        The draws, by name. `Network.sample` makes them; `pgbn.load` reads each from its folder when
        it is asked for.
    dims
        The dims of each array, by name.
    attributes
        The settings of the run: seed, burn_in, thin, sampler.
    interrupted
        Whether Ctrl-C came before the end. The draws are then those of the first chain so far, or
        of all complete chains.
    unfinished
        The draws of the chain that was interrupted, if others were complete.
    chain
        That chain in its current state; ``chain.sweep(n)`` continues.
    network, data
        Those of the run, for prediction and criticism.
    coords
        Labels along dims, from data frames, xarray or ``coords=``.
    given
        Values of given nodes, with the dims ("draw", *dims of the node): one, or one after another.

    Examples
    --------
    >>> import pgbn as pg
    >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4, keep=["r", "theta1"])
    >>> draws
    Draws: 1 chain × 4 draws
      r[topic1] (2,)
      theta1[doc, topic1] (2, 2)
      settings: seed 0, burn_in 1, thin 1, sampler collapsed
    >>> draws["theta1"].shape
    (1, 4, 2, 2)
    >>> "phi1" in draws, len(draws), list(draws)
    (False, 2, ['r', 'theta1'])
    """

    arrays: Mapping[str, NDArray[np.float64]]
    dims: dict[str, tuple[str, ...]]
    attributes: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    unfinished: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    chain: Chain | None = None
    network: Network | None = None
    data: Mapping[str, Cells] = field(default_factory=dict)
    coords: Mapping[str, list[Any]] = field(default_factory=dict)
    given: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    if not TYPE_CHECKING:  # it would hide unknown attributes from type checkers

        def __getattr__(self, name: str) -> Any:
            """No attribute: an error that says how draws of that name are read."""
            node = f"; write draws[{name!r}]" if name in self.__dict__.get("arrays", ()) else ""
            raise missing_attribute(self, name, _METHODS, node)

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the dims of draws and data."""
        found: dict[str, int] = {}
        for cells in self.data.values():
            found |= zip(cells.dims, cells.shape, strict=True)
        for name, dims in self.dims.items():
            found |= zip(dims[2:], self._shapes[name][2:], strict=True)
        return found

    @property
    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shapes of the arrays; those of arrays in a folder are known without reading them."""
        known = getattr(self.arrays, "shapes", None)
        return known or {name: value.shape for name, value in self.arrays.items()}

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self:
            raise PgbnError(f"no draws of {name!r} were kept.{did_you_mean(name, self.arrays)}")
        return self.arrays[name]

    @property
    def _named(self) -> Mapping[str, NDArray[np.float64]]:
        return self.arrays

    def given_value(self, name: str) -> NDArray[Any]:
        """The value of a given node.

        Parameters
        ----------
        name
            The name of the node.

        Returns
        -------
        numpy.ndarray
            The value with the dims of the node. If it changed from sweep to sweep, the value of
            each draw: (chain, draw, *dims).

        Examples
        --------
        >>> import pgbn as pg
        >>> phi = [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]
        >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1]]}, 1, 4, given={"phi1": phi})
        >>> draws.given_value("phi1").shape
        (2, 3)
        """
        if not isinstance(name, str) or name not in self.given:
            raise PgbnError(f"{name!r} has no given value.{did_you_mean(name, self.given)}")
        stack = self.given[name]
        if len(stack) == 1:
            return np.asarray(stack[0])
        before, thin = self.attributes["burn_in"], self.attributes["thin"]
        chains, count = next(iter(self._shapes.values()))[:2]
        rows = stack[(before + thin * np.arange(1, count + 1) - 1) % len(stack)]
        return np.broadcast_to(rows, (chains, *rows.shape))

    def mean(self, name: str) -> NDArray[np.float64]:
        """The posterior mean of a node, over all chains and draws.

        Parameters
        ----------
        name
            The name of the node.

        Examples
        --------
        >>> import pgbn as pg
        >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4)
        >>> draws.mean("phi1").sum(axis=1).round(6)
        array([1., 1.])
        """
        return np.asarray(self[name].mean(axis=(0, 1)))

    @validated
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
        """Draw from the posterior predictive, x_rep ~ p(x | θ^s): new data for every draw.

        The totals of a multinomial are those of the data, if it has data.

        Parameters
        ----------
        name
            An observed node.
        statistic
            A function of one replicate of the data. Its results are returned, not the replicates.
        sparse
            True for sparse matrices. More than 1 GB of dense replicates are made only if it is
            False.
        sizes
            New sizes of dims: ``{"doc": 100}`` predicts 100 new rows. Nodes with the dim are then
            generated given the draws of the nodes without it.
        indexes
            The numbers of the categories of new rows: ``{"author": [0, 2]}``.
        seed, threads
            As in `Network.sample`.

        Returns
        -------
        numpy.ndarray or list
            An array (chain, draw, *dims), or (chain, draw, …) of a statistic. With ``sparse=True``
            a list of sparse matrices for each chain, one for each draw.

        Examples
        --------
        >>> import pgbn as pg
        >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4)
        >>> draws.predict("x").shape
        (1, 4, 2, 3)
        >>> draws.predict("x", statistic=lambda x: x.max()).shape
        (1, 4)
        """
        from pgbn.evaluation.log_likelihood import predict

        return predict(self, name, statistic, sparse, sizes, indexes, seed, threads)

    @validated
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
        """The log density of each part of the data, log p(x_i | θ^s), for every draw.

        A row is scored with its own latent values integrated out, since these have seen its data.
        The integral is computed by importance sampling. The estimate of p is unbiased; that of
        log p is too low on average. Rows must be independent given the rest, and all latent nodes
        must have been kept.

        Parameters
        ----------
        name
            An observed node.
        by
            "cell" or "row".
        rows
            The dim of the rows; by default the first of the node. If several observed nodes have
            it, their data together are the row.
        particles
            Proposals of the importance sampling. The time grows with their square, and the error
            falls with their number.
        seed, threads
            As in `Network.sample`.
        data
            Rows that the draws have not seen, ``{"x": new}``, for ``by="row"``. Draws of the nodes
            without the dim of the rows are enough then.

        Returns
        -------
        numpy.ndarray
            (chain, draw, *dims) by cell, (chain, draw, rows) by row.

        Examples
        --------
        >>> import pgbn as pg
        >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4)
        >>> draws.log_likelihood("x").shape, draws.log_likelihood("x", by="row").shape
        ((1, 4, 2, 3), (1, 4, 2))
        """
        from pgbn.evaluation.log_likelihood import log_likelihood

        return log_likelihood(self, name, by, rows, particles, seed, threads, data)

    def log_likelihood_function(self, name: str) -> Callable[[Any, Any], Any]:
        """The log likelihood by cell as a function, for data that are too large for an array.

        ``arviz_stats.loo_i`` and ``loo_subsample`` take it as ``log_lik_fn``.

        Parameters
        ----------
        name
            An observed node.

        Examples
        --------
        >>> import pgbn as pg
        >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4)
        >>> callable(draws.log_likelihood_function("x"))
        True
        """
        from pgbn.evaluation.log_likelihood import log_likelihood_function

        return log_likelihood_function(self, name)

    def to_xarray(self) -> Any:
        """The draws as an `xarray.Dataset` (needs the extra ``pgbn[arviz]``).

        Examples
        --------
        >>> import pgbn as pg
        >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4)
        >>> draws.to_xarray()["theta1"].dims
        ('chain', 'draw', 'doc', 'topic1')
        """
        from pgbn.evaluation.inference_data import draws_dataset

        return draws_dataset(self)

    @validated
    def to_arviz(
        self,
        predict: Iterable[str] = (),
        log_likelihood: Mapping[str, str] | Iterable[str] = (),
        seed: int = 0,
    ) -> Any:
        """The draws as ArviZ takes them (needs the extra ``pgbn[arviz]``).

        Parameters
        ----------
        predict
            Observed nodes for the group posterior_predictive.
        log_likelihood
            Observed nodes for the group log_likelihood; ``{"x": "row"}`` is by row.
        seed
            As in `predict`.

        Returns
        -------
        xarray.DataTree
            The groups posterior (or prior and prior_predictive), sample_stats and, if the data are
            small, observed_data.

        Examples
        --------
        >>> import pgbn as pg
        >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4)
        >>> sorted(draws.to_arviz())
        ['observed_data', 'posterior', 'sample_stats']
        """
        from pgbn.evaluation.inference_data import inference_data

        return inference_data(self, predict, log_likelihood, seed)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write one self-contained HTML page about the draws.

        It has the graph of the network, tables of all nodes and of every node whose vectors sum to
        one, the derivation, and the settings. Traces and R-hat are those of numbers that do not
        depend on the order of topics. Draws of a belief network also show its topics and documents.

        Parameters
        ----------
        path
            The file.
        **options
            Those of `pgbn.report.report_data`, among them ``title``, ``names``, ``texts`` and
            ``settings``.

        Returns
        -------
        pathlib.Path
            The file.

        Examples
        --------
        >>> import pgbn as pg
        >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4)
        >>> import tempfile, pathlib
        >>> draws.report(pathlib.Path(tempfile.mkdtemp()) / "page.html").name
        'page.html'
        """
        from pgbn.report import write_report

        return write_report(self, path, **options)

    @validated
    def save(self, path: str | Path) -> None:
        """Write the draws to a folder.

        Parameters
        ----------
        path
            The folder. `pgbn.load` gives the draws back, and reads each array when it is asked for.

        Examples
        --------
        >>> import tempfile
        >>> import pgbn as pg
        >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1], [0, 3, 1]]}, 1, 4)
        >>> folder = tempfile.mkdtemp()
        >>> draws.save(folder)
        >>> bool((pg.load(folder)["r"] == draws["r"]).all())
        True
        """
        folders.save(self, path)

    def _summary(self) -> Summary:
        chains, draws = next(iter(self._shapes.values()), (0, 0))[:2]
        number = (
            f"{chains} chain{'' if chains == 1 else 's'} × {draws} draw{'' if draws == 1 else 's'}"
        )
        arrays = [(n, self.dims[n][2:], shape[2:]) for n, shape in self._shapes.items()]
        shown = {n: v for n, v in self.attributes.items() if not isinstance(v, (list, dict))}
        return Summary(
            f"Draws: {number}{' (interrupted)' if self.interrupted else ''}",
            arrays,
            {
                "settings": ", ".join(f"{name} {value}" for name, value in shown.items()),
                "given": ", ".join(self.given),
            },
        )
