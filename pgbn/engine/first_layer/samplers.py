"""The samplers of the first layer: one posterior, with more or less of it integrated out.

The data are counts x ~ Pois(φ·θ) (or multinomial), with φ ~ Dir(η) and θ a gamma or Dirichlet
layer. The counts may be drawn

- "collapsed": with φ and θ integrated out, token by token;
- "partial":   given φ, with θ integrated out, token by token, documents independent;
- "blocked":   given φ and θ, cell by cell.

A sampler is one class (a `FirstLayer`) and one kernel, in this package or in another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from math import inf, prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.products import Splitter, blocks_of, shape4, spread, turned
from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import GROUP, Cells
from pgbn.engine.plan import LatentCounts, Run
from pgbn.engine.steps.gamma_layers import LayerTables, draw_tables, find_mix
from pgbn.engine.steps.shared_rows import SharedRows
from pgbn.errors import DataError
from pgbn.network.terms import Term
from pgbn.nodes.bernoulli_poisson import draws_ones
from pgbn.nodes.rules import find_link
from pgbn.samplers.executor import Executor
from pgbn.samplers.first_layer.collapsed import (
    Labelling,
    allocate_collapsed,
    allocate_rows,
    dense_counts,
    smoothing_of,
    word_topics,
)
from pgbn.samplers.first_layer.given_topics import (
    WordWeights,
    allocate_partial,
    allocate_shared,
    cell_sums,
    draw_labels,
    padded_topics,
    split_all_cells,
    weigh_words,
    word_weights,
)
from pgbn.samplers.first_layer.loadings import (
    Loadings,
    draw_loadings,
    draw_phi,
    empty_loadings,
    loadings_of,
    rebuild_loadings,
)
from pgbn.samplers.first_layer.tokens import (
    PseudoTopics,
    RowPriors,
    WordOrder,
    add_words,
    count_pseudo,
    count_rows,
    count_words,
    expand,
    word_order,
)
from pgbn.samplers.random import ContentKeyed, stream_key
from pgbn.samplers.row_kernels import contract
from pgbn.samplers.thinning import SparseCounts
from pgbn.storage.read_limits import check_bytes

if TYPE_CHECKING:
    from pgbn.engine.first_layer.choice import Pattern


# ---- the terms of a first layer next to φ·θ -----------------------------------------------------
#
#     x_jv ~ Pois(s_j Σ_k φ_vk θ_jk + Σ_e b_je d_ve)
#
# A further term is the product of factors that vary over rows and of factors that vary over
# words. If it sums over dims, each of their entries is a pseudo-topic e of its own.


class TermArray:
    """A term as an array (R, *dims), and the counts that its factors receive, entry by entry."""

    def __init__(self, program: Program, term: Term, dims: tuple[str, ...]) -> None:
        self.program, self.dims, self.value = program, dims, program.term(term)
        self.shape = (program.replicates, *(program.sizes[dim] for dim in dims))
        self.receiving = [f for f in term.factors if f.name in program.wiring.sources]

    def get(self) -> NDArray[np.float64]:
        """The array now."""
        wide = spread(self.value.get(), self.value.dims, self.dims, self.program.sizes)
        return np.broadcast_to(wide, self.shape)

    def share(self, child: str, counts: NDArray[Any], received: set[str]) -> None:
        """Give the counts of the entries, in any shape, to the factors."""
        wide = counts.reshape(self.shape)
        for factor in self.receiving:
            own = self.program.factor(factor).dims
            over = tuple(axis for axis, dim in enumerate(self.dims, 1) if dim not in own)
            total = wide.sum(axis=over, dtype=np.int64) if over else wide.astype(np.int64)
            left = [dim for dim in self.dims if dim in own]
            self.program.keep_counts(child, factor, turned(total, left, own), received)


class RowScale(TermArray):
    """s_j, and the counts of its factors: those of the topics of row j, shared out."""

    def __init__(self, program: Program, pattern: Pattern) -> None:
        self.term = pattern.scale(program.wiring)
        super().__init__(program, self.term, program.storage[pattern.observed][:-1])
        self._shape4 = shape4(self.dims, program.sizes, program.replicates)
        self._splitter = Splitter(program, (self.term,), self.dims, self._shape4)

    def get(self) -> NDArray[np.float64]:
        """s_j of every row."""
        return super().get().reshape(-1)

    def split(self, child: str, key: int, m: NDArray[Any], received: set[str]) -> None:
        """Give the factors of s their counts, from those of the topics (rows, K)."""
        if not self.receiving:
            return
        counts = m.sum(axis=1, dtype=np.int64).reshape(self._shape4)
        for shares in self._splitter.dense(key, counts):
            for factor, share in zip(self.term.factors, shares, strict=True):
                if share is not None:
                    self.program.keep_counts(child, factor, share, received)


class FurtherTerms:
    """The further terms of a rate as pseudo-topics, and the counts of their factors."""

    def __init__(self, program: Program, pattern: Pattern) -> None:
        *rows, word = program.storage[pattern.observed]
        self.sides = []  # of each term: the part over rows, the part over words, and its size
        for term in pattern.further(program.wiring):
            by_word = tuple(factor for factor in term.factors if word in factor.dims)
            by_row = tuple(factor for factor in term.factors if word not in factor.dims)
            row = TermArray(program, Term(term.coefficient, by_row), (*rows, *term.contracted))
            column = TermArray(program, Term(1.0, by_word), (word, *term.contracted))
            size = prod(program.sizes[dim] for dim in term.contracted)
            self.sides.append((row, column, size))
        self.size = sum(size for _, _, size in self.sides)  # the number of pseudo-topics
        lines = program.replicates * prod(program.sizes[dim] for dim in rows)
        words = program.replicates * program.sizes[word]
        self.counts = PseudoTopics(np.zeros((lines, self.size), np.int64),
                                   np.zeros((words, self.size), np.int64))  # fmt: skip

    def weights(self, scale: NDArray[np.float64]) -> PseudoTopics | None:
        """b_je · scale_j and d_ve; None if there are no further terms."""
        if not self.sides:
            return None
        row = np.concatenate([row.get().reshape(-1, size) for row, _, size in self.sides], axis=1)
        word = np.concatenate([word.get().reshape(-1, size) for _, word, size in self.sides], 1)
        return PseudoTopics(row * scale[:, None], np.ascontiguousarray(word))

    def share(self, child: str, received: set[str]) -> None:
        """Give the factors their counts."""
        start = 0
        for row, word, size in self.sides:
            row.share(child, self.counts.row[:, start : start + size], received)
            word.share(child, self.counts.word[:, start : start + size], received)
            start += size


# ---- the samplers -------------------------------------------------------------------------------


def read_state(
    state: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...], below: int = 0
) -> NDArray[Any]:
    """An array of a state: integers from 0 to ``below`` − 1, or finite positive reals.

    `FirstLayer.restore` reads its state by it, since kernels do not check before they index.

    Parameters
    ----------
    state : dict
        Arrays by name, such as from a file.
    name : str
        The name of the array.
    shape : tuple of int
        The shape that it must have.
    below : int
        What the integers are below; 0 for reals.

    Returns
    -------
    numpy.ndarray
        A copy of the array.

    Raises
    ------
    DataError
        If there is no such array of this shape, or it has other values.

    Examples
    --------
    >>> pgbn.extend.read_state({"m": np.array([[1, 0]])}, "m", (1, 2), below=5)
    array([[1, 0]])
    """
    array = np.array(state.get(name, np.empty((0, 0, 0, 0))))
    good = array.shape == shape and array.dtype.kind in ("iu" if below else "f")
    if good and array.size:
        least, most = array.min(), array.max()
        good = bool(least >= 0 and (int(most) < below if below else np.isfinite(most)))
    if not good:
        raise DataError(
            f"restore: {name!r} of the state has the shape {array.shape} or values that do not "
            f"fit this chain (expected {shape}); is it of the same network and data?"
        )
    return array


class FirstLayer(ABC):
    """A sampler of the counts of a first layer x ~ Pois(s φ·θ + …), around a kernel.

    A subclass declares, before any array exists, what its step integrates out, and which data it
    serves. It then writes `start`, `step`, `draw_loadings`, `show`, `state` and `restore`, and
    `nanoseconds` if "auto" may take it. The step of a sampler that integrates nothing out is
    given φ and θ.

    The arrays of φ and its counts are (R, V, K), those of θ and its counts ``m`` (R·documents, K):
    the topics come last. R is the number of replicates.

    Attributes
    ----------
    name : str
        What ``sampler=`` of a chain takes.
    integrates_out : tuple of str
        "scores" (θ), "loadings" (φ), both or none.
    equation : str
        What the step draws, in LaTeX, if it integrates something out.
    serves_missing : bool
        Whether cells of the data may be missing.
    is_automatic : bool
        Whether "auto" may take it. Those that mix best are registered first.
    token_bytes : int
        The bytes that it keeps for a token of the data.

    Examples
    --------
    The declarations of a sampler that integrates θ out and needs a label for each token:

    >>> from pgbn import extend
    >>> class Mine(extend.FirstLayer):
    ...     name = "mine"
    ...     integrates_out = ("scores",)
    ...     equation = r"P(z=k) \\propto \\phi_{vk}(m^{-}_{jk} + a_{jk})"
    ...     serves_missing = False
    ...     token_bytes = 20
    >>> sorted(Mine.__abstractmethods__)
    ['draw_loadings', 'restore', 'show', 'start', 'state', 'step']
    """

    name: ClassVar[str] = ""
    integrates_out: ClassVar[tuple[str, ...]] = ()
    equation: ClassVar[str] = ""
    serves_missing: ClassVar[bool] = True
    is_automatic: ClassVar[bool] = False
    token_bytes: ClassVar[int] = 0

    def __init__(self, program: Program, pattern: Pattern) -> None:
        self.program, self.pattern, self.observed = program, pattern, pattern.observed
        self.replicates, self.vocabulary, self.topics = program.shape[pattern.loadings]
        self.rows = int(np.prod(program.shape[pattern.scores][:-1], dtype=np.int64))
        self.documents = self.rows // self.replicates  # that share a value of φ
        self.is_given = pattern.loadings in program.wiring.given  # then its prior is not read
        self._eta = None if self.is_given else program.slot(pattern.loadings, "concentration")
        self._prior = program.slot(pattern.scores, pattern.slot).get
        self._shared = SharedRows(program, pattern) if pattern.index else None
        self.row_scale, self.further = RowScale(program, pattern), FurtherTerms(program, pattern)
        link = find_link(program.network.nodes[self.observed])
        self.draws_counts = link is not None and link.counts is not None
        # There are fewer than 2^31 tokens (`choice`): counts of four bytes are read faster.
        self.count_type = np.dtype(np.int64 if self.draws_counts or self.is_masked else np.int32)
        self.m = self.executor.zeros((self.rows, self.topics), self.count_type)
        if self.token_bytes and self.executor.memory is None and program.shards is None:
            tokens = self.cells.sum()
            check_bytes(f"{self.observed}: labels of {tokens} tokens", self.token_bytes * tokens,
                        "use sampler='blocked', which needs no labels")  # fmt: skip

    @classmethod
    def nanoseconds(
        cls, counts: NDArray[np.integer], documents: int, vocabulary: int, topics: int
    ) -> float:
        """The cost of a sweep on one core, within a factor of two.

        "auto" compares the samplers by it. By default it is infinite. The costs of the samplers of
        pgbn are fitted to measured times (docs/evidence/performance.md).

        Parameters
        ----------
        counts : array of int
            The counts of the non-zero cells.
        documents, vocabulary, topics : int
            The sizes of the data and of the layer.

        Returns
        -------
        float
            Nanoseconds.

        Examples
        --------
        >>> pgbn.extend.FirstLayer.nanoseconds(np.array([1, 2]), 2, 3, 4)
        inf
        """
        return inf

    def __call__(self, key: int) -> None:
        """A sampler is the step of its counts."""
        self.step(key)

    @abstractmethod
    def start(self, key: int) -> None:
        """Begin with the current φ and θ.

        Parameters
        ----------
        key : int
            The key of the step: a draw depends on the key alone.

        Examples
        --------
        >>> def start(self, key):  # of a sampler that keeps the counts of φ in n
        ...     self.n = np.zeros((self.replicates, self.vocabulary, self.topics), int)
        """

    def loadings_changed(self, key: int) -> None:
        """Continue with another value of φ, which is given. By default it starts again.

        Parameters
        ----------
        key : int
            The key of the step: a draw depends on the key alone.

        Examples
        --------
        >>> def loadings_changed(self, key):  # of a sampler that reads φ anew in each step
        ...     pass
        """
        self.start(key)

    @abstractmethod
    def step(self, key: int) -> None:
        """Draw the counts of the data, and pass on those of θ (`deliver`).

        Parameters
        ----------
        key : int
            The key of the step: a draw depends on the key alone.

        Examples
        --------
        >>> def step(self, key):  # label_rows is a kernel, which works on rows
        ...     phi = self.program.values[self.pattern.loadings]
        ...     self.executor.rows(label_rows, self.rows, key, phi, self.scores(), self.m)
        ...     self.deliver()
        """

    def step_before(self, key: int, tables: Sequence[tuple[LayerTables, int]]) -> None:
        """Draw the counts and, as the next steps do, the tables of the layers above.

        By default it calls `step` and then draws the tables. A sampler may draw both row by row.

        Parameters
        ----------
        key : int
            The key of the step: a draw depends on the key alone.
        tables : sequence
            The layers of tables, each with its key. `joins` has accepted them.

        Examples
        --------
        >>> def step_before(self, key, tables):  # what the default does without tables
        ...     self.step(key)
        """
        self.step(key)
        if tables:
            draw_tables(tables)

    def joins(self, part: LayerTables) -> bool:
        """Whether the tables of a layer can follow row by row.

        They must have the rows of the scores. The scores and the node of the tables must each
        receive from one child alone.

        Parameters
        ----------
        part : LayerTables
            The tables of a layer.

        Returns
        -------
        bool
            Whether `step_before` may draw them.

        Examples
        --------
        >>> def joins(self, part):  # of a sampler that draws no tables
        ...     return False
        """
        stored, scores = self.program.storage, self.pattern.scores
        sources = self.program.wiring.sources
        alone = len(sources[scores]) == len(sources[part.node]) == 1
        return alone and stored[part.node][:-1] == stored[scores][:-1]

    @abstractmethod
    def draw_loadings(self, key: int) -> None:
        """Draw φ given its counts, and store it in the values of the program.

        Parameters
        ----------
        key : int
            The key of the step: a draw depends on the key alone.

        Examples
        --------
        >>> def draw_loadings(self, key):  # n are the counts of φ, with the topics last
        ...     shape = (self.replicates, 1, self.topics, self.vocabulary)
        ...     stream = pgbn.extend.Stream(key, shape, self.executor)
        ...     counts = self.n.transpose(0, 2, 1).reshape(shape)
        ...     phi = pgbn.extend.vectorised.dirichlet(stream, self.eta + counts, 3)
        ...     phi = phi[:, 0].transpose(0, 2, 1)
        ...     self.program.values[self.pattern.loadings] = np.ascontiguousarray(phi)
        """

    @abstractmethod
    def show(self) -> None:
        """Bring φ and its counts into the program, if they are kept in another form.

        Examples
        --------
        >>> def show(self):  # of a sampler that keeps the counts of φ in n
        ...     self.program.counts[self.observed, self.pattern.loadings] = self.n
        """

    def show_counts(self) -> None:
        """Bring the counts of φ into the program. By default it calls `show`.

        Examples
        --------
        >>> def show_counts(self):  # of a sampler that keeps the counts of φ in n
        ...     self.program.counts[self.observed, self.pattern.loadings] = self.n
        """
        self.show()

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that the next step reads, in addition to the values of the program.

        Returns
        -------
        dict
            The arrays by name.

        Examples
        --------
        >>> def state(self):
        ...     return {"n": self.n, "m": self.m}
        """

    @abstractmethod
    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `state`. It is checked, since kernels do not check before they index.

        Parameters
        ----------
        state : dict
            The arrays by name, such as from a file.

        Examples
        --------
        >>> def restore(self, state):
        ...     self.n[...] = pgbn.extend.read_state(state, "n", self.n.shape, 2**31)
        ...     self.m[...] = pgbn.extend.read_state(state, "m", self.m.shape, 2**31)
        ...     self.deliver()
        """

    # ---- arrays -----------------------------------------------------------------------

    @property
    def executor(self) -> Executor:
        return self.program.executor

    @property
    def cells(self) -> Cells:
        """The counts, a row for each row of the scores."""
        return self.program.cells[self.observed] if self._shared is None else self._shared.cells

    @property
    def is_masked(self) -> bool:
        """Whether cells are missing."""
        return self.program.cells[self.observed].missing is not None

    @property
    def eta(self) -> Any:
        """η of φ: a number, or an array (R or 1, V or 1, K or 1)."""
        if self._eta is None:
            return 1.0
        number = self._eta.value
        return np.squeeze(self._eta.get(), axis=1) if number is None else number

    @property
    def typical_eta(self) -> float:
        """η if it is a number; ∞ if it is an array or a node."""
        number = None if self._eta is None else self._eta.value
        return inf if number is None else number

    def prior(self) -> RowPriors:
        """The shapes a_jk of θ, with the counts that θ received from other data.

        Returns
        -------
        RowPriors
            A matrix of lines, and how many consecutive rows share a line.

        Examples
        --------
        >>> def step(self, key):  # a sampler that integrates θ out weighs a topic by m_jk + a_jk
        ...     lines, rows_of_a_line = self.prior()
        """
        value = np.asarray(self._prior(), np.float64)
        if value.ndim == 0:
            value = value.reshape(1, 1, 1, 1)
        others = self.other_counts()
        shared = value.shape[1] == value.shape[2] == 1 and others is None
        first = value.shape[0]
        if shared:
            full = np.broadcast_to(value, (first, 1, 1, self.topics))
            lines = np.ascontiguousarray(full.reshape(-1, self.topics))
            return RowPriors(lines, self.rows // first)
        shape = self.program.shape4[self.pattern.scores]
        if others is not None:
            value = value + others.reshape(shape)
        full = np.ascontiguousarray(np.broadcast_to(value, shape))
        return RowPriors(full.reshape(-1, self.topics), 1)

    def other_counts(self) -> NDArray[Any] | None:
        """The counts that θ received from other data.

        Returns
        -------
        numpy.ndarray or None
            (rows, K), or None if there are none.

        Examples
        --------
        >>> def step(self, key):
        ...     others = self.other_counts()
        ...     m = self.m if others is None else self.m + others
        """
        scores, total = self.pattern.scores, None
        for source in self.program.wiring.sources[scores]:
            if source.child.name != self.observed:
                own = self.program.counts[source.child.name, scores].reshape(self.m.shape)
                total = own if total is None else total + own
        return total

    def scores(self) -> NDArray[np.float64]:
        """θ, a row for each document.

        Returns
        -------
        numpy.ndarray
            (R·documents, K).

        Examples
        --------
        >>> def step(self, key):  # of a sampler that weighs a topic by φ_vk θ_jk
        ...     theta = self.scores()
        """
        return self.program.values[self.pattern.scores].reshape(self.rows, self.topics)

    def pseudo(self, fixed: bool) -> PseudoTopics | None:
        """The weights of the further terms of the rate, as topics that stand next to φ_vk θ_jk.

        If θ is integrated out, they stand next to φ_vk (m_jk + a_jk): s_j θ_jk has the mean
        (m_jk + a_jk) s_j / (c_j + q_j).

        Parameters
        ----------
        fixed : bool
            Whether the step is given θ.

        Returns
        -------
        PseudoTopics or None
            A part for each row and one for each word, or None if there are no further terms.

        Examples
        --------
        >>> def step(self, key):
        ...     extra = self.pseudo(fixed=True)
        """
        if not self.further.size:
            return None
        scale = 1.0 / np.maximum(self.row_scale.get(), 1e-200)
        if not fixed:
            name = self.pattern.scores
            rate = self.program.slot(name, "rate").get() + self.program.exposure(name).get()
            lines = (*self.program.shape4[name][:3], 1)
            scale = scale * np.broadcast_to(rate, lines).reshape(-1)
        return self.further.weights(scale)

    def deliver(self) -> None:
        """Pass the counts of the scores, ``m``, to the program.

        Examples
        --------
        >>> def step(self, key):  # label_rows is a kernel, which writes m
        ...     self.executor.rows(label_rows, self.rows, key, self.scores(), self.m)
        ...     self.deliver()
        """
        shape = self.program.shape[self.pattern.scores]
        self.program.counts[self.observed, self.pattern.scores] = self.m.reshape(shape)

    def deliver_others(self, key: int) -> None:
        """Pass the counts of the factors that stand next to φ·θ to the program.

        Parameters
        ----------
        key : int
            The key of the step: a draw depends on the key alone.

        Examples
        --------
        >>> def step(self, key):  # after the counts of φ and θ are drawn
        ...     self.deliver()
        ...     self.deliver_others(key)
        """
        received: set[str] = set()
        counts = self.m if self._shared is None else self._shared.row_counts
        self.row_scale.split(self.observed, stream_key(key, 1), counts, received)
        self.further.share(self.observed, received)


# ---- φ and θ integrated out: token by token -----------------------------------------------------

TOKEN_BYTES = 20  # of a token that has a label of its own: its word, label and place
_MANY, _FEW = 10**7, 4  # tokens that are not sorted by words as well, and threads that read them


class TokenLabels:
    """The tokens of the data and their labels: the state of the samplers that draw token by
    token."""

    def __init__(self, layer: FirstLayer) -> None:
        self.layer, cells, executor = layer, layer.cells, layer.executor
        self.tokens = expand(cells.indptr, cells.indices, cells.values, executor)
        self.labels = executor.zeros(self.tokens.word.shape, np.uint16)

    def draw(self, key: int) -> None:
        """The first labels, from φ_vk θ_kj and the further terms."""
        layer, executor = self.layer, self.layer.executor
        loadings = loadings_of(layer.program.values[layer.pattern.loadings], executor)
        executor.rows(draw_labels, layer.rows, key, self.tokens, loadings,
                 layer.scores(), self.labels, layer.pseudo(fixed=True))  # fmt: skip

    def count_into(self, m: NDArray[np.int32]) -> None:
        """The counts m_jk of the labels."""
        self.layer.executor.rows(count_rows, len(m), 0, self.tokens.row_start, self.labels, m)

    @cached_property
    def order(self) -> WordOrder:
        """The tokens word by word."""
        return word_order(self.tokens, self.layer.documents, self.layer.vocabulary)

    def count_words(self, n: NDArray[Any]) -> None:
        """The counts n_vk of the labels, word by word. They are computed row by row if blocks of
        labels are read from files, or if there are too many tokens for a second order in memory."""
        layer, executor = self.layer, self.layer.executor
        words = layer.replicates * layer.vocabulary
        in_order = self.labels.size < _MANY or executor.workers > _FEW
        if in_order and executor.memory is None:
            executor.rows(count_words, words, 0, *self.order, self.labels, n)
            return
        n[...] = 0
        ranges = executor.cut(layer.rows, self.tokens, self.labels)
        if n.nbytes * (executor.workers - 1) > self.labels.nbytes or executor.memory is not None:
            for rows in ranges:
                self._add([(rows, part, n) for part in blocks_of(words, executor.workers)])
            return
        apart = [n, *(np.zeros_like(n) for _ in ranges[1:])]  # every thread has counts of its own
        self._add([(rows, (0, words), own) for rows, own in zip(ranges, apart, strict=True)])
        for own in apart[1:]:
            n += own

    def _add(self, parts: Sequence[tuple[tuple[int, int], tuple[int, int], NDArray[Any]]]) -> None:
        """Add ranges of rows, as far as their words are in a range, to counts."""
        self.layer.executor.calls([
            partial(add_words, *rows, *words, self.layer.documents, self.tokens, self.labels, n)
            for rows, words, n in parts
        ])  # fmt: skip

    def count_further(self) -> None:
        """The counts of the further terms."""
        layer = self.layer
        if layer.further.size:
            count_pseudo(self.tokens, self.labels, layer.topics, layer.documents, layer.vocabulary,
                         *layer.further.counts)  # fmt: skip

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        below = self.layer.topics + self.layer.further.size
        self.labels[...] = read_state(state, "labels", self.labels.shape, below)


_BLOCKS = 16  # of rows, if other threads work along with the collapsed sampler


class Collapsed(FirstLayer):
    """P(z = k) ∝ (η + n⁻_vk) / (Vη + n⁻_k) · (m⁻_jk + a_jk)."""

    name = "collapsed"
    integrates_out = ("scores", "loadings")
    equation = r"P(z=k) \propto \frac{\eta + n^{-}_{vk}}{V\eta + n^{-}_{k}}(m^{-}_{jk} + a_{jk})"
    serves_missing = False
    is_automatic = True
    token_bytes = TOKEN_BYTES
    tokens: TokenLabels

    @classmethod
    def nanoseconds(
        cls, counts: NDArray[np.integer], documents: int, vocabulary: int, topics: int
    ) -> float:
        """It draws a label for every token."""
        tokens = float(counts.sum(dtype=np.float64))
        return tokens * (25.0 + 0.05 * topics) + float(counts.size) * (20.0 + 0.05 * topics)

    def start(self, key: int) -> None:
        self.tokens = TokenLabels(self)
        self.tokens.draw(key)
        self._begin()

    def _begin(self) -> None:
        """All counts of the labels."""
        self.tokens.count_into(self.m)
        self.table = word_topics(self.tokens.tokens, self.tokens.labels, self.documents,
                                 self.vocabulary, self.topics, self.tokens.order)  # fmt: skip
        shape = (self.replicates, self.documents, self.topics)
        self.mix = find_mix(self.program, self.program.network.nodes[self.pattern.scores],
                            self.pattern.slot)  # fmt: skip
        self.shapes = self.program.pool.empty(
            shape if self.mix is not None else (0, 0, 0), np.float32
        )
        self.totals = np.zeros((self.replicates, self.topics), np.int64)
        for replicate, m in enumerate(self.m.reshape(shape)):
            for low, high in self.executor.cut(self.documents, m):
                self.totals[replicate] += m[low:high].sum(axis=0)
                self.executor.release()
        self.deliver()

    def step(self, key: int) -> None:
        self.step_before(key, ())

    def step_before(self, key: int, tables: Sequence[tuple[LayerTables, int]]) -> None:
        mix = self.mix if self.replicates == 1 else None
        tokens, pseudo, eta = self.tokens.tokens, self.pseudo(fixed=False), self.eta
        eta = eta if isinstance(eta, float) else eta[:, :, 0]
        smoothing = smoothing_of(eta, self.replicates, self.vocabulary)
        labelling = Labelling(self.tokens.labels, self.table, self.totals, self.m)
        if mix is None:
            given = (tokens, labelling, self.prior(), smoothing, pseudo)
            if self.replicates == 1 and self.executor.memory is not None:
                for low, high in self._ranges(()):
                    allocate_rows(np.uint64(key), low, high, *given)
                    self.executor.release()
            else:
                self.executor.rows(allocate_collapsed, self.replicates, key, *given)
            self._deliver_all(key)
            for part, own_key in tables:
                part(own_key)
            return
        values, shapes = self.program.values, self.shapes
        theta = values[mix.theta].reshape(1, self.rows, mix.topics)
        phi = values[mix.phi] if mix.coefficient == 1.0 else mix.coefficient * values[mix.phi]
        others = self.other_counts()
        self.deliver()
        for part, own_key in tables:
            part.begin(own_key)
        ranges = self._ranges([array for part, _ in tables for array in part.arrays()])

        def before(block: int) -> None:
            contract(np.uint64(0), *ranges[block], theta, phi, shapes, np.float32)
            if others is not None:
                rows = slice(*ranges[block])
                shapes[0, rows] += others[rows]

        def middle(block: int) -> None:
            allocate_rows(np.uint64(key), *ranges[block], tokens, labelling,
                          RowPriors(shapes[0], 1), smoothing, pseudo)  # fmt: skip

        def after(block: int) -> None:
            for part, _ in tables:
                part.rows(*ranges[block])

        self.executor.pipeline(before, middle, after, len(ranges))
        for part, _ in tables:
            part.end()
        self._deliver_all(key)

    def _ranges(self, others: Sequence[NDArray[Any]]) -> list[tuple[int, int]]:
        """The blocks of rows of all arrays that are read and written, the labels included."""
        own = (*self.tokens.tokens, self.tokens.labels, self.m, self.shapes, *others)
        ranges = self.executor.cut(self.rows, *own)
        few = 1 < len(ranges) < _BLOCKS
        return blocks_of(self.rows, min(self.rows, _BLOCKS)) if few else ranges

    def _deliver_all(self, key: int) -> None:
        self.deliver()
        self.tokens.count_further()
        self.deliver_others(key)

    def _places(self) -> NDArray[np.int64]:
        """Where the lists of the words are in the table, one after the other."""
        length = self.table.length.astype(np.int64)
        ends = np.cumsum(length)
        return np.arange(length.sum()) + np.repeat(self.table.start - ends + length, length)

    def state(self) -> dict[str, NDArray[Any]]:
        # The order of a word's topics decides which of them a random number picks.
        listed = self.table.topic[self._places()]
        return {"labels": self.tokens.labels, "topics_of_words": listed}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.tokens.restore(state)
        self._begin()
        places, table = self._places(), self.table
        listed = read_state(state, "topics_of_words", places.shape, self.topics)
        word = np.repeat(np.arange(table.length.size), table.length) * self.topics
        now, then = np.argsort(word + table.topic[places]), np.argsort(word + listed)
        if not np.array_equal((word + table.topic[places])[now], (word + listed)[then]):
            raise DataError("the state of the chain contradicts itself: topics_of_words, labels")
        count = table.count[places]
        table.topic[places] = listed
        table.count[places[then]] = count[now]

    def _dense(self) -> NDArray[np.int32]:
        counts = np.zeros((self.replicates, self.vocabulary, self.topics), np.int32)
        dense_counts(self.table, counts)
        return counts

    def draw_loadings(self, key: int) -> None:
        out = np.empty((self.replicates, self.vocabulary, self.topics))
        phi = draw_phi(key, self._dense(), self.eta, out, self.executor)
        self.program.values[self.pattern.loadings] = phi

    def show(self) -> None:
        self.show_counts()

    def show_counts(self) -> None:
        self.program.counts[self.observed, self.pattern.loadings] = self._dense().astype(np.int64)


# ---- φ fixed while counts are drawn: cell by cell, or token by token -----------------------------


class FixedTopics(FirstLayer):
    """A sampler with φ fixed while counts are drawn. A part of the rows can be drawn by itself, so
    that rows may be spread over workers.

    ``loadings`` is φ, as gammas with their scales and lists, and ``n`` its counts. While φ is the
    draw given n, the key of that draw is kept: φ can be drawn again, and the key is smaller.
    """

    is_automatic = True
    quick: ClassVar[bool] = False  # see `draw_loadings`
    listed = True  # see `Loadings`
    _key: int | None

    # ---- φ and its counts -------------------------------------------------------------

    def hold(self, begun: bool = True) -> None:
        """Begin with the current φ or, unless it has ``begun``, with none: it comes later."""
        self.n = np.zeros((self.replicates, self.vocabulary, self.topics), self.count_type)
        if begun:
            self._take()

    def _take(self) -> None:
        """φ as the program has it."""
        value = self.program.values[self.pattern.loadings]
        self.hand_over(loadings_of(value, self.executor, self.listed))

    def hand_over(self, loadings: Loadings) -> None:
        """φ as it was drawn elsewhere."""
        self.loadings, self._key = loadings, None

    def loadings_changed(self, key: int) -> None:
        self._take()

    @cached_property
    def _room(self) -> Loadings:
        """The array that φ is drawn into."""
        words = self.cells.totals().astype(np.int64)
        return empty_loadings(words, self.topics, self.typical_eta, self.quick, self.listed)

    def draw_loadings(self, key: int) -> None:
        """φ_k ~ Dir(η + n_k)."""
        self.loadings = draw_loadings(key, self.n, self.eta, self._room, self.executor, self.quick)
        self._key = int(key)

    def counts_changed(self) -> None:
        """φ is no longer the draw given n."""
        self._key = None

    def show(self) -> None:
        if not self.is_given:
            phi = self.loadings.value * self.loadings.scale[:, None, :]
            self.program.values[self.pattern.loadings] = phi
        self.show_counts()

    def show_counts(self) -> None:
        if not self.is_given:
            self.program.counts[self.observed, self.pattern.loadings] = self.n.astype(np.int64)

    # ---- the state: of rows, and of what all rows share -------------------------------

    @abstractmethod
    def make_room(self) -> None:
        """Make the arrays of rows, to be restored."""

    @abstractmethod
    def row_state(self) -> dict[str, NDArray[Any]]:
        """The part of `state` that has rows, or tokens of rows, first."""

    @abstractmethod
    def restore_rows(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `row_state`, and compute its counts of φ again."""

    def shared_state(self) -> dict[str, NDArray[Any]]:
        """The part of `state` that all rows share."""
        if self._key is not None:
            return {"key": np.array(self._key, np.uint64)}
        own = self.loadings
        return {"value": own.value, "scale": own.scale, "bound": own.bound}

    def restore_shared(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `shared_state`, after the rows."""
        self._key = None
        if "key" in state:
            self.draw_loadings(int(read_state(state, "key", (), 2**64)))
            return
        replicates, vocabulary, topics = self.n.shape
        self.loadings = rebuild_loadings(
            read_state(state, "value", self.n.shape),
            read_state(state, "scale", (replicates, topics)),
            read_state(state, "bound", (replicates * vocabulary,)),
            self.listed,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        return {**self.row_state(), **self.shared_state()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.restore_rows(state)
        self.restore_shared(state)


class Partial(FixedTopics):
    """P(z = k) ∝ φ_vk (m⁻_jk + a_jk), with θ integrated out: documents are independent."""

    name = "partial"
    integrates_out = ("scores",)
    equation = r"P(z=k) \propto \phi_{vk}(m^{-}_{jk} + a_{jk})"
    serves_missing = False
    token_bytes = TOKEN_BYTES
    quick = True
    tokens: TokenLabels

    def start(self, key: int) -> None:
        self.make_room()
        self.tokens.draw(key)
        self.tokens.count_into(self.m)
        self.hold()
        self.deliver()

    def hold(self, begun: bool = True) -> None:
        self.listed = not self.shares_prior()
        super().hold(begun)

    def make_room(self) -> None:
        self.tokens = TokenLabels(self)

    def prior(self) -> RowPriors:
        """a = φ·θ of the layer above, row by row, if it has this form; else as in all samplers."""
        program, pattern = self.program, self.pattern
        mix = find_mix(program, program.network.nodes[pattern.scores], pattern.slot)
        if mix is None or self.replicates > 1 or isinstance(self.executor, ContentKeyed):
            return super().prior()
        theta = program.values[mix.theta].reshape(1, self.rows, mix.topics)
        shapes = program.pool.empty((1, self.rows, self.topics), np.float32)
        self.executor.rows(contract, self.rows, 0, theta, mix.coefficient * program.values[mix.phi],
                           shapes, np.float32)  # fmt: skip
        others = self.other_counts()
        if others is not None:
            shapes[0] += others
        return RowPriors(shapes[0], 1)

    def shares_prior(self) -> bool:
        """Whether all rows of a replicate have the same a_k, whatever the data."""
        program, scores = self.program, self.pattern.scores
        varies = program.slot(scores, self.pattern.slot).dims
        alone = len(program.wiring.sources[scores]) == 1
        return alone and set(varies).isdisjoint(program.storage[scores][:-1])

    def step(self, key: int) -> None:
        loadings, prior, tokens = self.loadings, self.prior(), self.tokens
        given = (tokens.tokens, tokens.labels, loadings, self.m, prior)
        pseudo = self.pseudo(fixed=False)
        if self.listed:
            self.executor.rows(allocate_partial, self.rows, key, *given, pseudo)
        else:
            words = weigh_words(loadings, prior, self.documents, self._word_weights, self.executor)
            self.executor.rows(allocate_shared, self.rows, key, *given, words, pseudo)
        self._count_words()
        self.deliver()
        self.deliver_others(key)

    @cached_property
    def _word_weights(self) -> WordWeights:
        """The weights of words, which every sweep writes again."""
        return word_weights(self.replicates * self.vocabulary, self.topics)

    def _count_words(self) -> None:
        self.counts_changed()
        self.tokens.count_further()
        if not self.is_given:  # else it receives nothing
            self.tokens.count_words(self.n)

    def row_state(self) -> dict[str, NDArray[Any]]:
        return {"labels": self.tokens.labels}

    def restore_rows(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.tokens.restore(state)
        self.tokens.count_into(self.m)
        self._count_words()
        self.deliver()


class Blocked(FixedTopics):
    """(x_vj1, x_vj2, …) ~ Mult(x_vj; ∝ φ_vk θ_kj), with θ fixed too. Counts behind data, and those
    of missing cells, are drawn before."""

    name = "blocked"
    _behind: Run | None
    _weighed: tuple[NDArray[Any], NDArray[np.float64] | None] | None

    @classmethod
    def nanoseconds(
        cls, counts: NDArray[np.integer], documents: int, vocabulary: int, topics: int
    ) -> float:
        """It splits every cell, token by token up to 4 K of them and by binomials beyond, and
        draws φ and θ."""
        drawn = float(np.minimum(counts, 4 * topics).sum(dtype=np.float64))
        return (
            drawn * (10.0 + 0.04 * topics)
            + float(counts.size) * (70.0 + 0.1 * topics)
            + 11.0 * topics * (documents + vocabulary)
        )

    def start(self, key: int) -> None:
        self.hold()
        self.make_room()

    def make_room(self) -> None:
        self._behind = self._weighed = None
        if draws_ones(self.program.network.nodes[self.observed]) and not self.is_masked:
            self._behind = self._draw_ones
        elif self.draws_counts or self.is_masked:
            self._behind = LatentCounts(self.program, self.observed, self._rates, self._split,
                                         GROUP)  # fmt: skip

    def step(self, key: int) -> None:
        if self._behind is not None:
            self._behind(key)
        else:
            cells = self.cells
            self._split(key, cells, cells.values)

    def _draw_ones(self, key: int) -> None:
        """Counts behind ones, and their topics, in one pass."""
        cells = self.program.cells[self.observed]
        counts = np.empty(cells.values.size, np.int64)
        phi = padded_topics(self.loadings, np.float32)
        self._weighed = (phi, self.row_scale.get())
        self._split(key, cells, counts)
        self.program.latent_counts[self.observed] = counts

    def _rates(self, cells: Cells) -> NDArray[np.float64]:
        """The total rate at every cell."""
        out, phi = np.empty(cells.values.size), padded_topics(self.loadings)
        sparse = SparseCounts(cells.indptr, cells.indices, cells.values)
        self.executor.rows(cell_sums, cells.rows, 0, sparse, self.documents, self.vocabulary, phi,
                           self.scores(), self.pseudo(fixed=True), out)  # fmt: skip
        self._weighed = (phi, None)
        return out * np.repeat(self.row_scale.get(), np.diff(cells.indptr))

    def _split(self, key: int, cells: Cells, counts: NDArray[np.int64]) -> None:
        sparse = SparseCounts(cells.indptr, cells.indices, counts)
        further = self.further.counts if self.further.size else None
        split_all_cells(key, sparse, self.loadings, self.scores(), self.n, self.m,
                        self.executor, self.pseudo(fixed=True), further, self._weighed)  # fmt: skip
        self._weighed = None
        self.counts_changed()
        self.deliver()
        self.deliver_others(key)

    def shared_state(self) -> dict[str, NDArray[Any]]:
        return {**super().shared_state(), "n": self.n}

    def row_state(self) -> dict[str, NDArray[Any]]:
        return {"m": self.m}

    def restore_rows(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.m[...] = read_state(state, "m", self.m.shape, self._most)
        self.deliver()

    def restore_shared(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.n[...] = read_state(state, "n", self.n.shape, self._most)
        super().restore_shared(state)

    @property
    def _most(self) -> int:
        return int(2 ** (8 * self.count_type.itemsize - 1))
