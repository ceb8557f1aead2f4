"""The methods of a network that other packages carry out: sampling, explaining, drawing.

The arguments are checked here, by their types; the called functions trust them. Only these methods
import packages above this one, each when it is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import networkx as nx

from pgbn.checks import Count, Flag, Place, Replicates, Seed, Sizes, Sweeps, validated

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
        from pgbn.plot.schedule import plot_schedule

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
        """Draw all nodes from the joint distribution, each given its parents.

        Parameters
        ----------
        seed
            An integer from 0 to 2^64 - 1.
        sizes
            The sizes of dims that the network does not fix, such as ``{"doc": 100}``.
        given
            Values of some nodes. The nodes that depend on them are drawn given these. Nodes above a
            given node are omitted, since they have a posterior given it, which `sample` draws.
            Draws with the dims (draw, …) or (chain, draw, …) are allowed. The returned arrays then
            have these dims too, with one draw of the others for each.

        Returns
        -------
        dict
            One array for each node, with the dims of the node.

        Examples
        --------
        >>> import pgbn as pg
        >>> theta = pg.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
        >>> phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
        >>> net = pg.Network(pg.Poisson("x", phi @ theta, dims=("doc", "term")))
        >>> new = net.generate(seed=1, sizes={"doc": 4, "term": 5, "topic": 3})
        >>> new["x"].shape, new["phi"].shape
        ((4, 5), (3, 5))
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
        """Draw all nodes and the data many times from the joint distribution.

        Parameters
        ----------
        draws
            The number of draws.
        sizes
            The sizes of dims that the network does not fix.
        seed, threads
            As in `sample`.
        coords
            Labels along dims: ``{"term": words}``.

        Returns
        -------
        Draws
            Arrays (1, draws, *dims). `Draws.to_arviz` makes them the groups prior and
            prior_predictive.

        Examples
        --------
        >>> import pgbn as pg
        >>> theta = pg.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
        >>> phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
        >>> net = pg.Network(pg.Poisson("x", phi @ theta, dims=("doc", "term")))
        >>> prior = net.prior_predictive(10, sizes={"doc": 4, "term": 5, "topic": 3})
        >>> prior["x"].shape
        (1, 10, 4, 5)
        """
        from pgbn.engine.run.forecast import prior_draws

        return prior_draws(self._network, draws, sizes or {}, seed, threads, coords)

    @validated
    def chain(
        self,
        data: Mapping[str, Any],
        seed: Seed = 0,
        chain: Seed = 0,
        start: Mapping[str, Any] | Draws | str | None = None,
        sampler: str = "auto",
        threads: int | None = None,
        executor: Executor | None = None,
        given: Mapping[str, Any] | Draws | None = None,
    ) -> Chain:
        """A Markov chain before its first sweep; `Chain.sweep` runs it.

        Parameters
        ----------
        data
            The data of each observed node, by name: ``{"x": X}``. Arrays, sparse matrices, data
            frames, xarray and masked arrays (for missing cells) are allowed.
        seed, chain
            Chains with the same ``seed`` and another number ``chain`` are independent.
        start
            First values of some latent nodes, by name, or draws, whose last one is taken. The
            other nodes are drawn from the prior. "estimate" begins from a point estimate of the
            chain's own, see `estimate`.
        sampler
            How the counts of the first layer φ·θ are drawn. All samplers are exact:

            - "blocked": given φ and θ, cell by cell;
            - "partial": given φ, with θ integrated out, token by token;
            - "collapsed": with φ and θ integrated out, token by token;
            - "composed": as "blocked", by the general rules instead of kernels (slow, to compare);
            - "general": the same for the first layer alone, with kernels elsewhere;
            - "auto": "collapsed" if the network allows it, unless counts are so large that cells
              are much cheaper than tokens.
        threads
            The number of threads, by default PGBN_THREADS or all cores. It changes the speed, never
            the result.
        executor
            Runs the work instead of threads: `pgbn.Disk`, `pgbn.Ray`.
        given
            Values of latent nodes, which are then fixed as if they were data:
            ``{"phi": topics}``. The chain is that of `with_given`. An array with the dims
            (draw, …) or (chain, draw, …), as in `Draws`, contains n draws. They are used one after
            another: sweep s uses number (s − 1) mod n.

        Returns
        -------
        Chain
            The chain, after 0 sweeps.

        Examples
        --------
        >>> import pgbn as pg
        >>> net = pg.zoo.pfa(3)
        >>> data = {"x": [[2, 0, 1], [0, 3, 1]]}
        >>> chain = net.chain(data, seed=1).sweep(5)
        >>> chain.sweeps, chain.values["theta1"].shape
        (5, (2, 3))
        """
        from pgbn.engine.run.chain import Chain

        return Chain._of_data(
            self._network, data, seed, chain, start, sampler, threads, executor, given
        )

    @validated
    def estimate(
        self,
        data: Mapping[str, Any],
        method: str = "expectation",
        sweeps: Count = 500,
        tolerance: float = 1e-5,
        draws: Sweeps = 0,
        seed: Seed = 0,
        start: Mapping[str, Any] | Draws | None = None,
        given: Mapping[str, Any] | Draws | None = None,
        coords: Mapping[str, Any] | None = None,
        threads: int | None = None,
    ) -> Draws:
        """A point estimate, in a fraction of the time of a chain.

        The sweeps are those of the Gibbs sampler with every draw replaced by its expectation.
        With given shapes and concentrations this is the EM algorithm, and the log posterior
        density never falls. With latent shapes it is a heuristic.
        Use it for topics in seconds, and to start chains: ``sample(..., start=point)``.

        Parameters
        ----------
        data : mapping
            Arrays by the names of observed nodes, as in `sample`.
        method : {"expectation", "variational"}
            "variational" shares counts out by geometric means. This is mean-field variational
            Bayes, which also gives the spread of the posterior.
        sweeps : int
            The largest number of sweeps.
        tolerance : float
            Stop when the objective changes by less than this share of itself in ten sweeps.
        draws : int
            With ``method="variational"``, this number of draws from the approximate posterior is
            returned in place of its means.
        seed : int
            Random values to begin from.
        start : mapping or Draws, optional
            Values of some latent nodes to begin from, by name; the last draw of draws.
        given : mapping or Draws, optional
            Fixed values of latent nodes, as in `sample`.
        coords : mapping, optional
            Labels along dims, as in `sample`.
        threads : int, optional
            Threads for sparse data. The result does not depend on them.

        Returns
        -------
        Draws
            One chain of one draw: the estimate. ``attributes`` has ``converged``, the
            ``log_likelihood`` at the beginning of every sweep, and the ``objective`` at that of
            every tenth. ``drawn`` lists nodes without an expectation, which were drawn.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn as pg
        >>> X = np.random.default_rng(0).poisson(1.0, (20, 10))
        >>> point = pg.zoo.pfa(3).estimate({"x": X}, sweeps=50)
        >>> point["phi1"].shape
        (1, 1, 3, 10)
        """
        from pgbn.estimate import check_estimate, estimate

        check_estimate(method, tolerance, draws)
        return estimate(self._network, data, method, sweeps, tolerance, draws, seed, start, given,
                        coords, threads)  # fmt: skip

    @validated
    def sample(
        self,
        data: Mapping[str, Any],
        burn_in: Sweeps = 1000,
        draws: Count = 500,
        thin: Count = 1,
        chains: Count = 1,
        seed: Seed = 0,
        keep: Iterable[str] | Mapping[str, Any] | None = None,
        progress: bool = True,
        sampler: str = "auto",
        threads: int | None = None,
        callback: Callback | None = None,
        executor: Executor | None = None,
        given: Mapping[str, Any] | Draws | None = None,
        coords: Mapping[str, Any] | None = None,
        parallel: Count = 1,
        save: Place | None = None,
        minutes: float | None = 5.0,
        engine: str = "fast",
        start: Mapping[str, Any] | Draws | str | None = None,
    ) -> Draws:
        """Run chains and keep draws of latent nodes.

        The draws are bit-identical for any ``threads``, ``executor``, ``parallel`` and ``save``.
        Ctrl-C stops after the current sweep. The draws that were kept are returned (see
        `Draws.interrupted`), or `KeyboardInterrupt` is raised if there are none. With ``save`` it
        is always raised, and says how to continue. SIGTERM and SIGHUP do the same.

        Parameters
        ----------
        data
            The data of each observed node, by name, as in `chain`.
        burn_in
            Sweeps before the first draw.
        draws
            Draws that are kept of each chain.
        thin
            Sweeps for each draw.
        chains, seed
            The number of chains, and the seed that they share.
        keep
            Names of nodes; by default all latent nodes that are not given. Data with missing cells
            may be named too: their imputed counts are kept. So may expressions, in a dict:
            ``keep={"theta": theta, "rate": phi @ theta}``.
        progress
            Show a line with the progress, in a terminal or notebook.
        sampler, threads, executor, given
            As in `chain`.
        callback
            A function that receives a `pgbn.Event` after every sweep.
        coords
            Labels along dims, ``{"term": words}``, in addition to those of data frames and xarray.
        parallel
            Chains that run at the same time. They share the ``threads``.
        save
            A folder for the run. Every ``minutes`` each chain writes its state and its new draws,
            which then need no memory. `pgbn.resume` continues after a stop of any kind.
        minutes
            The time between two saves.
        engine
            "fast", or "reference": the same law in plain numpy (`pgbn.reference`), for small data
            and without numba. Its random numbers are different, it shows no progress, and it
            rejects ``save``, ``executor``, ``threads``, ``parallel``, ``callback`` and ``sampler``.
        start
            Where the chains begin: first values of some latent nodes, by name; draws, whose last
            one is taken; or "estimate", a point estimate for each chain from its own seed. By
            default they begin at draws from the prior.

        Returns
        -------
        Draws
            Arrays with the dims (chain, draw, *dims), by name.

        Examples
        --------
        >>> import pgbn as pg
        >>> net = pg.zoo.pfa(3)
        >>> data = {"x": [[2, 0, 1], [0, 3, 1]]}
        >>> draws = net.sample(data, burn_in=5, draws=10, chains=2)
        >>> draws["theta1"].shape
        (2, 10, 2, 3)
        >>> again = net.sample(data, 5, 10, keep=["theta1"], given={"phi1": draws.mean("phi1")})
        >>> list(again)
        ['theta1']
        """
        if engine != "fast":
            from pgbn.reference_run import check_engine, sample_reference

            check_engine(engine, start=start, save=save, executor=executor, threads=threads,
                         parallel=None if parallel == 1 else parallel, callback=callback,
                         sampler=None if sampler == "auto" else sampler)  # fmt: skip
            return sample_reference(
                self._network, data, burn_in, draws, thin, chains, seed, keep, given, coords
            )
        from pgbn.engine.run.sampling import sample

        return sample(
            self._network, data, burn_in, draws, thin, chains, seed, keep, progress, sampler,
            threads, callback, executor, given, coords, parallel, save, minutes, start,
        )  # fmt: skip

    @validated
    def time_samplers(
        self,
        data: Mapping[str, Any],
        *,
        burn_in: Sweeps = 20,
        sweeps: Count = 5,
        threads: int | None = None,
    ) -> dict[str, float]:
        """Measure a sweep with each sampler of the first layer that the network has.

        ``sampler="auto"`` depends on the sizes of the data and never uses a clock, since the same
        seed must give the same chain everywhere. If time matters more, choose by hand:
        ``net.chain(data, sampler=…)``.

        Parameters
        ----------
        data
            As in `chain`.
        burn_in
            Sweeps that are not measured.
        sweeps
            Sweeps that are measured.
        threads
            As in `chain`.

        Returns
        -------
        dict
            The seconds of the quickest sweep, by sampler, the quickest sampler first.

        Examples
        --------
        >>> import pgbn as pg
        >>> seconds = pg.zoo.pfa(3).time_samplers({"x": [[2, 0, 1]]}, burn_in=1, sweeps=1)
        >>> sorted(seconds)
        ['blocked', 'collapsed', 'partial']
        """
        from pgbn.engine.run.sampling import time_samplers

        return time_samplers(self._network, data, burn_in, sweeps, threads)

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
        proportions: Flag = False,
    ) -> NewRows:
        """The posterior of all nodes of new rows, given the nodes that all rows share.

        The rows must be independent given the rest; other networks are rejected with the reason. A
        row draws from streams keyed by the seed and its own data. Its result is bit-identical
        alone, in any batch, in any order and on any number of threads. Rows are run in batches of
        bounded memory, and sparse data stay sparse.

        Parameters
        ----------
        data
            The data of the new rows, by name, as in `chain`. An observed node without data is
            omitted, and `NewRows.to_draws` predicts it.
        given
            Values of the nodes without the dim of the rows: posterior means, one draw, or many
            draws (a dict of arrays, or `Draws`). Many draws carry their uncertainty into the
            result. Values of nodes with the dim belong to other rows, and are ignored.
        rows
            The dim of the rows, called the plate: by default the first dim of the first data node.
        burn_in, draws
            Sweeps before the first draw, and draws of each row. Each of n given draws serves for
            draws / n of them, after burn_in / n sweeps, but at least 10 if ``burn_in`` has as many.
        seed, threads, executor
            As in `chain`.
        nodes
            Names of nodes of the rows; by default all. Nodes that matter only through given nodes
            are omitted.
        quantiles
            Levels from 0 to 1, such as ``(0.05, 0.95)``.
        keep
            "moments" for means and standard deviations; "draws" keeps all draws too.
        proportions
            Also the moments of each row divided by its sum, θ_j / θ_·j.

        Returns
        -------
        NewRows
            Means, standard deviations, and what else was asked for.

        Examples
        --------
        >>> import pgbn as pg
        >>> net = pg.zoo.pfa(3)
        >>> draws = net.sample({"x": [[2, 0, 1], [0, 3, 1]]}, 5, 10)
        >>> new = net.infer({"x": [[1, 1, 0]]}, given=draws, burn_in=5, draws=10)
        >>> new["theta1"].shape, new.sd["theta1"].shape
        ((1, 3), (1, 3))
        """
        from pgbn.engine.rows.infer import infer_rows

        return infer_rows(self._network, data, given, rows, burn_in, draws, seed, nodes,
                          quantiles, keep, threads, executor, proportions)  # fmt: skip

    @validated
    def forecast(self, draws: Mapping[str, Any] | Draws, steps: Count, seed: Seed = 0) -> Draws:
        """Draw the next rows of a network in time, one future for each posterior draw.

        θ_{T+1} is drawn given θ_T, and so on, and the data given these. The future begins at the
        last row of the nodes in time. A node with the dim of time but without a recursion, such as
        a separate rate for each step, is drawn from its prior.

        Parameters
        ----------
        draws
            `Draws`, or a dict of arrays with the dims of draws. They contain the nodes in time and
            the nodes without time that these depend on.
        steps
            The number of future rows.
        seed
            As in `generate`.

        Returns
        -------
        Draws
            ``steps`` rows of all nodes with the dim of time, and of the data.

        Examples
        --------
        >>> import pgbn as pg
        >>> net = pg.zoo.pgds(2)
        >>> X = net.generate(1, sizes={"time": 6, "term": 4})["x"]
        >>> future = net.forecast(net.sample({"x": X}, 5, 10), steps=3)
        >>> future["x"].shape
        (1, 10, 3, 4)
        """
        from pgbn.engine.run.forecast import forecast_network

        return forecast_network(self._network, draws, steps, seed)

    def prune(
        self,
        state: Mapping[str, Any],
        dim: str,
        keep: Any,
        rescale: str | Iterable[str] = (),
    ) -> tuple[dict[str, Any], Any]:
        """The state of a chain without some entries of a dim, for a narrower network.

        Every node with the dim loses the other entries. A vector of proportions along it is
        normalised again.

        Parameters
        ----------
        state : dict
            The values of latent nodes by name, as in ``chain.values``.
        dim : str
            The dim that gets smaller.
        keep : list of bool or int
            True for the entries that stay, or their indices.
        rescale : str or list of str
            Nodes that are multiplied by K_new / K_old: γ0 ← γ0 · K_new / K_old preserves the mass
            γ0 / K of every remaining factor.

        Returns
        -------
        state : dict
            The new state.
        index : numpy.ndarray
            The old index of each entry that is left.

        Examples
        --------
        >>> net = pgbn.zoo.pfa(3)
        >>> chain = net.chain({"x": np.ones((4, 5), int)}, seed=0).sweep(2)
        >>> state, index = net.prune(chain.values, "topic1", [True, False, True])
        >>> state["theta1"].shape, index.tolist()
        ((4, 2), [0, 2])
        >>> again = pgbn.zoo.pfa(2).chain({"x": np.ones((4, 5), int)}, start=state)
        """
        from pgbn.training.surgery import prune

        return prune(cast("Network", self), state, dim, keep, rescale)

    def grow(
        self,
        state: Mapping[str, Any],
        values: Mapping[str, Any],
        sizes: Mapping[str, int] | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The state of this network from that of a smaller one.

        Nodes that the smaller network has at a smaller size keep their old entries in the first
        places. A vector of proportions is normalised again.

        Parameters
        ----------
        state : dict
            The values of the smaller network by name, as in ``chain.values``.
        values : dict
            Values of the new nodes, and of new entries. A number stands for an array filled with
            it. A chain draws the nodes that are in neither from the prior.
        sizes : dict, optional
            Sizes of dims that the network does not fix, such as ``{"doc": 100}``.

        Returns
        -------
        state : dict
            The new state.
        places : dict
            For each dim that grew, the new index of each old entry.

        Examples
        --------
        >>> chain = pgbn.zoo.pfa(2).chain({"x": np.ones((4, 5), int)}, seed=0).sweep(2)
        >>> larger = {"theta1": 0.1, "phi1": 0.2, "r": 0.1}
        >>> state, places = pgbn.zoo.pfa(3).grow(chain.values, larger)
        >>> state["theta1"].shape, places["topic1"].tolist()
        ((4, 3), [0, 1])
        """
        from pgbn.training.surgery import grow

        return grow(cast("Network", self), state, values, sizes)

    @validated
    def explain(
        self, format: str = "text", sampler: str = "auto", brief: bool = False
    ) -> Explanation:
        """The model, its augmentation, and every conditional, as formulas.

        Parameters
        ----------
        format : str
            "text", "markdown", "latex" or "html".
        sampler : str
            The sampler of the first layer that is explained, as in `chain`. "auto" is the one that
            a chain uses for ordinary counts; `pgbn.Chain.explain` looks at the data.
        brief : bool
            Whether to give the model and the sweep alone, without proofs.

        Returns
        -------
        Explanation
            A string, which a notebook shows as formulas.

        Examples
        --------
        >>> theta = pgbn.Gamma("theta", 2, 3, dims="doc")
        >>> network = pgbn.Network(pgbn.Poisson("x", theta, dims="doc"))
        >>> "(θⱼ | -) ∼ Gam(2 + xⱼ, 3 + 1)" in network.explain()
        True
        """
        from pgbn.explain import explain

        return explain(self._network, format, sampler, brief)

    def augmented(self) -> nx.DiGraph:
        """The graph with the drawn counts as separate nodes.

        Returns
        -------
        networkx.DiGraph
            A new graph; see `pgbn.explain.augmented`.

        Examples
        --------
        >>> list(pgbn.zoo.pfa(2).augmented())[-3:]
        ['split(x)', 'crt(theta1)', 'crt(r)']
        """
        from pgbn.explain import augmented

        return augmented(self._network)

    def plot(self) -> Any:
        """The graph as a picture.

        Returns
        -------
        Picture
            SVG, which a notebook shows; ``str(picture)`` is its text.

        Examples
        --------
        >>> "<svg" in str(pgbn.zoo.pfa(2).plot())
        True
        """
        from pgbn.plot.picture import plot

        return plot(self._network)

    @validated
    def animate(
        self,
        data: Mapping[str, Any],
        order: Iterable[str] | None = None,
        seed: Seed = 0,
        sweeps: Replicates = 300,
    ) -> Any:
        """One sweep on tiny data, as a page with a slider.

        It shows what is sent up and down, what is stale, and every equation with its numbers.

        Parameters
        ----------
        data : dict
            The data by node, as in `chain`.
        order : list of str, optional
            A second order of the steps to compare with. It is not checked.
        seed : int
            The seed.
        sweeps : int
            The sweeps over which the two orders are compared.

        Returns
        -------
        Animation
            A notebook shows it.

        Examples
        --------
        >>> page = pgbn.zoo.pfa(2).animate({"x": [[2, 0, 1], [0, 3, 1]]}, sweeps=2)
        """
        from pgbn.plot.animate import animate

        return animate(self._network, data, order, seed, sweeps)

    def schedule_for(self, sampler: str) -> Schedule:
        """The schedule with a sampler of the first layer.

        Parameters
        ----------
        sampler : str
            The sampler, as in `chain`.

        Returns
        -------
        Schedule
            The steps of a sweep; `print` shows them.

        Examples
        --------
        >>> schedule = pgbn.zoo.pfa(2).schedule_for("collapsed")
        >>> len(schedule.steps) > 0
        True
        """
        from pgbn.engine.first_layer.choice import schedule_for

        return schedule_for(self._network, sampler)

    @property
    def _network(self) -> Network:
        return cast("Network", self)
