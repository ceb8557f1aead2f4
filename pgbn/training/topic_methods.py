"""What can be asked about topics: methods of trained networks, trainings and estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import validated

if TYPE_CHECKING:
    import networkx as nx

    from pgbn.evaluation.layer_quality import SimilarTopics
    from pgbn.evaluation.topic_words import Topic
    from pgbn.training.trained import TrainedNetwork

Matrix = NDArray[np.float64]
Names = Sequence[str] | Mapping[str, int]


class TopicMethods:
    """The methods for a belief network, whose layers are topics of documents.

    A class that has them may say how its documents are checked (`_documents`) and how its chains
    of new documents run (`_chain`, `_rows`).
    """

    def _asked(self) -> TrainedNetwork:
        """The trained network with these topics."""
        from pgbn.training.trained import trained_network

        return trained_network(self)

    def _documents(self, X: Any) -> Any:
        """Documents of the terms of the model."""
        return X

    def _chain(self) -> dict[str, Any]:
        """Sweeps, seed and threads for the topic weights of documents."""
        return {"burn_in": 100, "draws": 100, "seed": 0, "threads": None}

    def _rows(self) -> dict[str, Any]:
        """The same for `infer`, which may have an executor."""
        return self._chain()

    # ---- topics -------------------------------------------------------------------------

    @validated
    def topics(
        self,
        layer: int = 1,
        top: int = 10,
        vocabulary: Names | None = None,
        relevance: float | None = None,
    ) -> list[Topic]:
        """The topics of a layer, the largest first, each with its leading terms.

        Parameters
        ----------
        layer
            The number of a layer, from 1.
        top
            How many terms of each topic.
        vocabulary
            The names of the terms in their order, or a dict from names to columns; by default
            those that the model was saved with.
        relevance
            Ranks terms by λ ln p + (1 − λ) ln(p / share in the corpus). 1 ranks by probability
            p, smaller values favour distinctive words. The default is 1 in the first layer and 0.3
            above it, where the likeliest terms of all topics are the same common ones.

        Returns
        -------
        list of Topic
            Each has ``layer``, ``index``, ``name``, ``weight`` (its share of the corpus),
            ``terms``, ``probabilities`` and ``label``.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.array([3.0, 1.0]), c=np.ones(1))
        >>> for topic in model.topics(top=2, vocabulary=["rain", "wind", "sun"]):
        ...     print(topic)
        layer1_topic0 (75.0%) rain wind
        layer1_topic1 (25.0%) sun wind
        """
        from pgbn.evaluation import topic_words

        return topic_words.topics(self._asked(), layer, top, vocabulary, relevance)

    @validated
    def find_topics(
        self,
        words: str | Sequence[str],
        layer: int = 1,
        n: int = 5,
        vocabulary: Names | None = None,
    ) -> list[tuple[Topic, float]]:
        """The topics of a layer in which a word, or each of several words, occurs most often.

        Parameters
        ----------
        words
            One term or several. Upper and lower case matter only if a term is written exactly like
            the word.
        layer, n
            The number of a layer, from 1, and how many topics.
        vocabulary
            As in `topics`.

        Returns
        -------
        list of (Topic, float)
            Each topic with its share of the occurrences, averaged over the words.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
        >>> model = pgbn.TrainedNetwork.of_topics(
        ...     (phi,), r=np.ones(2), c=np.ones(1), vocabulary=["rain", "wind", "sun"]
        ... )
        >>> [(topic.name, round(share, 2)) for topic, share in model.find_topics("wind")]
        [('layer1_topic1', 0.57), ('layer1_topic0', 0.43)]
        """
        from pgbn.evaluation import topic_words

        return topic_words.find_topics(self._asked(), words, layer, n, vocabulary)

    @validated
    def similar_topics(
        self, layer: int = 1, shared: int = 6, top: int = 10, relevance: float | None = None
    ) -> list[SimilarTopics]:
        """Pairs of topics of a layer with many leading words in common, the most similar first.

        Parameters
        ----------
        layer
            The number of a layer, from 1.
        shared, top
            Two topics are similar if they share at least ``shared`` of their ``top`` leading words.
        relevance
            As in `topics`.

        Returns
        -------
        list of SimilarTopics
            Named tuples of ``layer``, ``first``, ``second``, ``shared`` and ``terms``, the columns
            of the shared words.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.5, 0.5, 0.0], [0.6, 0.4, 0.0], [0.0, 0.0, 1.0]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(3), c=np.ones(1))
        >>> [str(pair) for pair in model.similar_topics(shared=2, top=2)]
        ['layer1_topic0 and layer1_topic1 share 2 words']
        """
        from pgbn.evaluation.layer_quality import similar_topics

        return similar_topics(self._asked(), layer, shared, top, relevance)

    @validated
    def similarity(self, layer: int = 1) -> Matrix:
        """How alike each two topics of a layer are: Σ_v √(ψ_kv ψ_lv), in [0, 1].

        Parameters
        ----------
        layer
            The number of a layer, from 1.

        Returns
        -------
        numpy.ndarray
            (K, K). 1 for equal topics, 0 for topics without a common term.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
        >>> model.similarity().round(2)
        array([[1.  , 0.35],
               [0.35, 1.  ]])
        """
        from pgbn.evaluation import topic_words

        return topic_words.topic_similarity(self._asked(), layer)

    @validated
    def topic_terms(self, layer: int = 1) -> Matrix:
        """The topics of a layer as distributions over terms, Ψ^(t) = Φ^(1) ⋯ Φ^(t).

        Parameters
        ----------
        layer
            The number of a layer, from 1.

        Returns
        -------
        numpy.ndarray
            (K, terms); rows are topics and sum to one.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([[0.5, 0.5]])
        >>> model = pgbn.TrainedNetwork.of_topics(phi, r=np.ones(1), c=np.ones(2))
        >>> model.topic_terms(layer=2).round(2)
        array([[0.6, 0.4]])
        """
        from pgbn.evaluation import topic_words

        return topic_words.topic_terms(self._asked(), layer)

    @validated
    def topic_weights(self, layer: int = 1) -> Matrix:
        """The share of the corpus that each topic of a layer accounts for.

        Parameters
        ----------
        layer
            The number of a layer, from 1.

        Returns
        -------
        numpy.ndarray
            (K,), which sums to one: shares of the tokens of the training documents if the model has
            them, otherwise those that r implies.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.array([3.0, 1.0]), c=np.ones(1))
        >>> model.topic_weights()
        array([0.75, 0.25])
        """
        from pgbn.evaluation import topic_words

        return topic_words.topic_weights(self._asked(), layer)

    @validated
    def to_networkx(
        self,
        topic: Any = None,
        threshold: float = 0.05,
        top: int = 5,
        relevance: float | None = None,
        vocabulary: Names | None = None,
    ) -> nx.DiGraph:
        """The topics of all layers as a graph, or one topic with those below that compose it.

        Parameters
        ----------
        topic
            A topic (layer, number), a `Topic`, or its name, such as "layer2_topic0"; by default all
            topics.
        threshold
            An edge goes from a topic to each topic of the layer below with φ ≥ ``threshold``. A
            topic without such an edge has its strongest one.
        top, relevance, vocabulary
            The terms of each topic, as in `topics`.

        Returns
        -------
        networkx.DiGraph
            Nodes are (layer, number), with ``layer``, ``weight``, ``label`` and ``terms``. Edges
            have the ``weight`` φ. All attributes are numbers and texts, so that
            ``networkx.write_gexf`` accepts the graph.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([[0.99, 0.01], [0.3, 0.7]])
        >>> model = pgbn.TrainedNetwork.of_topics(phi, r=np.ones(2), c=np.ones(2))
        >>> list(model.to_networkx("layer2_topic0").edges)
        [((2, 0), (1, 0))]
        """
        from pgbn.evaluation import topic_words

        return topic_words.topics_graph(self._asked(), topic, threshold, top, relevance, vocabulary)

    # ---- documents ----------------------------------------------------------------------

    @validated
    def perplexity(
        self,
        X: Any,
        held_out: Any = None,
        *,
        fraction: float = 0.5,
        train: Any = None,
        burn_in: int = 500,
        draws: int = 500,
        seed: int = 0,
        threads: int | None = None,
    ) -> float:
        """How well the model predicts words of new documents; smaller is better.

        A part of each document is seen, and the rest is predicted (document completion).

        Parameters
        ----------
        X
            New documents × terms, of which ``fraction`` of the tokens are seen. With ``held_out``
            all tokens of X are seen.
        held_out
            The tokens to predict, documents × terms.
        fraction
            The part of each document that is seen.
        train
            The documents that the model was trained on. Its topics then learn from the seen
            tokens too: the chain of the training continues over both together, and every fifth of
            the ``draws`` sweeps is scored.
        burn_in, draws, seed, threads
            As in `infer`.

        Returns
        -------
        float
            The perplexity of all held-out tokens. `pgbn.HeldOut.of_model` also has it for each
            document.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
        >>> X = np.array([[8, 8, 0, 0], [0, 0, 9, 7]])
        >>> 2.0 <= model.perplexity(X, burn_in=20, draws=20) < 4.0
        True
        """
        from pgbn.evaluation.held_out import HeldOut

        return HeldOut.of_model(
            self._asked(), X, held_out, fraction=fraction, train=train, burn_in=burn_in,
            draws=draws, seed=seed, threads=threads,
        ).perplexity()  # fmt: skip

    @validated
    def generate(
        self,
        n: int = 1,
        *,
        length: int | Sequence[int] | None = None,
        c: str = "median",
        seed: int = 0,
    ) -> dict[str, Any]:
        """New documents, drawn from the top layer down.

        Parameters
        ----------
        n
            The number of documents.
        length
            The number of tokens of each document, one number or ``n`` of them. By default counts
            are Poisson, so that lengths are drawn too.
        c
            The rates of a document: the "median" of the training documents, those of training
            documents at "random", or draws from the "prior". The prior of the paper is so wide that
            it needs a ``length``.
        seed
            Equal seeds give equal documents.

        Returns
        -------
        dict
            Values by the names of the nodes: ``"x"``, documents × terms, as a sparse matrix;
            ``"theta1"`` and so on, the topic weights of each layer, (n, K); and the rates.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
        >>> made = model.generate(3, length=20, seed=1)
        >>> made["x"].sum(axis=1), made["theta1"].shape
        (array([20, 20, 20]), (3, 2))
        """
        from pgbn.evaluation.generation import generate

        return generate(self._asked(), n, length=length, c=c, seed=seed)

    # ---- data frames --------------------------------------------------------------------

    @validated
    def topics_frame(
        self,
        layer: int | None = None,
        top: int = 10,
        vocabulary: Names | None = None,
        *,
        X: Any = None,
        draws: int = 20,
        interval: float = 0.9,
        relevance: float | None = None,
    ) -> Any:
        """The topics as a data frame of topic, label, weight and words (needs pandas).

        Parameters
        ----------
        layer
            The number of a layer; by default all layers, the top one first.
        top, vocabulary, relevance
            As in `topics`.
        X
            With documents × terms, the frame also has the mean share of each topic in them, with an
            interval: share, low and high.
        draws, interval
            How many draws of the shares, and the part of them between low and high.

        Returns
        -------
        pandas.DataFrame
            A row for each topic.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.array([3.0, 1.0]), c=np.ones(1))
        >>> model.topics_frame(top=2, vocabulary=["rain", "wind", "sun"]).words.tolist()
        ['rain wind', 'sun wind']
        """
        from pgbn.evaluation import frames

        model = self._asked()
        chosen = range(model.depth, 0, -1) if layer is None else [layer]
        means = {
            t: None if X is None else self._share_draws(X, t, draws, interval).mean(axis=1)
            for t in chosen
        }
        return frames.topics_frame(model, means, top, vocabulary, relevance, interval)

    @validated
    def document_topics_frame(
        self,
        X: Any,
        layer: int = 1,
        names: Sequence[Any] | None = None,
        *,
        interval: float | None = None,
        draws: int = 20,
    ) -> Any:
        """The mean share of each topic in each document, as a data frame (needs pandas).

        Parameters
        ----------
        X
            Documents × terms.
        layer
            The number of a layer, from 1.
        names
            The names of the documents; by default the index of X, if it is a data frame.
        interval
            With an interval, such as 0.9, the frame has a row for each document and topic:
            document, topic, share, low and high.
        draws
            How many draws of the shares an interval is made of.

        Returns
        -------
        pandas.DataFrame
            Documents × topics, or a row for each of both.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
        >>> frame = model.document_topics_frame(np.array([[9, 4, 0]]), names=["Monday"])
        >>> frame.index.tolist(), frame.columns.tolist()
        (['Monday'], ['layer1_topic0', 'layer1_topic1'])
        """
        from pgbn.evaluation import frames

        index = frames.index_of(X, names)
        return frames.documents_frame(self._shares(X, layer, interval, draws), layer, index)

    @validated
    def top_documents(
        self,
        X: Any,
        topic: Any = None,
        n: int = 5,
        layer: int = 1,
        texts: Sequence[str] | None = None,
        *,
        interval: float | None = None,
        draws: int = 20,
    ) -> Any:
        """The documents in which a topic has its largest shares, as a data frame (needs pandas).

        Parameters
        ----------
        X
            Documents × terms.
        topic
            The number of a topic of ``layer``, its name, such as "layer2_topic0", or a `Topic`.
        n
            How many documents.
        layer
            The number of a layer, if ``topic`` is a number.
        texts
            The texts of all documents.
        interval, draws
            As in `document_topics_frame`.

        Returns
        -------
        pandas.DataFrame
            The number of each document (document), its share, low and high with an ``interval``,
            and its text with ``texts``.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
        >>> X = np.array([[9, 4, 0], [0, 5, 9]])
        >>> model.top_documents(X, "layer1_topic1", n=1).document.tolist()
        [1]
        """
        from pgbn.checks import is_integral
        from pgbn.evaluation import frames, topic_words

        frames.needed(None if is_integral(X) else topic, "top_documents(X, topic)")
        layer, number = topic_words.place_of(self._asked(), topic, layer)
        shares = self._shares(X, layer, interval, draws)
        return frames.top_documents(shares, number, n, X, texts)

    @validated
    def topics_per_class(
        self,
        X: Any,
        y: Sequence[Any] | None = None,
        layer: int = 1,
        draws: int = 20,
        interval: float = 0.9,
    ) -> Any:
        """The mean share of each topic in the documents of each class, as a data frame.

        Parameters
        ----------
        X
            Documents × terms.
        y
            The class of each document; documents of None or NaN are omitted.
        layer
            The number of a layer, from 1.
        draws, interval
            How many draws of the shares, and the part of them between low and high.

        Returns
        -------
        pandas.DataFrame
            A row for each class and topic: class, documents, topic, share, low and high.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
        >>> X = np.array([[9, 4, 0], [0, 5, 9], [8, 8, 0]])
        >>> frame = model.topics_per_class(X, ["wet", "dry", "wet"], draws=2)
        >>> frame[["class", "documents", "topic"]].values.tolist()[:2]
        [['dry', 1, 'layer1_topic0'], ['dry', 1, 'layer1_topic1']]
        """
        from pgbn.evaluation import frames

        y = frames.needed(y, "topics_per_class(X, y)")
        entries = frames.entries_of("y", y, X)
        shares = self._share_draws(X, layer, draws, interval)
        return frames.groups_frame("class", entries, shares, layer, interval, "y")

    @validated
    def topics_over_time(
        self,
        X: Any,
        dates: Sequence[Any] | None = None,
        layer: int = 1,
        bins: int | None = None,
        draws: int = 20,
        interval: float = 0.9,
    ) -> Any:
        """The mean share of each topic in the documents of each period, as a data frame.

        Parameters
        ----------
        X
            Documents × terms.
        dates
            Years, datetimes, or texts such as "2019-03-01"; documents without a date are omitted.
        layer
            The number of a layer, from 1.
        bins
            At most this many periods, equally long. By default periods are those of the report: the
            shortest that give at most 30.
        draws, interval
            As in `topics_per_class`.

        Returns
        -------
        pandas.DataFrame
            A row for each period and topic: time (the start of the period), documents, topic,
            share, low and high.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
        >>> X = np.array([[9, 4, 0], [0, 5, 9], [8, 8, 0]])
        >>> model.topics_over_time(X, [1999, 2001, 1999], draws=2).time.tolist()
        [1999, 1999, 2001, 2001]
        """
        from pgbn.evaluation import frames
        from pgbn.evaluation.periods import time_bins

        dates = frames.needed(dates, "topics_over_time(X, dates)")
        periods = time_bins(frames.entries_of("dates", dates, X), bins)
        shares = self._share_draws(X, layer, draws, interval)
        return frames.groups_frame("time", periods, shares, layer, interval, "dates")

    @validated
    def effects(
        self,
        formula: str,
        frame: Any,
        X: Any = None,
        layer: int = 1,
        draws: int = 20,
        interval: float = 0.9,
    ) -> Any:
        """How the shares of topics depend on properties of the documents, as a data frame.

        The shares of each posterior draw are regressed on the columns, and the draws of all
        regressions are put together (the method of composition).

        Parameters
        ----------
        formula
            Such as ``"~ treatment + year"``; ``a:b`` is a product. A column of numbers is one term.
            A column of texts or categories gives a term for each value but the first.
        frame
            A data frame of pandas, polars or Arrow, or a dict of columns, with a row for each
            document.
        X
            Documents × terms.
        layer
            The number of a layer, from 1.
        draws, interval
            As in `topics_per_class`.

        Returns
        -------
        pandas.DataFrame
            A row for each term and topic: term, topic, effect, sd, low and high.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
        >>> X = np.array([[9, 4, 0], [8, 5, 2], [3, 3, 5], [0, 5, 9]])
        >>> found = model.effects("~ year", {"year": [1, 2, 3, 4]}, X, draws=4)
        >>> found.term.unique().tolist()
        ['(intercept)', 'year']
        """
        from pgbn.evaluation import effects, frames, shares

        X = frames.needed(X, "effects(formula, frame, X)")
        shares.check_row_order(X, frame=frame)
        design, terms = effects.design_matrix(formula, frame)
        found = self._share_draws(X, layer, draws, interval)
        rows = effects.compose(found, design, terms, layer, interval, self._chain()["seed"])
        return frames.data_frame(rows, ["term", "topic", "effect", "sd", "low", "high"])

    def _shares(self, X: Any, layer: int, interval: float | None, draws: int) -> tuple[Matrix, ...]:
        """The mean share of each topic in each document and, with an interval, its two ends."""
        from pgbn.evaluation.shares import middle_and_ends
        from pgbn.training.new_rows import infer

        if interval is not None:
            return middle_and_ends(self._share_draws(X, layer, draws, interval), interval)
        found = infer(self._asked(), self._documents(X), layers=layer, units=False, **self._rows())
        return (np.asarray(found.features(layer)),)

    def _share_draws(self, X: Any, layer: int, draws: int, interval: float) -> Matrix:
        """Posterior draws of the shares, (draws, documents, K)."""
        from pgbn.evaluation.shares import interval_of, share_draws

        interval_of(interval)  # rejected before anything is drawn
        model, chain = self._asked(), self._chain()
        return share_draws(model, self._documents(X), layer, draws, seed=chain["seed"],
                           threads=chain["threads"])  # fmt: skip

    # ---- other packages -----------------------------------------------------------------

    @validated
    def to_pyldavis(self, X: Any, layer: int = 1) -> dict[str, Any]:
        """The arguments of ``pyLDAvis.prepare(**…)`` for the topics of a layer.

        Parameters
        ----------
        X
            Documents × terms; documents without tokens are omitted, since pyLDAvis rejects them.
        layer
            The number of a layer, from 1.

        Returns
        -------
        dict
            ``topic_term_dists``, ``doc_topic_dists``, ``doc_lengths``, ``vocab`` and
            ``term_frequency``.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
        >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
        >>> model.to_pyldavis(np.array([[9, 4, 0], [0, 0, 0]]))["doc_lengths"]
        array([13])
        """
        from pgbn.evaluation.exchange import to_pyldavis

        return to_pyldavis(self._asked(), self._documents(X), layer, **self._chain())

    @validated
    def to_anndata(self, data: Any, layer: str | None = None) -> Any:
        """Write topics and topic weights into the AnnData of the cells, and return it.

        For each layer t, the proportions of topics are in ``obsm["X_pgbn<t>"]`` and the topics over
        genes in ``varm["pgbn<t>"]``. ``obs["pgbn_size"]`` is the size factor of a cell, the sum of
        its topic weights in layer 1.

        Parameters
        ----------
        data
            Cells × genes with raw counts. Genes are matched by name if the model has names. Topics
            are 0 for a gene that the model lacks. Genes that ``data`` lacks count as 0, with a
            warning.
        layer
            The name of the layer with the raw counts; by default they are in X.

        Returns
        -------
        anndata.AnnData
            ``data``.

        Examples
        --------
        >>> import numpy as np
        >>> import pgbn
        >>> from types import SimpleNamespace
        >>> cells = SimpleNamespace(  # anndata.AnnData has these parts
        ...     X=np.array([[3, 1], [0, 4]]), layers={}, obs={}, obsm={}, varm={},
        ...     obs_names=["cell1", "cell2"], var_names=["geneA", "geneB"])
        >>> model = pgbn.TrainedNetwork.of_topics((np.eye(2),), r=np.ones(2), c=np.ones(1))
        >>> model.to_anndata(cells).obsm["X_pgbn1"].shape
        (2, 2)
        """
        from pgbn.evaluation.exchange import to_anndata

        return to_anndata(self._asked(), data, layer, **self._chain())
