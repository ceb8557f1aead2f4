"""What a network offers of the rooms above it: sampling, explaining, drawing.

These verbs are the only way up from here. Each imports its room when it is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import networkx as nx

if TYPE_CHECKING:
    from pgbn.engine.run.chain import Chain
    from pgbn.engine.run.draws import Draws
    from pgbn.engine.run.progress import Callback
    from pgbn.network.network import Network
    from pgbn.network.schedule import Schedule
    from pgbn.samplers.executor import Executor

__all__ = ["Verbs"]


class Verbs:
    """The verbs of `pgbn.Network` that other rooms carry out."""

    def generate(
        self,
        seed: int = 0,
        sizes: Mapping[str, int] | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """A draw of all nodes from the joint distribution, each given its parents.

        The nodes in ``given`` keep their values, and what depends on them follows. Nodes above a
        given one are left out: given it, they have a posterior, which is what `sample` draws.
        """
        from pgbn.engine.run.generate import generate_network

        return generate_network(self._network, seed, sizes or {}, given or {})

    def chain(
        self,
        data: Mapping[str, Any],
        seed: int = 0,
        chain: int = 0,
        init: Mapping[str, Any] | None = None,
        layer1: str = "auto",
        threads: int | None = None,
        executor: Executor | None = None,
    ) -> Chain:
        """A Markov chain at its beginning: `Chain.sweep` runs it.

        ``init`` gives latent nodes their first values, the others are drawn from the prior;
        ``chain`` tells chains with the same ``seed`` apart. ``layer1`` says how the counts of the
        first layer φ·θ are drawn, all of them exact:

        - "blocked": given φ and θ, cell by cell;
        - "partial": given φ, with θ integrated out, token by token;
        - "collapsed": with φ and θ integrated out, token by token;
        - "composed": as "blocked", by the general rules instead of kernels (slow, to compare);
        - "general": the same for the first layer alone, with kernels elsewhere;
        - "auto": "collapsed" where the network allows it, unless counts are so large that cells
          are much cheaper than tokens.

        ``threads`` changes the speed, never the result; None is PGBN_THREADS or all cores.
        ``executor`` stands for them, see `pgbn.samplers.Executor`.
        """
        from pgbn.engine.run.chain import Chain

        return Chain(self._network, data, seed, chain, init, layer1, threads, executor)

    def sample(
        self,
        data: Mapping[str, Any],
        burn_in: int = 1000,
        draws: int = 500,
        thin: int = 1,
        chains: int = 1,
        seed: int = 0,
        keep: Iterable[str] | None = None,
        progress: bool = True,
        layer1: str = "auto",
        threads: int | None = None,
        callback: Callback | None = None,
        executor: Executor | None = None,
    ) -> Draws:
        """Run chains and keep draws of the nodes in ``keep`` (all latent nodes if left out). Of
        data with missing cells, the imputed counts can be kept too.

        ``callback`` gets a `pgbn.Event` after every sweep. Ctrl-C stops after the sweep: the draws
        that were kept are returned (see `Draws.interrupted`), or `KeyboardInterrupt` is raised
        if there are none.
        """
        from pgbn.engine.run.draws import sample

        return sample(self._network, data, burn_in, draws, thin, chains, seed, keep, progress,
                      layer1, threads, callback, executor)  # fmt: skip

    def explain(self, format: str = "text") -> str:
        """The model, its augmentation, every conditional: "text", "markdown", "latex" or "html"."""
        from pgbn.explain import explain

        return explain(self._network, format)

    def augmented(self) -> nx.DiGraph:
        """The graph with the drawn counts as nodes of their own."""
        from pgbn.explain import augmented

        return augmented(self._network)

    def plot(self) -> Any:
        """The graph as SVG: a string that Jupyter shows as a picture."""
        from pgbn.plot import plot

        return plot(self._network)

    def schedule_for(self, layer1: str) -> Schedule:
        """The schedule with a sampler of the first layer (see `chain`)."""
        from pgbn.engine.first_layer.choice import schedule_for

        return schedule_for(self._network, layer1)

    @property
    def _network(self) -> Network:
        return cast("Network", self)
