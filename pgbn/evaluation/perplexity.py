"""Held-out perplexity.

    f_vj = Σ_s Σ_k φ^s_vk θ^s_kj / Σ_s Σ_k θ^s_kj,      perplexity = exp(−Σ_vj y_vj ln f_vj / y_··)

over posterior samples s, y the held-out counts: a ratio of sums over samples, not a mean of ratios
(Zhou & Carin 2015, eq. 34). Only the cells with y_vj > 0 are ever computed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import check_integer, check_seed, is_finite_number
from pgbn.engine.data.cells import read_array
from pgbn.engine.data.coords import same_labels
from pgbn.engine.data.nonzero import Cells
from pgbn.engine.run.chain import Chain
from pgbn.errors import DataError, PgbnWarning, notify
from pgbn.samplers.documents.sweeps import hash_documents
from pgbn.samplers.executor import SERIAL, Executor, executor_of
from pgbn.samplers.random import mix, stream_key, word_of
from pgbn.samplers.thinning import product_rates
from pgbn.storage.read_limits import check_bytes
from pgbn.training.kept_draws import each_draw, sweeps_each
from pgbn.training.new_rows import infer, read_new_documents
from pgbn.training.trained import TrainedNetwork, trained_network
from pgbn.zoo import layers
from pgbn.zoo.links import COUNTS, get_link

# ---- joint --------------------------------------------------------------------------------------
#
# Samples of Φ and θ that have seen the training documents and the seen tokens of new ones.
#
#     p(held-out | training documents, seen tokens) = ∫ p(held-out | Φ, θ) p(Φ, θ | both)
#
# Documents that are completed one by one are predicted given draws of Φ that know the training
# documents alone. Their own seen tokens tell of Φ too: here the chain of the training goes on over
# both together (`pgbn.Chain.append`), and each of its sweeps is one of the Gibbs sampler of both.


_APART = 5  # sweeps between samples
Sample = tuple[NDArray[np.float64], NDArray[np.float64]]


def read_training_documents(model: TrainedNetwork, train: Any) -> Cells:
    """The documents that the model was trained on, of which it knows the state."""
    cells = read_array(get_link(model.link).data_node("train"), train, imputed=False)
    own = model.state.get(layers.theta(1))
    if own is None or any(name not in model.state for name in model.network().latent):
        raise DataError(
            "train: the model has no state of its chain to go on from (without_state() drops it); "
            "give a model that has one, or leave train out"
        )
    expected = (len(own), model.vocabulary_size)
    if cells.shape != expected:
        raise DataError(
            f"train has the shape {cells.shape}, but the model was trained on {expected[0]} "
            f"documents of {expected[1]} terms; give these very documents, in their order"
        )
    if model.vocabulary is not None:
        same_labels("train", cells.labels, {cells.dims[-1]: model.vocabulary}, "the model")
    return cells


def joint_samples(
    model: TrainedNetwork,
    train: Cells,
    seen: Any,
    burn_in: int,
    samples: int,
    seed: int,
    executor: Executor,
) -> Iterator[Sample]:
    """Φ^(1) and the new documents' θ^(1), each 5th of ``samples`` sweeps over all documents."""
    network = model.network()
    name = network.observed[0]
    chain = network.chain({name: train}, seed, model.sweeps, model.state, executor=executor)
    chain = chain.append({name: seen}, sweeps=10).sweep(burn_in)
    phi, theta = layers.phi(1), layers.theta(1)
    for _ in range(-(-samples // _APART)):
        values = chain.sweep(_APART).select([phi, theta])
        yield values[phi], values[theta][train.rows :]


# ---- perplexity ---------------------------------------------------------------------------------


_FLOOR = np.finfo(np.float64).tiny


def split_tokens(X: Any, fraction: float, seed: int = 0) -> tuple[sp.csr_array, sp.csr_array]:
    """Split the tokens of every document at random: (``fraction`` of them, the rest).

    A document of N tokens keeps max(1, round(fraction · N)) of them, all choices equally likely.
    The split of a document depends on its counts and the seed only.
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
    order = np.lexsort((_scramble(hashes[rows] ^ key, number), rows))
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
        raise DataError(f"fraction={fraction!r} must lie between 0 and 1, e.g. 0.3")


def _scramble(key: NDArray[np.uint64], number: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Random words, one for each (key, number): the mixer of `pgbn.samplers.random` on arrays."""
    word = key + np.uint64(0x9E3779B97F4A7C15) * (number.astype(np.uint64) + np.uint64(1))
    return np.asarray(mix(mix(word)))


class HeldOutPerplexity:
    """An accumulator over samples: `add` during training, then read `perplexity`.

    Samples from before and after a prune belong to different models: call `reset` in between.
    """

    def __init__(self, held_out: Any, threads: int | None = None) -> None:
        cells = read_array(COUNTS.data_node("held_out"), held_out, imputed=False)
        self.indptr, self.indices, self.counts = cells.indptr, cells.indices, cells.values
        self.shape, self.executor = (cells.rows, cells.columns), executor_of(threads)
        self._labels = cells.labels
        if not self.counts.size:
            raise DataError(
                "held_out has no counts; give documents with terms that the model knows, and hold "
                "out at least one token"
            )
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.samples, self._topics = 0, 0
        self._rates = np.zeros(self.counts.size)
        self._totals = np.zeros(self.shape[0])
        self._last_rates = np.zeros(self.counts.size)
        self._last_totals = np.zeros(self.shape[0])

    def add(self, phi: NDArray[np.float64], theta: NDArray[np.float64]) -> None:
        """One sample: ``phi`` (K, V), rows sum to one, and ``theta`` (documents, K)."""
        phi, theta = _matrix("phi", phi), _matrix("theta", theta)
        if phi.shape[1] != self.shape[1] or theta.shape != (self.shape[0], phi.shape[0]):
            raise DataError(
                f"phi {phi.shape} and theta {theta.shape} do not fit held-out data {self.shape}; "
                "give (topics, terms) and (documents, topics)"
            )
        if self.samples and phi.shape[0] != self._topics:
            raise DataError(
                f"a sample of {phi.shape[0]} topics after {self.samples} of {self._topics}: they "
                "belong to different models (a prune in between?); call reset() first"
            )
        totals = theta.sum(axis=1)
        _check_sample(phi, theta, totals)
        self._topics = phi.shape[0]
        self._last_rates = product_rates((self.indptr, self.indices), theta, phi.T, self.executor)
        self._last_totals = totals
        self._rates += self._last_rates
        self._totals += self._last_totals
        self.samples += 1

    def add_chain(
        self, chain: Chain, phi: str = layers.phi(1), theta: str = layers.theta(1)
    ) -> None:
        """The current sample of a chain; ``phi`` and ``theta`` are the names of its nodes."""
        if not isinstance(chain, Chain):
            raise DataError(
                f"chain is {type(chain).__name__}; give a Chain, or arrays to add(phi, theta)"
            )
        latent = chain.network.latent
        for argument, name in (("phi", phi), ("theta", theta)):
            if not isinstance(name, str) or name not in latent:
                raise DataError(
                    f"{argument}={name!r:.60}: the chain has no such latent node, but "
                    f"{', '.join(latent)}; name its topics × terms and documents × topics, such as "
                    'add_chain(chain, phi="phi", theta="theta")'
                )
        for cells in chain.program.cells.values():
            if cells.shape == self.shape:
                same_labels("held_out", self._labels, cells.labels, "the chain's data")
        values = chain.select([phi, theta])
        self.add(values[phi], values[theta])

    def perplexity(self) -> float:
        """With all samples."""
        return self._per_token(self._rates, self._totals)

    def last(self) -> float:
        """With the last sample alone."""
        return self._per_token(self._last_rates, self._last_totals)

    def per_document(self) -> NDArray[np.float64]:
        """The perplexity of each document; NaN where nothing is held out."""
        logs = self.counts * self._logs(self._rates, self._totals)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        tokens = np.bincount(rows, self.counts, self.shape[0])
        sums = np.bincount(rows, logs, self.shape[0])
        with np.errstate(invalid="ignore"):
            return np.asarray(np.exp(-sums / tokens))

    def _per_token(self, rates: NDArray[np.float64], totals: NDArray[np.float64]) -> float:
        return float(np.exp(-(self.counts * self._logs(rates, totals)).sum() / self.counts.sum()))

    def _logs(self, rates: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self.samples:
            raise DataError("no samples yet: call add() or add_chain() first")
        share = rates / np.maximum(np.repeat(totals, np.diff(self.indptr)), _FLOOR)
        low = int((share < _FLOOR).sum())
        if low:
            notify(f"{low} held-out cells have probability 0; they are counted as {_FLOOR:.0e}")
        return np.asarray(np.log(np.maximum(share, _FLOOR)))


def _matrix(name: str, value: Any) -> NDArray[np.float64]:
    """A matrix of floats; one that is such already is not copied."""
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


def _check_sample(
    phi: NDArray[np.float64], theta: NDArray[np.float64], totals: NDArray[np.float64]
) -> None:
    """A NaN or an infinite number fails the comparisons too."""
    if not (np.abs(phi.sum(axis=1) - 1.0) < 1e-4).all() or phi.min() < 0:
        raise DataError("phi: the rows, one for each topic, must be probabilities that sum to one")
    if not theta.min() >= 0 or not np.isfinite(totals).all():
        raise DataError("theta: the units of documents must be finite and at least 0")


def completion_perplexity(
    model: TrainedNetwork,
    X: Any,
    held_out: Any | None = None,
    *,
    fraction: float = 0.5,
    burn_in: int = 500,
    samples: int = 500,
    seed: int = 0,
    threads: int | None = None,
    train: Any | None = None,
) -> HeldOutPerplexity:
    """Document completion: θ from one part of each new document, perplexity of the other part.

    Without ``held_out``, ``fraction`` of the tokens of X are seen and the rest is held out. In
    both, columns beyond the vocabulary are dropped. With Φ fixed, the ratio of sums over samples
    needs only the posterior means of θ^(1). Where the model kept draws of Φ (``keep_draws`` of
    training), the sums are over these too: each has chains of its own, with its share of the sweeps
    (a burn-in of 10 at least).

    With ``train``, the documents that the model was trained on, Φ learns from the seen tokens too:
    the chain of the training goes on over both together for ``burn_in`` sweeps, and every fifth of
    ``samples`` more is a sample. That is the prediction of a joint run, begun where training ended.
    """
    model = trained_network(model)
    if not get_link(model.link).is_counts:
        raise DataError(f"perplexity is defined for counts; the link is {model.link!r}")
    _check_fraction(fraction)
    before = None if train is None else read_training_documents(model, train)
    seen: Any = read_new_documents(model, X)[0]
    if held_out is None:
        seen, rest = split_tokens(seen, fraction, seed)
        out = HeldOutPerplexity(rest, threads)
    else:
        out = HeldOutPerplexity(read_new_documents(model, held_out, name="held_out")[0], threads)
        if out.shape[0] != seen.rows:
            raise DataError(f"held_out has {out.shape[0]} documents, but X has {seen.rows}")
    burn_in = check_integer("burn_in", burn_in, 0)
    samples = check_integer("samples", samples, 1)
    if before is not None:
        executor = executor_of(threads)
        for sample in joint_samples(model, before, seen, burn_in, samples, seed, executor):
            out.add(*sample)
        return out
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*no known term", category=PgbnWarning)
        networks = each_draw(model)
        burn_in_each, samples_each = sweeps_each(burn_in, samples, len(networks))
        for number, network in enumerate(networks):
            found = infer(network, seen, layers=1, burn_in=burn_in_each, samples=samples_each,
                          seed=(seed + number) % 2**64, threads=threads)  # fmt: skip
            out.add(network.phi[0], found.units[1])
    return out


# ---- document density ---------------------------------------------------------------------------
#
# The density of documents given their hidden units: the score of data that are not counts.


_CELLS = 2**18  # cells of documents × terms that are dense at a time


def mean_log_density(model: TrainedNetwork, X: Any, units: NDArray[np.float64]) -> float:
    """1/J Σ_j Σ_v ln p(x_vj | Σ_k φ_vk θ_kj), J documents with ``units`` θ (J, K_1).

    Documents are made dense a block at a time.
    """
    link = get_link(model.link)
    step, total = max(1, _CELLS // model.vocabulary_size), 0.0
    for start in range(0, X.shape[0], step):
        block = X[start : start + step]
        value = np.asarray(block.toarray() if sp.issparse(block) else block, np.float64)
        rate = np.maximum(units[start : start + step] @ model.phi[0], 1e-300)
        total += float(link.log_density(value, rate, model.noise).sum())
    return total / int(X.shape[0])
