"""Working with the topics of a fitted estimator: tables, labels, documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from pgbn.checks import check_integer, is_integral, listed
from pgbn.errors import DataError
from pgbn.estimators.parameters import read_executor, validate_documents
from pgbn.evaluation import Topic, Twins, similar_topics, topics
from pgbn.evaluation.effects import compose, design_matrix
from pgbn.evaluation.exchange import all_topics_graph, to_pyldavis
from pgbn.evaluation.finding import find_topics, keyword_labels, topic_similarity, topic_stability
from pgbn.evaluation.periods import time_bins
from pgbn.evaluation.shares import (
    GroupShares,
    check_row_order,
    group_shares,
    interval_of,
    middle_and_ends,
    plain_list,
    share_draws,
)
from pgbn.training.trained import TrainedNetwork
from pgbn.training.training_result import LayerwiseTraining

# ---- frames -------------------------------------------------------------------------------------
#
# Tables as data frames of pandas, which is imported when one is asked for.


def data_frame(table: Any, columns: Any = None, index: Any = None) -> Any:
    """A data frame of a matrix, of rows, or of columns by name.

    Half characters of texts become question marks: where pyarrow is installed, pandas gives texts
    to it, and it refuses them.
    """
    try:
        import pandas
    except ImportError:
        raise DataError("data frames need pandas: pip install pandas") from None
    if isinstance(table, Mapping):
        table = {name: list(map(_whole, column)) for name, column in table.items()}
    elif isinstance(table, list):
        table = [tuple(map(_whole, row)) for row in table]
    return pandas.DataFrame(table, columns=columns, index=index)


def _whole(cell: Any) -> Any:
    return cell.encode("utf-8", "replace").decode("utf-8") if isinstance(cell, str) else cell


def long_frame(found: GroupShares, name: str) -> Any:
    """A line for each group and topic."""
    rows = [
        (group, int(found.documents[g]), k, found.share[g, k], found.low[g, k], found.high[g, k])
        for g, group in enumerate(found.groups)
        for k in range(found.share.shape[1])
    ]
    return data_frame(rows, [name, "documents", "topic", "share", "low", "high"])


# ---- groups -------------------------------------------------------------------------------------
#
# How the shares of topics go with what else is known of documents: classes, time, covariates.


class GroupResults:
    """The methods of an estimator that compare documents by other columns.

    Intervals are those of posterior draws of the documents' shares, `pgbn.evaluation.share_draws`.
    """

    training_: LayerwiseTraining

    def topics_per_class(
        self,
        X: Any,
        y: Sequence[Any] | None = None,
        layer: int = 1,
        draws: int = 20,
        interval: float = 0.9,
    ) -> Any:
        """The mean share of each topic in the documents of each class of ``y``, with an interval:
        a data frame of class, documents, topic, share, low and high."""
        y = needed_beside(y, "topics_per_class(X, y)")
        check_row_order(X, y=y)
        found = group_shares(self._share_draws(X, layer, draws, interval), y, interval)
        return long_frame(found, "class")

    def topics_over_time(
        self,
        X: Any,
        dates: Sequence[Any] | None = None,
        layer: int = 1,
        bins: int | None = None,
        draws: int = 20,
        interval: float = 0.9,
    ) -> Any:
        """The same for periods of ``dates`` (years, datetimes, or texts such as "2019-03-01"), each
        called by its beginning: those of the report or, with ``bins``, at most so many equally long
        ones, see `pgbn.evaluation.time_bins`."""
        check_row_order(X, dates=dates)
        periods = time_bins(needed_beside(dates, "topics_over_time(X, dates)"), bins)
        return long_frame(
            group_shares(self._share_draws(X, layer, draws, interval), periods, interval), "time"
        )

    def effects(
        self,
        formula: str,
        frame: Any,
        X: Any = None,
        layer: int = 1,
        draws: int = 20,
        interval: float = 0.9,
    ) -> Any:
        """How the shares of topics depend on columns of ``frame``, ``"~ treatment + year"``, by
        the method of composition: a data frame of term, topic, effect, sd, low and high. See
        `pgbn.evaluation.design_matrix` for the columns."""
        X = needed_beside(X, "effects(formula, frame, X)")
        check_row_order(X, frame=frame)
        design, terms = design_matrix(formula, frame)
        own: Any = self
        shares = self._share_draws(X, layer, draws, interval)
        if len(design) != shares.shape[1]:
            raise DataError(f"frame has {len(design)} rows, but X has {shares.shape[1]} documents")
        found = compose(shares, design, terms, interval, own._seed)
        rows = [
            (term, k, found.mean[i, k], found.sd[i, k], found.low[i, k], found.high[i, k])
            for i, term in enumerate(found.terms)
            for k in range(found.mean.shape[1])
        ]
        return data_frame(rows, ["term", "topic", "effect", "sd", "low", "high"])

    def _documents(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_documents(self, X, reset=False)

    def _share_draws(self, X: Any, layer: int, draws: int, interval: float) -> NDArray[np.float64]:
        interval_of(interval)  # refused before anything is drawn
        own: Any = self
        return share_draws(self.training_.deepest, self._documents(X), layer, draws,
                           seed=own._seed, threads=read_executor(own).workers)  # fmt: skip


def needed_beside(value: Any, call: str) -> Any:
    """What is asked for beside the documents, or they themselves, refused if it is left out."""
    if value is None:
        raise DataError(f"{call}: give all of these; an estimator does not keep its documents X")
    return value


# ---- results ------------------------------------------------------------------------------------


class TopicResults(GroupResults):
    """The methods of an estimator that show what was found; those of its base compare documents."""

    networks_: tuple[TrainedNetwork, ...]
    widths_: tuple[int, ...]

    # ---- topics -----------------------------------------------------------------------

    def topics(
        self,
        layer: int = 1,
        top: int = 10,
        vocabulary: Sequence[str] | None = None,
        relevance: float | None = None,
    ) -> list[Topic]:
        """The topics of a layer by weight, with their leading terms. ``vocabulary`` names the
        terms, else what the model was saved with, else the column names of a data frame.
        ``relevance``: 1 ranks terms by probability, see `pgbn.evaluation.topics`."""
        check_is_fitted(self)
        return topics(self.training_.deepest, layer, top, vocabulary, relevance)

    def topics_frame(
        self,
        layer: int | None = None,
        top: int = 10,
        vocabulary: Sequence[str] | None = None,
        *,
        X: Any = None,
        draws: int = 20,
        interval: float = 0.9,
        relevance: float | None = None,
    ) -> Any:
        """The topics of a layer, or of all, the top layer first, as a data frame: layer, topic,
        label, weight and words, by ``relevance`` as in `topics`. With documents ``X`` also the mean
        share of each topic in them, with an interval: share, low and high."""
        check_is_fitted(self)
        layers = range(len(self.widths_), 0, -1) if layer is None else [layer]
        rows: list[tuple[Any, ...]] = []
        for t in layers:
            found = self.topics(t, top, vocabulary, relevance)
            more: dict[int, tuple[Any, ...]] = {}
            if X is not None:
                means = self._share_draws(X, t, draws, interval).mean(axis=1)
                more = dict(enumerate(zip(*middle_and_ends(means, interval), strict=True)))
            rows += [
                (t, each.index, each.label, each.weight, *more.get(each.index, ()),
                 " ".join(each.terms))
                for each in found
            ]  # fmt: skip
        between = [] if X is None else ["share", "low", "high"]
        return data_frame(rows, ["layer", "topic", "label", "weight", *between, "words"])

    def similar_topics(
        self, layer: int = 1, shared: int = 6, top: int = 10, relevance: float | None = None
    ) -> list[Twins]:
        """Pairs of topics that share ``shared`` of their ``top`` leading terms or more, these by
        ``relevance`` as in `topics`."""
        check_is_fitted(self)
        return similar_topics(self.training_.deepest, layer, shared, top, relevance)

    def find_topics(
        self,
        words: str | Sequence[str],
        layer: int = 1,
        n: int = 5,
        vocabulary: Sequence[str] | None = None,
    ) -> list[tuple[Topic, float]]:
        """The topics that have most of the occurrences of some words, with their shares of them."""
        check_is_fitted(self)
        return find_topics(self.training_.deepest, words, layer, n, vocabulary)

    def similarity(self, layer: int = 1) -> NDArray[np.float64]:
        """(K, K): the affinity Σ_v √(ψ_kv ψ_lv) of each two topics of a layer."""
        check_is_fitted(self)
        return topic_similarity(self.training_.deepest, layer)

    def stability(self, X: Any, seeds: int = 2, layer: int = 1) -> NDArray[np.float64]:
        """Fit ``seeds`` more estimators to ``X`` with other random states; (seeds, K): how alike
        each topic is with its partner in each of them, see `pgbn.evaluation.topic_stability`."""
        check_is_fitted(self)
        own: Any = self
        others = [clone(own).set_params(random_state=own._seed % 10**6 + 1 + n, warm_start=False)
                  for n in range(check_integer("seeds", seeds, 1))]  # fmt: skip
        return topic_stability([self, *(other.fit(X) for other in others)], layer)

    def set_labels(self, labels: Mapping[tuple[int, int], str]) -> Self:
        """Name topics, ``{(1, 0): "weather"}``; an empty name takes a label away. They are saved,
        and stand in all lists and in the report."""
        check_is_fitted(self)
        *below, deepest = self.training_.networks
        labelled = replace(self.training_, networks=(*below, deepest.with_labels(labels)))
        self.training_, self.networks_ = labelled, labelled.networks
        return self

    def label_by_keywords(
        self,
        keywords: Mapping[str, str | Sequence[str]],
        layer: int = 1,
        vocabulary: Sequence[str] | None = None,
    ) -> Self:
        """Name the topic that has most of some words: ``{"weather": ["rain", "sun"]}``."""
        check_is_fitted(self)
        return self.set_labels(keyword_labels(self.training_.deepest, keywords, layer, vocabulary))

    def to_networkx(
        self, threshold: float = 0.05, top: int = 5, relevance: float | None = None
    ) -> Any:
        """All topics as a directed graph, see `pgbn.evaluation.all_topics_graph`."""
        check_is_fitted(self)
        return all_topics_graph(self.training_.deepest, threshold, top, relevance)

    def to_pyldavis(self, X: Any, layer: int = 1) -> dict[str, Any]:
        """The arguments of ``pyLDAvis.prepare(**…)``."""
        X = self._documents(X)
        own: Any = self
        return to_pyldavis(self.training_.deepest, X, layer, **own._chain())

    # ---- documents --------------------------------------------------------------------

    def document_topics_frame(
        self,
        X: Any,
        layer: int = 1,
        names: Sequence[Any] | None = None,
        *,
        interval: float | None = None,
        draws: int = 20,
    ) -> Any:
        """Documents × topics: the posterior mean shares, as a data frame with the ``names`` of the
        documents (or those of X, if it is a data frame of pandas) as its index. With an
        ``interval``, such as 0.9, a line for each document and topic: document, topic, share, low
        and high, all of the same posterior draws."""
        own: Any = self
        index = getattr(X, "index", None)
        index = None if callable(index) else index  # of a list, its method
        if names is not None:
            if getattr(names, "ndim", 1) != 1:
                raise DataError(f"names={names!r:.60}: give one name for each document")
            index = listed("names", names, "give one name for each document")
        shares, *ends = self._shares(X, layer, interval, draws)
        if index is not None and len(index) != len(shares):
            raise DataError(f"names: {len(index)} of them for {len(shares)} documents")
        if not ends:
            columns = own.get_feature_names_out(layer=layer)
            return data_frame(shares, columns=columns, index=index)
        called = list(range(len(shares)) if index is None else index)
        rows = [
            (name, k, shares[j, k], *(end[j, k] for end in ends))
            for j, name in enumerate(called)
            for k in range(shares.shape[1])
        ]
        return data_frame(rows, ["document", "topic", "share", "low", "high"])

    def top_documents(
        self,
        X: Any,
        topic: int | Topic | None = None,
        n: int = 5,
        layer: int = 1,
        texts: Sequence[str] | None = None,
        *,
        interval: float | None = None,
        draws: int = 20,
    ) -> Any:
        """The ``n`` documents in which a topic has its largest shares, as a data frame: the number
        of the document, the share, low and high if an ``interval`` such as 0.9 is asked for, and
        its text where ``texts`` are given. ``topic`` is a number of ``layer``, or a `Topic`, which
        has a layer of its own."""
        topic = needed_beside(None if is_integral(X) else topic, "top_documents(X, topic)")
        check_integer("n", n, 1)
        if isinstance(topic, Topic):
            if layer not in (1, topic.layer):
                raise DataError(
                    f"topic={topic.layer}/{topic.index}, but layer={layer!r}; leave layer out"
                )
            layer, topic = topic.layer, topic.index
        shares, *ends = self._shares(X, layer, interval, draws)
        if not is_integral(topic) or not 0 <= topic < shares.shape[1]:
            raise DataError(
                f"topic={topic!r:.60}: layer {layer} has topics 0 to {shares.shape[1] - 1}"
            )
        check_row_order(X, texts=texts)
        every = None if texts is None else plain_list(texts, "texts")
        if every is not None and len(every) != len(shares):
            raise DataError(f"texts: {len(every)} of them for {len(shares)} documents")
        order = np.argsort(-shares[:, topic], kind="stable")[:n]
        table: dict[str, Any] = {"document": order, "share": shares[order, topic]}
        table |= dict(zip(("low", "high"), (end[order, topic] for end in ends), strict=False))
        if every is not None:
            table["text"] = [every[j] for j in order]
        return data_frame(table)

    def _shares(
        self, X: Any, layer: int, interval: float | None, draws: int
    ) -> tuple[NDArray[np.float64], ...]:
        """The mean share of each topic in each document and, with an interval, its two ends."""
        own: Any = self
        if interval is None:
            return (np.asarray(own.transform(X, layer=layer)),)
        return middle_and_ends(self._share_draws(X, layer, draws, interval), interval)
