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
from pgbn.estimators.frames import data_frame
from pgbn.estimators.groups import GroupResults, needed_beside
from pgbn.evaluation import Topic, Twins, similar_topics, topics
from pgbn.evaluation.entries import check_row_order, plain_list
from pgbn.evaluation.exchange import all_topics_graph, to_pyldavis
from pgbn.evaluation.finding import find_topics, keyword_labels, topic_similarity, topic_stability
from pgbn.evaluation.shares import middle_and_ends
from pgbn.training.trained import TrainedNetwork

__all__ = ["TopicResults"]


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
