"""Held-out perplexity of any node of counts, from chains or draws.

by="token": tokens of each row are held out, and predicted by their share of the row's rates,

    f_v = Σ_s λ^s_v / Σ_s Σ_v λ^s_v,       perplexity = exp(−Σ y_v ln f_v / y_·)

a ratio of sums over draws s (Zhou & Carin 2015, eq. 34). by="cell": cells are held out, masked
in the data of the chain, and

    perplexity = exp(−mean of ln p(x_i)),       p(x_i) = 1/S Σ_s p(x_i | λ^s)

by="row": rows are held out, and no chain has seen them. Their own latent values are integrated out
(`pgbn.evaluation.log_likelihood`). A row has V cells; dividing by V makes rows comparable to cells:

    perplexity = exp(−mean of ln p(x_j) / V),       p(x_j) = 1/S Σ_s p̂(x_j | shared nodes)

Instead of sampled values, λ^s may be the mean of the rate given the counts of the sweep, and p(x_i
| λ^s) its mean: it has the same limit and needs fewer draws (Rao–Blackwell;
docs/howto/criticism.md has figures). For cells this is exact if the rate is μ + Σ_k w_k θ_k with θ
a gamma node. Then x is the sum of a Poisson count and negative binomials, given the counts, w and
μ.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp

from pgbn.checks import check_choice, check_integer, check_seed, is_finite_number, validated
from pgbn.engine.compile.by_cell import ByCell, ConditionalMeans, averaged_nodes, mixed_gamma
from pgbn.engine.compile.products import splitter_of
from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import read_array, same_labels
from pgbn.engine.rows.new_rows import NewRows, sweeps_each
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.generate import Replay
from pgbn.errors import DataError, PgbnWarning, notify
from pgbn.evaluation.log_likelihood import row_log_likelihood
from pgbn.network.layers import Layer, layers_above
from pgbn.network.network import Network
from pgbn.nodes.base import Node, Observed
from pgbn.nodes.bernoulli_poisson import BernoulliPoisson
from pgbn.nodes.multinomial import Multinomial
from pgbn.nodes.poisson import Poisson
from pgbn.nodes.rules import find_link
from pgbn.samplers.documents.sweeps import hash_documents
from pgbn.samplers.executor import SERIAL, executor_of
from pgbn.samplers.random import mix, stream_key, word_of
from pgbn.samplers.thinning import product_rates
from pgbn.storage.read_limits import check_bytes
from pgbn.training.kept_draws import each_draw
from pgbn.training.new_rows import infer, read_new_documents
from pgbn.training.trained import TrainedNetwork, trained_network
from pgbn.zoo import layers
from pgbn.zoo.links import COUNTS, get_link

MOST = 10_000  # the largest count for which the recursion is run
_FLOOR = np.finfo(np.float64).tiny
_UNITS = ("token", "cell", "row")
_TYPES = (Poisson, Multinomial, BernoulliPoisson)
Matrix = NDArray[np.float64]


def log_negative_binomials(
    weights: Matrix, shapes: Matrix, rates: Matrix, constant: Matrix, most: int
) -> Matrix:
    """log P(x) for x = 0 … ``most``, a row for each row of ``weights`` (cells, K) and each entry of
    ``constant``, which is μ. The count is the sum of a Poisson count and of negative binomials:

        x ~ Pois(μ + Σ_k w_k θ_k),  θ_k ~ Gam(A_k, rate B_k)   ⇒   x = x_0 + Σ_k x_k,
        x_0 ~ Pois(μ),  x_k ~ NB(A_k, p_k),  p_k = w_k / (w_k + B_k)
        P(0) = e^{−μ} Π_k (1 − p_k)^{A_k}

    and, from the logarithm of the generating function,

        n P(n) = Σ_{i=1…n} (Σ_k A_k p_k^i + [i = 1] μ) P(n − i)        (Panjer's recursion).
    """
    if most > MOST:
        raise DataError(f"HeldOut: a held-out count of {most}; means=True is for up to {MOST}")
    p = weights / (weights + rates)
    out = np.empty((weights.shape[0], most + 1))
    out[:, 0] = (shapes * np.log1p(-p)).sum(axis=1) - constant
    with np.errstate(divide="ignore"):
        log_shapes, log_p = np.log(shapes), np.log(p)
        steps = np.stack([logsumexp(log_shapes + i * log_p, axis=1) for i in range(1, most + 1)],
                         axis=1) if most else np.empty((weights.shape[0], 0))  # fmt: skip
        if most:
            steps[:, 0] = np.logaddexp(steps[:, 0], np.log(constant))
        for n in range(1, most + 1):
            out[:, n] = logsumexp(steps[:, :n] + out[:, n - 1 :: -1][:, :n], axis=1) - np.log(n)
    return out


class HeldOut:
    """The perplexity of held-out data, averaged over draws.

    Add draws by `add_chain` while a chain runs, by `add_draws`, or by `add`; then ask for
    `perplexity` or `per_row`. For new documents of a trained model use `of_model`.

    Parameters
    ----------
    held_out
        With ``by="token"`` the held-out tokens, an array as the data of ``node``. With
        ``by="cell"`` a masked array in which all cells but the held-out ones are masked. With
        ``by="row"`` the data of new rows, along the first dim of the node, or a dict such as
        ``{"x": new, "author": numbers}`` if rows refer to categories by number.
    node
        The observed node, such as ``net["x"]``; by default the counts of a belief network.
    by
        What is held out: "token", "cell" or "row".
    threads
        The number of threads; the results do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> seen, held_out = pgbn.evaluation.split_tokens(np.array([[6, 4, 0], [0, 2, 8]]), 0.8)
    >>> chain = pgbn.zoo.pfa(2).chain({"x": seen})
    >>> score = pgbn.HeldOut(held_out)
    >>> for _ in range(3):
    ...     score.add_chain(chain.sweep())
    >>> score.draws, score.per_row().shape, score.perplexity() > 1
    (3, (2,), True)
    """

    def __init__(
        self,
        held_out: Any,
        node: Node | None = None,
        by: str = "token",
        threads: int | None = None,
    ) -> None:
        node = COUNTS.data_node(layers.DATA) if node is None else node
        self.node, self.by, self.executor = _check_node(node, by), by, executor_of(threads)
        self.name = node.name
        self._other_data: dict[str, Any] = {}  # the other data of new rows
        if by == "row" and isinstance(held_out, Mapping):
            if self.name not in held_out:
                raise DataError(f"HeldOut: no {self.name!r} among the data {list(held_out)}")
            self._other_data = {each: data for each, data in held_out.items() if each != self.name}
            held_out = held_out[self.name]
        link = find_link(node)
        self.slot = link.slot if link is not None else node.slots()[0]
        plain: Any = node
        named = plain.model_copy(update={"name": "held_out"})  # the name in errors
        self.cells = (
            self._masked(held_out) if by == "cell" else read_array(named, held_out, imputed=False)
        )
        if not (self.cells.rows if by == "row" else self.cells.values.size):
            raise DataError(
                "held_out has no counts: nothing is held out; give at least one token, cell or "
                "row, of terms that the model has"
            )
        self.reset()

    @classmethod
    @validated
    def of_model(
        cls,
        model: Any,
        X: Any,
        held_out: Any = None,
        *,
        fraction: float = 0.5,
        burn_in: int = 500,
        draws: int = 500,
        seed: int = 0,
        threads: int | None = None,
        train: Any = None,
    ) -> HeldOut:
        """Predict one part of each new document from the other part (document completion).

        Parameters
        ----------
        model
            A trained network, a layer-wise training or a fitted estimator.
        X, held_out, fraction, train, burn_in, draws, seed, threads
            As in `pgbn.TrainedNetwork.perplexity`. Columns beyond the vocabulary are dropped.

        Returns
        -------
        HeldOut
            The score of all held-out tokens (`perplexity`) and of each document (`per_row`).

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
        >>> X = np.array([[8, 8, 0, 0], [4, 4, 4, 4]])
        >>> one, both = pgbn.HeldOut.of_model(model, X, burn_in=20, draws=20).per_row()
        >>> bool(one < both)  # the second document has both topics
        True
        """
        return _completion(model, X, held_out, fraction, burn_in, draws, seed, threads, train)

    def reset(self) -> None:
        """Forget all draws.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> score = pgbn.HeldOut(np.array([[1, 0]]))
        >>> score.add(phi=[[0.5, 0.5]], theta=[[2.0]])
        >>> score.reset()
        >>> score.draws
        0
        """
        self.draws = 0
        self._sizes: dict[str, int] = {}
        cells = self.cells
        self._rates, self._totals = np.zeros(cells.values.size), np.zeros(cells.rows)
        self._last = self._rates, self._totals
        scores = cells.shape[0] if self.by == "row" else cells.values.size
        self._logs = np.full(scores, -np.inf)

    def __repr__(self) -> str:
        found = f", perplexity={self.perplexity():.4g}" if self.draws else ""
        return f"HeldOut(by={self.by!r}, draws={self.draws}{found})"

    def _masked(self, held_out: Any) -> Cells:
        if not isinstance(held_out, np.ma.MaskedArray):
            raise DataError(
                "HeldOut: by='cell' needs a numpy.ma.masked_array in which all cells but the "
                "held-out ones are masked"
            )
        out = ~np.ma.getmaskarray(held_out)
        values = np.ma.getdata(held_out)
        complaint = self.node.check(values[out])
        if complaint or values.ndim != len(self.node.axes):
            raise DataError(f"HeldOut: the held-out data have {complaint or values.shape}")
        flat, chosen = values.reshape(-1, values.shape[-1]), out.reshape(-1, values.shape[-1])
        rows, columns = np.nonzero(chosen)
        indptr = np.concatenate(([0], np.cumsum(chosen.sum(axis=1)))).astype(np.int64)
        return Cells(self.node.axes, values.shape, 1, indptr, columns.astype(np.int32),
                     flat[rows, columns].astype(np.int64))  # fmt: skip

    def add(self, phi: Any, theta: Any) -> None:
        """Add one draw of a first layer, for ``by="token"``.

        Parameters
        ----------
        phi
            Topics × terms; rows sum to one.
        theta
            Documents × topics.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> score = pgbn.HeldOut(np.array([[1, 0]]))
        >>> score.add(phi=[[0.25, 0.75]], theta=[[2.0]])
        >>> score.perplexity()
        4.0
        """
        phi, theta = _matrix("phi", phi), _matrix("theta", theta)
        shape, totals = self.cells.shape, theta.sum(axis=1)
        if self.by != "token" or len(shape) != 2:
            raise DataError("HeldOut: add(phi, theta) is for by='token' of a matrix")
        if phi.shape[1] != shape[1] or theta.shape != (shape[0], phi.shape[0]):
            raise DataError(
                f"phi {phi.shape} and theta {theta.shape} do not fit held-out data {shape}; "
                "give (topics, terms) and (documents, topics)"
            )
        # A NaN or an infinite number fails the comparisons too.
        if not (np.abs(phi.sum(axis=1) - 1.0) < 1e-4).all() or phi.min() < 0:
            raise DataError(
                "phi: the rows, one for each topic, must be probabilities that sum to one"
            )
        if not theta.min() >= 0 or not np.isfinite(totals).all():
            raise DataError("theta: the units of documents must be finite and at least 0")
        self._check_sizes({"topics": phi.shape[0]})
        cells = self.cells.indptr, self.cells.indices
        self._add_rates(product_rates(cells, theta, phi.T, self.executor), totals)

    def _check_sizes(self, sizes: Mapping[str, int]) -> None:
        """Reject a sample of a network of other widths."""
        if not self.draws:
            self._sizes = dict(sizes)
        if self._sizes != sizes:
            raise DataError(
                f"HeldOut: a sample of {sizes} after {self.draws} of {self._sizes}: they belong "
                "to different models (a prune in between?); call reset() first"
            )

    def _add_rates(self, rates: Matrix, totals: Matrix) -> None:
        self._last = rates, totals
        self._rates = self._rates + rates
        self._totals = self._totals + totals
        self.draws += 1

    def add_chain(self, chain: Chain, means: bool = False) -> None:
        """Add the current draw of a chain.

        Parameters
        ----------
        chain
            A chain of the same network, on the data without the held-out part.
        means
            Use the means given the counts of the sweep instead of drawn values; fewer draws are
            then needed.

        Raises
        ------
        DataError
            If the chain is of another network, or no mean has a closed form.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> chain = pgbn.zoo.pfa(2).chain({"x": np.array([[3, 1], [0, 4]])}).sweep(2)
        >>> score = pgbn.HeldOut(np.array([[1, 0], [0, 2]]))
        >>> score.add_chain(chain, means=True)
        >>> score.draws
        1
        """
        if self.by == "row":
            raise DataError("HeldOut: by='row' takes draws; give add_draws(net.sample(...))")
        if not isinstance(chain, Chain):
            raise DataError(f"chain is {type(chain).__name__}; give a Chain, or add(phi, theta)")
        other = chain.network.nodes.get(self.name)
        if type(other) is not type(self.node) or other.axes != self.node.axes:
            raise DataError(
                f"HeldOut: the chain is of another network: it has no {self.name!r} that is a "
                f"{type(self.node).__name__} with the dims {self.node.axes}"
            )
        program = chain._program
        self._check_shape(program.cells[self.name].shape)
        same_labels("HeldOut: held_out", self.cells.labels, program.cells[self.name].labels,
                    "the chain's data")  # fmt: skip
        layer = None if means or self.by == "cell" else _plain_layer(chain.network, self.name)
        if layer is not None:
            values = chain._select([layer.loadings, layer.scores])
            self.add(values[layer.loadings], values[layer.scores])
            return
        self._check_sizes(chain.network.sizes)
        if not means:
            chain._refresh(chain.network.graph.predecessors(self.name))
            self._add(program)
            return
        names = averaged_nodes(chain.network, self.name, self.slot)
        gamma = mixed_gamma(chain.network, self.name, self.slot)
        if not names or (self.by == "cell" and gamma is None):
            kind = "gamma node" if self.by == "cell" else "factor"
            raise DataError(
                f"HeldOut: no {kind} of {self.name}.{self.slot} has an exact distribution given "
                "the counts; omit means=True"
            )
        steps = {step.node: step for step in chain.network.schedule if not step.upward}
        reads = {read.name for name in names for read in steps[name].reads}
        factors = set(chain.network.graph.predecessors(self.name))
        if self.by == "cell":
            assert gamma is not None
            chain._refresh((reads | factors) & set(chain.network.latent))
            self._add_logs(self._mixture(program, gamma))
            return
        chain._refresh((reads | (factors - set(names))) & set(chain.network.latent))
        if chain._first_layer is not None:
            chain._first_layer.show()
        with ConditionalMeans(program, names).in_place():
            self._add(program)

    def add_draws(self, draws: Draws | NewRows, *, particles: int = 10, seed: int = 0) -> None:
        """Add all kept draws.

        Parameters
        ----------
        draws
            Those of `Network.sample`, or of `Network.infer` with ``keep="draws"``. With
            ``by="row"``, draws of the nodes that all rows share are enough.
        particles, seed
            As in `Draws.log_likelihood`, for ``by="row"``.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> net = pgbn.zoo.pfa(2)
        >>> X = np.array([[3, 1], [0, 4]])
        >>> draws = net.sample({"x": X}, burn_in=2, draws=3, chains=1, progress=False)
        >>> score = pgbn.HeldOut(np.array([[2, 2]]), net["x"], by="row")
        >>> score.add_draws(draws)
        >>> score.draws
        3
        """
        if isinstance(draws, NewRows):
            draws = draws.to_draws()
        if self.by == "row":
            data = {self.name: self.cells, **self._other_data}
            found = row_log_likelihood(draws, self.name, None, particles, seed, None, data)
            for logs in found.reshape(-1, found.shape[-1]):
                self._add_logs(logs)
            return
        replay = Replay(draws, self.name, "HeldOut")
        known = draws.data.get(self.name)
        own = getattr(known, "labels", {}) or draws.coords  # data of a saved run have none
        same_labels("HeldOut: held_out", self.cells.labels, own, "the draws")
        for _ in replay:
            self._add(replay.program)

    def _add(self, program: Program) -> None:
        by_cell = ByCell(program, self.name)
        self._check_shape(by_cell.shape)
        if self.by == "cell":
            self._add_logs(by_cell.log_density(self.cells))
            return
        self._add_rates(by_cell.slot(self.slot, self.cells), self._row_totals(program))

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if shape != self.cells.shape:
            raise DataError(f"HeldOut: held-out data {self.cells.shape}, but the chain has {shape}")

    def _row_totals(self, program: Program) -> Matrix:
        """Σ_v λ_v of every row."""
        *dims, last = self.node.axes
        total: Any = 0.0
        for product in program.wiring.exposures.named_sum(self.slot, self.node, (last,)):
            part = program.product(product)
            if part.value is not None:
                total = total + part.value
                continue
            order = [0, *(part.dims.index(d) + 1 for d in dims if d in part.dims)]
            shape = [1, *(program.sizes[d] if d in part.dims else 1 for d in dims)]
            total = total + part.get().transpose(order).reshape(shape)
        full = (1, *(program.sizes[d] for d in dims))
        return np.array(np.broadcast_to(total, full), np.float64).reshape(-1)

    def _mixture(self, program: Program, gamma: str) -> Matrix:
        """log p of every cell given the counts, with the gamma node integrated out."""
        parts = self._weights(program, gamma)
        if isinstance(self.node, BernoulliPoisson):
            zero = log_negative_binomials(*parts, 0)[:, 0]
            with np.errstate(divide="ignore"):
                return np.where(self.cells.values > 0, np.log(-np.expm1(zero)), zero)
        logs = log_negative_binomials(*parts, int(self.cells.values.max()))
        return np.asarray(logs[np.arange(logs.shape[0]), self.cells.values])

    def _weights(self, program: Program, gamma: str) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """w_k, A_k and B_k of every summand at every cell, three arrays (cells, K), and μ,
        (cells,)."""
        conditional = ConditionalMeans(program, [gamma])
        slots = conditional.slots(gamma)
        shape, rate = (conditional.full(gamma, slots[s]).reshape(-1) for s in ("shape", "rate"))
        rows, columns = self.cells.cell_rows(), self.cells.indices.astype(np.int64)
        found: list[tuple[Matrix, Matrix, Matrix]] = []
        known = np.zeros(rows.size)
        for part in splitter_of(program, self.node, self.slot).parts:
            factors = part.factors()
            leading = (rows.max(initial=0) // factors.lengths.prod() + 1, *factors.lengths)
            place = np.stack([*np.unravel_index(rows, leading), columns])
            weight = np.full((rows.size, factors.offsets.shape[1]), part.term.coefficient)
            of_gamma = None
            for number, factor in enumerate(part.term.factors):
                at = (factors.strides[number] @ place)[:, None] + factors.offsets[number][None, :]
                if factor.name == gamma:
                    of_gamma = at
                else:
                    weight = weight * factors.array[number][at]
            if of_gamma is None:
                known += weight.sum(axis=1)
            else:
                found.append((weight, shape[of_gamma], rate[of_gamma]))
        weights, shapes, rates = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
        return weights, shapes, rates, known

    def _add_logs(self, logs: Matrix) -> None:
        self._logs = np.logaddexp(self._logs, logs)
        self.draws += 1

    def perplexity(self) -> float:
        """The perplexity of all held-out tokens, cells or rows.

        Returns
        -------
        float
            Smaller is better.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> score = pgbn.HeldOut(np.array([[1, 1], [2, 0]]))
        >>> score.add(phi=[[0.5, 0.5]], theta=[[2.0], [1.0]])
        >>> score.perplexity()
        2.0
        """
        logs, weight = self._scores()
        return float(np.exp(-(weight * logs).sum() / weight.sum()))

    def last(self) -> float:
        """The perplexity of held-out tokens with only the last draw.

        Returns
        -------
        float
            It shows how much averaging gains.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> score = pgbn.HeldOut(np.array([[1, 0]]))
        >>> score.add(phi=[[0.25, 0.75]], theta=[[2.0]])
        >>> score.add(phi=[[0.5, 0.5]], theta=[[2.0]])
        >>> score.last()
        2.0
        """
        logs, weight = self._scores(*self._last)
        return float(np.exp(-(weight * logs).sum() / weight.sum()))

    def per_row(self) -> Matrix:
        """The perplexity of each row, or document.

        Returns
        -------
        numpy.ndarray
            NaN for a row without held-out data.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> score = pgbn.HeldOut(np.array([[1, 0], [0, 1]]))
        >>> score.add(phi=[[0.25, 0.75]], theta=[[2.0], [1.0]])
        >>> score.per_row().round(2)
        array([4.  , 1.33])
        """
        logs, weight = self._scores()
        if self.by == "row":
            return np.asarray(np.exp(-logs))
        rows, number = self.cells.cell_rows(), self.cells.rows
        with np.errstate(invalid="ignore"):
            mean = np.bincount(rows, weight * logs, number) / np.bincount(rows, weight, number)
        return np.asarray(np.exp(-mean))

    def _scores(
        self, rates: Matrix | None = None, totals: Matrix | None = None
    ) -> tuple[Matrix, Matrix]:
        """The log of each probability, and its weight in the mean."""
        if not self.draws:
            raise DataError("HeldOut: no draws yet: call add_chain(), add_draws() or add() first")
        if self.by == "row":
            logs = (self._logs - np.log(self.draws)) / prod(self.cells.shape[1:])
            return logs, np.ones(logs.size)
        if self.by == "cell":
            logs = self._logs - np.log(self.draws)
            return np.maximum(logs, np.log(_FLOOR)), np.ones(logs.size)
        rates = self._rates if rates is None else rates
        totals = np.repeat(self._totals if totals is None else totals, np.diff(self.cells.indptr))
        share = rates / np.maximum(totals, _FLOOR)
        low = int((share < _FLOOR).sum())
        if low:
            notify(f"{low} held-out cells have probability 0; they are counted as {_FLOOR:.0e}")
        return np.log(np.maximum(share, _FLOOR)), self.cells.values.astype(np.float64)


def _check_node(node: Any, by: Any) -> Observed:
    """Check that a node can be scored this way."""
    if not isinstance(node, Observed):
        raise DataError(f"HeldOut: node={node!r:.60} is not an observed node; give net['x']")
    check_choice("by", by, _UNITS)
    if not isinstance(node, _TYPES):
        kinds = ", ".join(kind.__name__ for kind in _TYPES)
        raise DataError(
            f"HeldOut: {node.name!r} is a {type(node).__name__}; only nodes of the types {kinds} "
            "have a perplexity"
        )
    if by == "token" and isinstance(node, BernoulliPoisson):
        raise DataError(f"HeldOut: {node.name!r} is binary and has no tokens; give by='cell'")
    if by == "cell" and isinstance(node, Multinomial):
        raise DataError(f"HeldOut: {node.name!r} has a given total; give by='token'")
    return node


def _plain_layer(network: Network, name: str) -> Layer | None:
    """The first layer, if it is a product of two matrices; a kernel then computes only the few
    cells that are held out."""
    layer, axes = next(iter(layers_above(network, name)), None), network[name].axes
    if layer is None or len(axes) != 2:
        return None
    scores, loadings = network[layer.scores], network[layer.loadings]
    plain = scores.axes == (axes[0], layer.dim) and loadings.axes == (layer.dim, axes[1])
    return layer if plain and loadings.simplex == axes[1] else None


def _matrix(name: str, value: Any) -> Matrix:
    """A matrix of floats; an array of floats is not copied."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of unequal length
        array = np.empty(0, object)
    masked = isinstance(value, np.ma.MaskedArray)
    if array.ndim != 2 or not array.size or array.dtype.kind not in "iuf" or masked:
        raise DataError(
            f"{name} is {type(value).__name__} of {array.ndim} dims; give a dense matrix of numbers"
        )
    return array.astype(np.float64, copy=False)


# ---- documents of which a part is seen ------------------------------------------------------


def split_tokens(X: Any, fraction: float, seed: int = 0) -> tuple[sp.csr_array, sp.csr_array]:
    """Split the tokens of every document at random into those that are seen and the rest.

    A document of N tokens keeps max(1, round(fraction · N)) of them, all choices equally likely.
    Its split depends on its counts and the seed only.

    Parameters
    ----------
    X
        Documents × terms, counts.
    fraction
        The part of the tokens of each document that is seen.
    seed
        Equal seeds give equal splits.

    Returns
    -------
    seen, held_out : scipy.sparse.csr_array
        Two matrices, which sum to X.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> seen, held_out = pgbn.evaluation.split_tokens(np.array([[6, 4], [3, 7]]), 0.8)
    >>> seen.sum(axis=1), held_out.sum(axis=1)
    (array([8, 8]), array([2, 2]))
    """
    _check_fraction(fraction)
    fraction = float(fraction)
    cells = read_array(COUNTS.data_node(), X, imputed=False)
    counts = cells.values
    total = int(counts.sum())
    check_bytes(f"X: splitting {total} tokens", 80 * total, "scale the counts down")
    tokens = np.repeat(np.arange(counts.size), counts)
    rows = np.repeat(cells.cell_rows(), counts)
    per_row = np.bincount(rows, minlength=cells.rows)
    keep = np.maximum(np.round(fraction * per_row).astype(np.int64), 1)
    hashes = np.empty(cells.rows, np.uint64)
    SERIAL.rows(hash_documents, cells.rows, 0, cells.indptr, cells.indices,
             counts.view(np.uint64), hashes)  # fmt: skip
    starts = np.concatenate(([0], np.cumsum(per_row)))
    number = np.arange(tokens.size) - starts[rows]
    key = np.uint64(stream_key(check_seed(seed), word_of("split")))
    # Random words, one for each (key, number): the mixer of `pgbn.samplers.random` on arrays.
    word = (hashes[rows] ^ key) + np.uint64(0x9E3779B97F4A7C15) * (number + 1).astype(np.uint64)
    order = np.lexsort((np.asarray(mix(mix(word))), rows))
    chosen = tokens[order[number < keep[rows]]]
    kept = np.bincount(chosen, minlength=counts.size)
    shape = (cells.rows, cells.columns)
    parts = []
    for part in (kept, counts - kept):
        matrix = sp.csr_array((part, cells.indices, cells.indptr), shape=shape, copy=True)
        matrix.eliminate_zeros()
        parts.append(matrix)
    return parts[0], parts[1]


def _check_fraction(fraction: Any) -> None:
    if not is_finite_number(fraction) or not 0.0 < fraction < 1.0:
        raise DataError(f"fraction={fraction!r:.60} must be a number between 0 and 1, e.g. 0.3")


def _completion(
    model: Any,
    X: Any,
    held_out: Any,
    fraction: float,
    burn_in: int,
    draws: int,
    seed: int,
    threads: int | None,
    train: Any,
) -> HeldOut:
    """See `HeldOut.of_model`. With Φ fixed, the ratio of sums over draws needs only the posterior
    means of θ^(1). If the model kept draws of Φ, the sums are over these too: each has its own
    chains, with its share of the sweeps (a burn-in of at least 10)."""
    model = trained_network(model)
    if not get_link(model.link).is_counts:
        raise DataError(f"perplexity is defined for counts; the link is {model.link!r}")
    _check_fraction(fraction)
    before = None if train is None else read_training_documents(model, train)
    seen: Any = read_new_documents(model, X)[0]
    if held_out is None:
        seen, rest = split_tokens(seen, fraction, seed)
        out = HeldOut(rest, threads=threads)
    else:
        known = read_new_documents(model, held_out, name="held_out")[0]
        out = HeldOut(known, threads=threads)
        if known.rows != seen.rows:
            raise DataError(
                f"held_out has {known.rows} documents, but X has {seen.rows}; give both parts of "
                "the same documents, as split_tokens does"
            )
    burn_in = check_integer("burn_in", burn_in, 0)
    draws = check_integer("draws", draws, 1)
    if before is not None:
        for sample in joint_draws(model, before, seen, burn_in, draws, seed, threads):
            out.add(*sample)
        return out
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*no known term", category=PgbnWarning)
        networks = each_draw(model)
        burn_in_each, draws_each = sweeps_each(burn_in, draws, len(networks))
        for number, network in enumerate(networks):
            found = infer(network, seen, layers=1, burn_in=burn_in_each, draws=draws_each,
                          seed=(seed + number) % 2**64, threads=threads)  # fmt: skip
            out.add(network.phi[0], found[layers.theta(1)])
    return out


# ---- completion with the training documents -----------------------------------------------------
#
#     p(held-out | training documents, seen tokens) = ∫ p(held-out | Φ, θ) p(Φ, θ | both)
#
# Documents that are completed one by one are predicted with draws of Φ given the training documents
# alone. Their own seen tokens inform Φ too. Here the chain of the training continues over both
# together (`pgbn.Chain.append`), and each sweep is one of the Gibbs sampler of both.


_APART = 5  # sweeps between draws
_CELLS = 2**18  # cells of documents × terms that are dense at a time


def read_training_documents(model: TrainedNetwork, train: Any) -> Cells:
    """Check that these are the documents of the training, and that the model has its state."""
    cells = read_array(get_link(model.link).data_node("train"), train, imputed=False)
    own = model.state.get(layers.theta(1))
    if own is None or any(name not in model.state for name in model.network.latent):
        raise DataError(
            "train: the model has no state of its chain to continue from (without_state() drops "
            "it); give a model that has one, or omit train"
        )
    expected = (len(own), model.vocabulary_size)
    if cells.shape != expected:
        raise DataError(
            f"train has the shape {cells.shape}, but the model was trained on {expected[0]} "
            f"documents of {expected[1]} terms; give exactly these documents, in their order"
        )
    if model.vocabulary is not None:
        same_labels("train", cells.labels, {cells.dims[-1]: model.vocabulary}, "the model")
    return cells


def joint_draws(
    model: TrainedNetwork,
    train: Cells,
    seen: Any,
    burn_in: int,
    draws: int,
    seed: int,
    threads: int | None,
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Φ^(1) and the new documents' θ^(1), each 5th of ``draws`` sweeps over all documents."""
    network = model.network
    name = network.observed[0]
    chain = network.chain({name: train}, seed, model.sweeps, model.state, threads=threads)
    chain = chain.append({name: seen}, sweeps=10).sweep(burn_in)
    phi, theta = layers.phi(1), layers.theta(1)
    for _ in range(-(-draws // _APART)):
        values = chain.sweep(_APART)._select([phi, theta])
        yield values[phi], values[theta][train.rows :]


def mean_log_density(model: TrainedNetwork, X: Any, units: NDArray[np.float64]) -> float:
    """1/J Σ_j Σ_v ln p(x_vj | Σ_k φ_vk θ_kj), J documents with ``units`` θ (J, K_1):
    the score of data that are not counts. Documents are made dense a block at a time.
    """
    link = get_link(model.link)
    step, total = max(1, _CELLS // model.vocabulary_size), 0.0
    for start in range(0, X.shape[0], step):
        block = X[start : start + step]
        value = np.asarray(block.toarray() if sp.issparse(block) else block, np.float64)
        rate = np.maximum(units[start : start + step] @ model.phi[0], 1e-300)
        total += float(link.log_density(value, rate, model.noise).sum())
    return total / int(X.shape[0])
