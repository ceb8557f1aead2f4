"""The base class of samplers of the first layer, and the parts that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import inf, prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pgbn.engine.compile.products import Splitter, shape4, spread, turned
from pgbn.engine.compile.program import Program
from pgbn.engine.data.cells import Cells
from pgbn.engine.steps.gamma_layers import LayerTables, draw_tables
from pgbn.errors import DataError
from pgbn.network.steps import Step
from pgbn.network.terms import Term
from pgbn.network.wiring import Wiring
from pgbn.nodes.rules.registry import find_link
from pgbn.samplers.executor import Executor
from pgbn.samplers.first_layer.tokens import PseudoTopics, RowPriors
from pgbn.samplers.random import stream_key
from pgbn.storage.read_limits import check_bytes

if TYPE_CHECKING:
    from pgbn.engine.first_layer.choice import Pattern


class SharedRows:
    """The counts of data added up over the rows that read the same scores.

        x_jv ~ Pois(s_j Σ_k φ_vk θ_{g(j)k})   ⇒   Σ_{j : g(j) = a} x_jv ~ Pois(q_a Σ_k φ_vk θ_ak)

    with q_a = Σ_{j : g(j) = a} s_j. Labels depend on a row through its scores alone. The samplers
    therefore see these sums, a row for each row of θ. The sums are computed again if the program
    has other data.
    """

    _of: Cells | None = None
    _cells: Cells

    def __init__(self, program: Program, pattern: Pattern) -> None:
        self.program, self.observed = program, pattern.observed
        self.entries, _ = program.storage[pattern.scores]
        lookups = pattern.factor(program.wiring).lookups
        self.view = program.view(lookups, program.storage[pattern.scores])

    @property
    def cells(self) -> Cells:
        """Σ_{j : g(j) = a} x_jv."""
        own = self.program.cells[self.observed]
        if self._of is not own:
            self._cells, self._of = self._added(own), own
        return self._cells

    def _added(self, own: Cells) -> Cells:
        copies, entries = own.replicates, self.program.sizes[self.entries]
        place = np.broadcast_to(self.view.place, (copies, own.rows // copies))
        first = np.arange(copies)[:, None] * entries
        edges = np.arange(own.rows + 1)
        reads = sparse.csr_array((np.ones(own.rows, np.int64), (place + first).reshape(-1), edges),
                                 shape=(own.rows, copies * entries))  # fmt: skip
        counts = sparse.csr_array((own.values, own.indices, own.indptr),
                                  shape=(own.rows, own.columns))  # fmt: skip
        added = sparse.csr_array(reads.T.tocsr() @ counts)
        added.sort_indices()
        return Cells((self.entries, own.dims[-1]), (entries, own.columns), copies,
                     added.indptr.astype(np.int64), added.indices.astype(np.int32),
                     added.data.astype(np.int64))  # fmt: skip

    @property
    def row_counts(self) -> NDArray[Any]:
        """Σ_v x_jv of every row of the data, (rows, 1)."""
        own = self.program.cells[self.observed]
        return own.total(own.values, own.dims[:-1]).reshape(-1, 1)


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
    """An array of a state: integers from 0 to ``below`` − 1, or finite positive reals."""
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

    The arrays of φ and its counts are (R, V, K), those of θ and its counts ``m`` (R·documents, K):
    `storage_order` puts the topics last. Before any array exists, a class declares which patterns
    and data it does not serve (`unsupported_reason`, `why_not_data`) and what its step reads and
    integrates out (`revise`). It also declares what a sweep costs (`nanoseconds`), and how many
    bytes it keeps for a token.
    """

    name: ClassVar[str] = ""
    is_automatic: ClassVar[bool] = False  # may be taken by "auto"; those that mix best come first
    token_bytes: ClassVar[int] = 0
    # Whether a part of the rows can be drawn by itself. The sampler then has `fixed_topics` and the
    # methods below "parts of the rows". Only such samplers serve rows that are spread over workers.
    by_rows: ClassVar[bool] = False
    fixed_topics: Any

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

    # ---- before any array exists ------------------------------------------------------

    @classmethod
    def unsupported_reason(
        cls, wiring: Wiring, pattern: Pattern, patterns: Sequence[Pattern]
    ) -> str:
        """Why it does not serve one of the ``patterns`` of a network; "" if it does."""
        return ""

    @classmethod
    def why_not_data(cls, is_masked: bool) -> str:
        """Why it does not serve these data; "" if it does."""
        return ""

    @classmethod
    def revise(cls, wiring: Wiring, pattern: Pattern, step: Step) -> Step:
        """The step of the counts as this sampler draws them: given φ and θ unless it says more."""
        return step

    @classmethod
    def nanoseconds(
        cls, counts: NDArray[np.integer], documents: int, vocabulary: int, topics: int
    ) -> float:
        """The cost of a sweep on one core, within a factor of two; ``counts`` are those of the
        non-zero cells. Fitted to times that were measured (docs/performance.md)."""
        return inf

    # ---- sampling ---------------------------------------------------------------------

    @abstractmethod
    def start(self, key: int) -> None:
        """Begin with the current φ and θ."""

    def loadings_changed(self, key: int) -> None:
        """Continue with another value of φ, which is given."""
        self.start(key)

    @abstractmethod
    def step(self, key: int) -> None:
        """Draw the counts of the data."""

    def step_before(self, key: int, tables: Sequence[tuple[LayerTables, int]]) -> None:
        """Draw the counts and, as the next steps, the tables of the layers above, with keys."""
        self.step(key)
        if tables:
            draw_tables(tables)

    def joins(self, part: LayerTables) -> bool:
        """Whether tables can follow row by row. They must have the rows of the scores; the scores
        and the node of the tables must each receive from one child alone."""
        stored, scores = self.program.storage, self.pattern.scores
        sources = self.program.wiring.sources
        alone = len(sources[scores]) == len(sources[part.node]) == 1
        return alone and stored[part.node][:-1] == stored[scores][:-1]

    @abstractmethod
    def draw_loadings(self, key: int) -> None:
        """Draw φ given its counts."""

    @abstractmethod
    def show(self) -> None:
        """Bring φ and its counts into the program, if they are kept in another form."""

    def show_counts(self) -> None:
        """Bring the counts of φ into the program."""
        self.show()

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that the next step reads, in addition to the values of the program."""

    @abstractmethod
    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `state`, which is checked: kernels do not check before they index."""

    # ---- parts of the rows ------------------------------------------------------------

    def hold(self, begun: bool = True) -> None:
        """Begin with the current φ or, unless it has ``begun``, with none."""
        raise NotImplementedError

    def make_room(self) -> None:
        """Make the arrays of rows, to be restored."""
        raise NotImplementedError

    def row_state(self) -> dict[str, NDArray[Any]]:
        """The part of `state` that has rows, or tokens of rows, first."""
        raise NotImplementedError

    def shared_state(self) -> dict[str, NDArray[Any]]:
        """The part of `state` that all rows share."""
        raise NotImplementedError

    def restore_rows(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `row_state`, and compute its counts of φ again."""
        raise NotImplementedError

    def restore_shared(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a `shared_state`, after the rows."""
        raise NotImplementedError

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
        """a_jk as a matrix, and how many rows share a line of it; with the counts that θ received
        from other data, which add to its shape."""
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
        """The counts (rows, K) that θ received from other data; None if there are none."""
        scores, total = self.pattern.scores, None
        for source in self.program.wiring.sources[scores]:
            if source.child.name != self.observed:
                own = self.program.counts[source.child.name, scores].reshape(self.m.shape)
                total = own if total is None else total + own
        return total

    def scores(self) -> NDArray[np.float64]:
        """θ, a row for each document."""
        return self.program.values[self.pattern.scores].reshape(self.rows, self.topics)

    def pseudo(self, fixed: bool) -> PseudoTopics | None:
        """The weights of the further terms next to φ_vk θ_jk. If θ is not ``fixed``, they stand
        next to φ_vk (m_jk + a_jk): s_j θ_jk has the mean (m_jk + a_jk) s_j / (c_j + q_j)."""
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
        """Pass the counts of the scores to the program."""
        shape = self.program.shape[self.pattern.scores]
        self.program.counts[self.observed, self.pattern.scores] = self.m.reshape(shape)

    def deliver_others(self, key: int) -> None:
        """Pass the counts of the factors next to φ·θ to the program."""
        received: set[str] = set()
        counts = self.m if self._shared is None else self._shared.row_counts
        self.row_scale.split(self.observed, stream_key(key, 1), counts, received)
        self.further.share(self.observed, received)
