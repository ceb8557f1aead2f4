"""Document completion: held-out perplexity of new documents, of which a part is seen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import check_integer, check_seed, is_finite_number
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import read_array, same_labels
from pgbn.errors import DataError, PgbnWarning
from pgbn.evaluation.held_out import HeldOut
from pgbn.samplers.documents.sweeps import hash_documents
from pgbn.samplers.executor import SERIAL
from pgbn.samplers.random import mix, stream_key, word_of
from pgbn.storage.read_limits import check_bytes
from pgbn.training.kept_draws import each_draw, sweeps_each
from pgbn.training.new_rows import infer, read_new_documents
from pgbn.training.trained import TrainedNetwork, trained_network
from pgbn.zoo import layers
from pgbn.zoo.links import COUNTS, get_link

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
        raise DataError(f"fraction={fraction!r} must lie between 0 and 1, e.g. 0.3")


def completion_perplexity(
    model: TrainedNetwork,
    X: Any,
    held_out: Any | None = None,
    *,
    fraction: float = 0.5,
    burn_in: int = 500,
    draws: int = 500,
    seed: int = 0,
    threads: int | None = None,
    train: Any | None = None,
) -> HeldOut:
    """Document completion: θ from one part of each new document, perplexity of the other part.

    Without ``held_out``, ``fraction`` of the tokens of X are seen and the rest is held out. In
    both, columns beyond the vocabulary are dropped. With Φ fixed, the ratio of sums over draws
    needs only the posterior means of θ^(1). If the model kept draws of Φ (``keep_draws`` of
    training), the sums are over these too: each has its own chains, with its share of the sweeps (a
    burn-in of at least 10).

    With ``train``, the documents that the model was trained on, Φ learns from the seen tokens too:
    the chain of the training continues over both together for ``burn_in`` sweeps, and every fifth
    of ``draws`` more sweeps is a sample. This is the prediction of a joint run that starts where
    training ended.
    """
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
            raise DataError(f"held_out has {known.rows} documents, but X has {seen.rows}")
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
