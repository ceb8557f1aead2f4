"""The methods of a network that other packages carry out: sampling, explaining, drawing.

The arguments are checked here, by their types; the called functions trust them. Only these methods
import packages above this one, each when it is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import networkx as nx

from pgbn.checks import Count, Flag, Replicates, Seed, Sizes, Sweeps, validated

if TYPE_CHECKING:
    from pgbn.engine.rows.new_rows import NewRows
    from pgbn.engine.run.chain import Chain
    from pgbn.engine.run.draws import Draws
    from pgbn.engine.run.progress import Callback
    from pgbn.explain import Explanation
    from pgbn.network.network import Network
    from pgbn.network.schedule import Schedule
    from pgbn.samplers.executor import Executor


class ScheduleMethods:
    """The methods of `pgbn.network.schedule.Schedule` that other packages carry out."""

    def plot(self) -> Any:
        """The freshness table as SVG: which values are current, stale, read and drawn in each step.

        It also shows orders that the check rejects."""
        from pgbn.plot import plot_schedule

        return plot_schedule(cast("Schedule", self))


class NetworkMethods:
    """The methods of `pgbn.Network` that other packages carry out."""

    @validated
    def generate(
        self,
        seed: Seed = 0,
        sizes: Sizes | None = None,
        given: Mapping[str, Any] | Draws | None = None,
    ) -> dict[str, Any]:
        """A draw of all nodes from the joint distribution, each given its parents.

        The nodes in ``given`` keep their values, and the nodes that depend on them are drawn given
        these. Nodes above a given node are omitted, since they have a posterior given it, which
        `sample` draws. ``given`` may be draws with the dims (draw, …) or (chain, draw, …). The
        returned arrays then have these dims too, with one draw of the others for each.
        """
        from pgbn.engine.run.generate import generate_network

        return generate_network(self._network, seed, sizes or {}, given)

    @validated
    def prior_predictive(
        self,
        draws: Count = 100,
        sizes: Sizes | None = None,
        seed: Seed = 0,
        threads: int | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> Draws:
        """Draws of all nodes and the data from the joint distribution: (1, draws, *dims) each.

        ``sizes`` gives the sizes of the dims that the network does not fix. In ArviZ the draws are
        the groups prior and prior_predictive."""
        from pgbn.engine.run.forecast import prior_draws

        return prior_draws(self._network, draws, sizes or {}, seed, threads, coords)

    def chain(
        self,
        data: Mapping[str, Any],
        seed: int = 0,
        chain: int = 0,
        init: Mapping[str, Any] | None = None,
        sampler: str = "auto",
        threads: int | None = None,
        executor: Executor | None = None,
        given: Mapping[str, Any] | Draws | None = None,
    ) -> Chain:
        """A Markov chain at its beginning: `Chain.sweep` runs it.

        ``init`` gives latent nodes their first values; the others are drawn from the prior.
        ``chain`` numbers the chains with the same ``seed``. ``sampler`` says how the counts of the
        first layer φ·θ are drawn. All samplers are exact:

        - "blocked": given φ and θ, cell by cell;
        - "partial": given φ, with θ integrated out, token by token;
        - "collapsed": with φ and θ integrated out, token by token;
        - "composed": as "blocked", by the general rules instead of kernels (slow, to compare);
        - "general": the same for the first layer alone, with kernels elsewhere;
        - "auto": "collapsed" if the network allows it, unless counts are so large that cells
          are much cheaper than tokens.

        ``threads`` changes the speed, never the result; None is PGBN_THREADS or all cores.
        ``executor`` runs the work instead of threads, see `pgbn.samplers.Executor`.

        ``given`` fixes latent nodes at values, as if they were data: ``{"phi": topics}``. The chain
        is that of `with_given`: it draws the others from their posterior given these values, which
        have no step. An array with the dims (draw, …) or (chain, draw, …), as `Draws` has them,
        contains n draws, which are used one after another: sweep s uses number (s − 1) mod n. The
        target of the other nodes then changes in every sweep; `infer` runs several sweeps for each.
        """
        from pgbn.engine.run.chain import Chain

        return Chain._of_data(
            self._network, data, seed, chain, init, sampler, threads, executor, given
        )

    def sample(
        self,
        data: Mapping[str, Any],
        burn_in: int = 1000,
        draws: int = 500,
        thin: int = 1,
        chains: int = 1,
        seed: int = 0,
        keep: Iterable[str] | Mapping[str, Any] | None = None,
        progress: bool = True,
        sampler: str = "auto",
        threads: int | None = None,
        callback: Callback | None = None,
        executor: Executor | None = None,
        given: Mapping[str, Any] | Draws | None = None,
        coords: Mapping[str, Any] | None = None,
        parallel: int = 1,
        save: str | Path | None = None,
        minutes: float | None = 5.0,
        engine: str = "fast",
    ) -> Draws:
        """Run chains and keep draws of the nodes in ``keep``.

        By default all latent nodes that are not given are kept. ``keep`` may also name data with
        missing cells, whose imputed counts are kept, and expressions:
        ``keep={"theta": theta, "rate": phi @ theta}``. ``coords`` are labels along dims,
        ``{"term": words}``, in addition to those of data frames and xarray.

        ``given`` fixes latent nodes at values, or at draws one after another, see `chain`.

        ``parallel`` chains run at the same time and share the ``threads``. With ``save`` the run is
        kept in a folder: every ``minutes`` each chain writes its state and its new draws, which
        then need no memory. `pgbn.resume` continues after a stop of any kind. The draws are
        bit-identical with all these options.

        ``callback`` receives a `pgbn.Event` after every sweep. Ctrl-C stops after the sweep: the
        draws that were kept are returned (see `Draws.interrupted`), or `KeyboardInterrupt` is
        raised if there are none. With ``save`` it is always raised, and says how to continue.
        SIGTERM and SIGHUP do the same.

        ``engine="reference"`` draws from the same law in plain numpy (`pgbn.reference`), for small
        data and without numba. It shows no progress, and its random numbers are different.
        ``save``, ``executor``, ``threads``, ``parallel``, ``callback`` and ``sampler`` are rejected
        with it.
        """
        if engine != "fast":
            from pgbn.reference_run import check_engine, sample_reference

            check_engine(engine, save=save, executor=executor, threads=threads,
                         parallel=None if parallel == 1 else parallel, callback=callback,
                         sampler=None if sampler == "auto" else sampler)  # fmt: skip
            return sample_reference(
                self._network, data, burn_in, draws, thin, chains, seed, keep, given, coords
            )
        from pgbn.engine.run.sampling import sample

        return sample(
            self._network, data, burn_in, draws, thin, chains, seed, keep, progress, sampler,
            threads, callback, executor, given, coords, parallel, save, minutes,
        )  # fmt: skip

    @validated
    def infer(
        self,
        data: Mapping[str, Any],
        given: Mapping[str, Any] | Draws,
        rows: str | None = None,
        burn_in: Sweeps = 200,
        draws: Count = 200,
        seed: Seed = 0,
        nodes: Iterable[str] | None = None,
        quantiles: Iterable[float] = (),
        keep: str = "moments",
        threads: int | None = None,
        executor: Executor | None = None,
        kernels: Flag = True,
        proportions: Flag = False,
    ) -> NewRows:
        """The posterior of all nodes of new rows, given the nodes that all rows share.

        ``rows`` is the dim of the rows, called the plate: by default the first dim of the first
        data node.

        ``given`` has the values of the nodes without the plate: posterior means, one draw, or many
        draws (a dict of arrays, or `Draws`). Many draws carry their uncertainty into the result.
        Each of n draws serves for its share of the ``draws``, after ``burn_in`` sweeps given the
        first and burn_in / n given each further one. Nodes that matter only through given nodes are
        omitted. An observed node without ``data`` is omitted too, and `NewRows.to_draws` predicts
        it. Values in ``given`` of nodes with the plate belong to other rows, and are not read.

        The rows must be independent given the rest; other networks are rejected with the reason. A
        row draws from streams keyed by the seed and its own data. Its result is bit-identical
        alone, in any batch, in any order and on any number of threads. Rows are run in batches of
        bounded memory, and sparse data stay sparse.

        The result has means and standard deviations of ``nodes`` (by default all with the plate),
        ``quantiles`` of these levels, and with ``keep="draws"`` all draws. With ``proportions`` it
        also has the moments of each row divided by its sum, θ_j / θ_·j.

        Special kernels compute moments of layers (``nodes=["theta"]``) in a chain of gamma layers
        above Dirichlet loadings. ``kernels=False`` uses the general rules instead, to compare.
        """
        from pgbn.engine.rows.infer import infer_rows

        return infer_rows(self._network, data, given, rows, burn_in, draws, seed, nodes,
                          quantiles, keep, threads, executor, kernels, proportions)  # fmt: skip

    @validated
    def forecast(self, draws: Mapping[str, Any] | Draws, steps: Count, seed: Seed = 0) -> Draws:
        """The next ``steps`` rows of a network in time, one future for each posterior draw:
        θ_{T+1} given θ_T, and so on, with the data that follow from them.

        ``draws`` (`Draws`, or a dict of arrays with the dims of draws) have the nodes in time, and
        the nodes without time that these depend on. The future begins at the last row of the nodes
        in time. A node with the dim of time but no recursion, such as a separate rate for each
        step, is drawn from its prior. The result has ``steps`` rows of all nodes with that dim and
        of the data.
        """
        from pgbn.engine.run.forecast import forecast_network

        return forecast_network(self._network, draws, steps, seed)

    def explain(
        self, format: str = "text", sampler: str = "auto", brief: bool = False
    ) -> Explanation:
        """The model, its augmentation, every conditional: "text", "markdown", "latex" or "html".

        ``sampler`` is the sampler of the first layer that is explained, as in `chain`; "auto" is
        the one that a chain uses for ordinary counts (`Chain.explain` looks at the data). ``brief``
        gives the model and the sweep alone, without proofs. Notebooks show the formulas.
        """
        from pgbn.explain import explain

        return explain(self._network, format, sampler, brief)

    def augmented(self) -> nx.DiGraph:
        """The graph with the drawn counts as separate nodes."""
        from pgbn.explain import augmented

        return augmented(self._network)

    def plot(self) -> Any:
        """The graph as SVG: a string that Jupyter shows as a picture."""
        from pgbn.plot import plot

        return plot(self._network)

    @validated
    def animate(
        self,
        data: Mapping[str, Any],
        order: Iterable[str] | None = None,
        seed: Seed = 0,
        sweeps: Replicates = 300,
    ) -> Any:
        """One sweep on tiny ``data`` as a page with a slider.

        It shows what is sent up and down, what is stale, and every equation with its numbers.
        ``order`` is a second order of the steps, which is not checked, to compare."""
        from pgbn.plot import animate

        return animate(self._network, data, order, seed, sweeps)

    def schedule_for(self, sampler: str) -> Schedule:
        """The schedule with a sampler of the first layer (see `chain`)."""
        from pgbn.engine.first_layer.choice import schedule_for

        return schedule_for(self._network, sampler)

    @property
    def _network(self) -> Network:
        return cast("Network", self)
