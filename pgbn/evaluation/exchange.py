"""Topics for other packages: networkx, pyLDAvis, AnnData. None of them is imported here."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.checks import term_names
from pgbn.engine.data.reading import read_array
from pgbn.errors import DataError, did_you_mean, notify
from pgbn.evaluation.topic_words import topic_terms
from pgbn.storage.corpus import Corpus
from pgbn.training.new_rows import infer
from pgbn.training.trained import trained_network
from pgbn.zoo import layers
from pgbn.zoo.links import REALS


def to_pyldavis(model: Any, X: Any, layer: int = 1, **sampling: Any) -> dict[str, Any]:
    """See `pgbn.TrainedNetwork.to_pyldavis`; ``sampling`` is for `infer`."""
    model = trained_network(model)
    cells = read_array(REALS.data_node(), X, imputed=False)
    parts = (cells.values, cells.indices, cells.indptr)
    counts = sp.csr_array(parts, shape=(cells.rows, cells.columns))
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    some = np.flatnonzero(lengths > 0)
    if not some.size:
        raise DataError("X has no counts; give the documents of the model")
    shares = infer(model, counts[some], layers=layer, units=False, **sampling).features(layer)
    return {
        "topic_term_dists": topic_terms(model, layer),
        "doc_topic_dists": shares / shares.sum(axis=1, keepdims=True),
        "doc_lengths": lengths[some],
        "vocab": list(term_names(model.vocabulary, model.vocabulary_size)),
        "term_frequency": np.asarray(counts.sum(axis=0)).ravel(),
    }


def from_anndata(data: Any, layer: str | None = None) -> Corpus:
    """Read the raw counts of an AnnData as a corpus of cells × genes.

    Parameters
    ----------
    data
        An ``anndata.AnnData``.
    layer
        The name of the layer with the raw counts; by default they are in X.

    Returns
    -------
    Corpus
        Genes are its terms, and cells its documents, by name.

    Raises
    ------
    DataError
        If the numbers are not counts.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> from types import SimpleNamespace
    >>> cells = SimpleNamespace(  # anndata.AnnData has these parts
    ...     X=np.array([[3, 0], [1, 4]]), layers={}, obs_names=["cell1", "cell2"],
    ...     var_names=["geneA", "geneB"])
    >>> pgbn.evaluation.from_anndata(cells).vocabulary
    ['geneA', 'geneB']
    """
    for part in ("X", "layers", "obs_names", "var_names"):
        if not hasattr(data, part):
            raise DataError(f"data is {type(data).__name__}; give an AnnData")
    if layer is not None and layer not in data.layers:
        raise DataError(f"layer={layer!r}: there is none.{did_you_mean(layer, list(data.layers))}")
    values = data.X if layer is None else data.layers[layer]
    counts = sp.csr_array(values)
    if (counts.data < 0).any() or (counts.data != np.floor(counts.data)).any():
        where = "X" if layer is None else f"layers[{layer!r}]"
        raise DataError(
            f"{where} holds numbers that are not counts (normalised, or their logarithms?); give "
            "the layer of raw counts: from_anndata(data, layer='counts')"
        )
    names = [str(name) for name in data.var_names]
    return Corpus(counts.astype(np.int64), names, [str(name) for name in data.obs_names])


def to_anndata(model: Any, data: Any, layer: str | None = None, **sampling: Any) -> Any:
    """See `pgbn.TrainedNetwork.to_anndata`; ``sampling`` is for `infer`."""
    model = trained_network(model)
    corpus = from_anndata(data, layer)
    genes, names = list(corpus.vocabulary or ()), model.vocabulary
    if names is not None and not set(genes) & set(names):
        raise DataError(
            f"data: none of its genes ({', '.join(genes[:3])}, …) is a term of the model "
            f"({', '.join(names[:3])}, …)"
        )
    if names is None and len(genes) != model.vocabulary_size:
        raise DataError(
            f"data has {len(genes)} genes, but the model {model.vocabulary_size} terms without "
            "names; fit it to a data frame whose columns are genes"
        )
    there = set(genes)
    missing = [name for name in names or () if name not in there]
    if missing:
        first = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        notify(
            f"data lacks {len(missing)} of the model's {len(names or ())} genes ({first}), which "
            "count as 0 in every cell; see that names are of the same kind (symbols or "
            "identifiers) and that no genes were filtered out, or fit a model to these genes"
        )
    known = None if names is None else genes
    found = infer(model, corpus.counts, terms=known, vocabulary=names, **sampling)
    column = {name: v for v, name in enumerate(genes if names is None else names)}
    own = [v for v, gene in enumerate(genes) if gene in column]
    for t in range(1, model.depth + 1):
        topics_of = np.zeros((len(genes), model.widths[t - 1]))
        topics_of[own] = topic_terms(model, t).T[[column[genes[v]] for v in own]]
        data.obsm[f"X_pgbn{t}"] = found.proportions[layers.theta(t)]
        data.varm[f"pgbn{t}"] = topics_of
    data.obs["pgbn_size"] = found[layers.theta(1)].sum(axis=1)
    return data
