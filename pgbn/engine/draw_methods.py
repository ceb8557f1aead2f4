"""What draws and chains offer of the rooms above the engine: prediction, likelihoods, ArviZ,
explanations, reports.

These verbs are the only way up from here. Each imports its room when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pgbn.engine.run.chain import Chain
    from pgbn.engine.run.draws import Draws
    from pgbn.explain import Explanation


class ChainMethods:
    """The verbs of `pgbn.Chain` that other rooms carry out."""

    def explain(self, format: str = "text", brief: bool = False) -> Explanation:
        """The derivation of this very sampler: the first layer as this chain draws it, missing
        cells as they are imputed. See `Network.explain`."""
        from pgbn.explain import explain_chain

        return explain_chain(cast("Chain", self), format, brief)

    def append(self, data: Mapping[str, Any], rows: str | None = None, sweeps: int = 50) -> Chain:
        """A chain on the rows of this one and, after them, those of ``data``, which goes on from
        here: old values stay, and what belongs to the new rows is drawn given what all rows share,
        by ``sweeps`` sweeps over them alone. ``rows`` is the dim of the rows, the first of the data
        if left out. From then on each sweep is exact for all rows; give it some to settle."""
        from pgbn.engine.rows.append import append_rows

        return append_rows(cast("Chain", self), data, rows, sweeps)


class DrawsMethods:
    """The verbs of `pgbn.Draws` that other rooms carry out."""

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
        matrices, one for each draw; ``statistic``, a function of one replicate, gives what it
        returns, as an array (chain, draw, …). More than 1 GB of dense replicates are not made
        unless asked for by ``sparse=False``. ``sizes={"doc": 100}`` predicts 100 new rows: what has
        the dim is generated given the draws of what has not; ``indexes={"author": numbers}`` are
        the numbers of their categories. The totals of a multinomial are those of the data, where
        it has data.
        """
        from pgbn.evaluation.log_likelihood import predict

        return predict(self._draws, name, statistic=statistic, sparse=sparse, sizes=sizes,
                       indexes=indexes, seed=seed, threads=threads)  # fmt: skip

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

        Given them, to leave a row out is to leave out data that its own values have seen. How the
        integral is done, and on which side it errs: `pgbn.evaluation.row_log_likelihood`.
        ``data={"x": new}`` are rows that the draws have not seen (by row).
        """
        from pgbn.evaluation.row_likelihood import log_likelihood

        return log_likelihood(self._draws, name, by, rows=rows, particles=particles, seed=seed,
                              threads=threads, data=data)  # fmt: skip

    def log_likelihood_function(self, name: str) -> Callable[[Any, Any], Any]:
        """The log likelihood by cell as a function, for data too large for an array: give it to
        ``arviz_stats.loo_i`` or ``loo_subsample`` as ``log_lik_fn``."""
        from pgbn.evaluation.log_likelihood import log_likelihood_function

        return log_likelihood_function(self._draws, name)

    def to_xarray(self) -> Any:
        """An `xarray.Dataset` (needs the extra ``pgbn[arviz]``)."""
        from pgbn.evaluation.inference_data import draws_dataset

        return draws_dataset(self._draws)

    def to_arviz(
        self,
        predict: Iterable[str] = (),
        log_likelihood: Mapping[str, str] | Iterable[str] = (),
        seed: int = 0,
    ) -> Any:
        """The draws as ArviZ takes them (needs the extra ``pgbn[arviz]``): the groups posterior
        (or prior, prior_predictive), sample_stats and observed_data, the latter where the data are
        small. ``predict`` and ``log_likelihood`` name observed nodes for posterior_predictive and
        log_likelihood; ``log_likelihood={"x": "row"}`` is by row."""
        from pgbn.evaluation.inference_data import inference_data

        return inference_data(self._draws, predict, log_likelihood, seed)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write one self-contained HTML page: the graph of the network, tables of all nodes and of
        every node whose vectors sum to one, traces and R-hat of what does not depend on the
        numbering of units, the derivation, and the settings. Draws of a belief network also show
        its topics and documents. The options are those of `pgbn.report.report_data`, among them
        ``title``, ``coords``, ``settings``, ``texts`` and ``titles``."""
        from pgbn.report import write_report

        return write_report(self._draws, path, **options)

    @property
    def _draws(self) -> Draws:
        return cast("Draws", self)
