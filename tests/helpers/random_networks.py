"""Random networks of the whole language: a case is a number, and the same number is the same
network.

    python -m tests.helpers.random_networks 17        # shows case 17

A `Draft` draws from the grammar below. To teach it something new, write a function of a draft, the
dims wanted and the depth left that returns an expression with at most these dims, and put it into
its table: ``EXPRESSIONS`` (positive values), ``SHAPES``, ``RATES``, ``CONCENTRATIONS`` or ``DATA``.
What it draws need not be possible: a network that has no sampler must be refused in words, and
`draft` gives the error in its place. Numbers in priors are such that moments exist and counts
are few.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import pgbn as pg
from pgbn.network.schedule import reorder
from pgbn.testing import GewekeResult, geweke, mutants
from tests.helpers.first_layers import samplers_of_network
from tests.helpers.own_edges import Carried, Moving

__all__ = ["SIZES", "Case", "check_refusal", "draft", "examine", "is_seen", "outcome"]

Dims = tuple[str, ...]
MOST_NODES, MOST_CELLS = 9, 14  # beyond it a draft ends every branch
SIZES = {"doc": 2, "term": 3, "tag": 2, "time": 3, "vertex": 3}


@dataclass(frozen=True)
class Case:
    """A network, or the words with which it was refused; ``order`` is a random one of those that
    are accepted, ``sampler`` a random one of the samplers that serve it."""

    number: int
    network: pg.Network | None
    refusal: pg.PgbnError | None
    order: list[str]
    sampler: str
    names: list[str]  # of all nodes that were declared


class Draft:
    """The dice and what has been declared so far."""

    def __init__(self, number: int) -> None:
        self.dice = random.Random(f"pgbn network {number}")
        self.sizes: dict[str, int] = {}
        self.nodes: list[Any] = []
        self.named = 0

    # ---- dice -----------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.dice.random() < probability

    def pick(self, options: Any) -> Any:
        return options[int(self.dice.random() * len(options))]

    def some(self, dims: Iterable[str], each: float = 0.6) -> Dims:
        return tuple(dim for dim in dims if self.chance(each))

    def way(self, table: dict[Callable[..., Any], float]) -> Callable[..., Any]:
        return self.dice.choices(list(table), list(table.values()))[0]

    def number(self) -> float:
        return float(self.pick((0.6, 1.0, 1.5, 2.0, 3.0)))

    def array(self, dims: Dims, values: tuple[float, ...] = (0.5, 1.0, 2.0)) -> pg.Constant:
        shape = [self.sizes[dim] for dim in dims]
        flat = [self.pick(values) for _ in range(int(np.prod(shape)))]
        return pg.Constant(np.array(flat, float).reshape(shape), dims=dims)

    # ---- names ----------------------------------------------------------------------------

    def name(self, letter: str) -> str:
        self.named += 1
        return f"{letter}{self.named}"

    def dim(self, kind: str, size: int | None = None) -> str:
        """A dim: one of those of data, or a new one."""
        if size is None:
            self.sizes[kind] = SIZES[kind]
            return kind
        name = f"{kind}{sum(known.startswith(kind) for known in self.sizes)}"
        self.sizes[name] = size
        return name

    def keep(self, node: Any) -> Any:
        self.nodes.append(node)
        return node

    @property
    def full(self) -> bool:
        cells = sum(int(np.prod([self.sizes[d] for d in node.axes])) for node in self.nodes)
        return len(self.nodes) >= MOST_NODES or cells > MOST_CELLS * 4

    # ---- values ---------------------------------------------------------------------------

    def positive(self, dims: Dims, depth: int) -> Any:
        """A positive expression of at most these dims."""
        if depth <= 0 or self.full:
            return gamma(self, dims, 0)
        return self.way(EXPRESSIONS)(self, dims, depth)


# ---- nodes ----------------------------------------------------------------------------------


def root(draft: Draft, dims: Dims) -> Any:
    """A gamma whose moments, and those of its inverse, exist."""
    return draft.keep(
        pg.Gamma(draft.name("g"), draft.pick((3.0, 4.0)), draft.pick((2.0, 4.0)), dims=dims)
    )


def gamma(draft: Draft, dims: Dims, depth: int) -> Any:
    """A gamma with random parents; a few are drawn by a slice."""
    if depth <= 0:
        return root(draft, dims)
    shape = draft.way(SHAPES)(draft, dims, depth - 1)
    rate = draft.way(RATES)(draft, dims, depth - 1)
    update = {"update": "slice"} if draft.chance(0.06) else {}
    return draft.keep(pg.Gamma(draft.name("g"), shape, rate, dims=dims, **update))


def randomised(draft: Draft, dims: Dims, depth: int) -> Any:
    """A gamma with a hidden Poisson count in its shape."""
    rate, noise = draft.positive(dims, depth - 1), draft.pick((1.5, 3.0))
    offset = draft.pick((0.0, 0.7, 2.0))
    return draft.keep(pg.RandomisedGamma(draft.name("h"), rate, noise, offset=offset, dims=dims))


def dirichlet(draft: Draft, over: str, dims: Dims, depth: int) -> Any:
    concentration = draft.way(CONCENTRATIONS)(draft, (*dims, over), depth)
    return draft.keep(pg.Dirichlet(draft.name("d"), concentration, over=over, dims=dims))


def wide(draft: Draft, over: Dims, k: str) -> Any:
    """Proportions of all cells of several dims."""
    concentration = draft.number() if draft.chance(0.5) else draft.array(over)
    return draft.keep(pg.Dirichlet(draft.name("d"), concentration, over=over, dims=k))


def predictor(draft: Draft, dims: Dims) -> Any:
    """F w + b: known features times normal weights, and a level."""
    precision = root(draft, ()) if draft.chance(0.5) else 2.0
    level = draft.keep(pg.Normal(draft.name("n"), 0.0, precision, dims=draft.some(dims)))
    if not dims or draft.chance(0.4):
        return level
    feature = draft.dim("feature", 2)
    weights = draft.keep(
        pg.Normal(draft.name("n"), 0.0, 3.0, dims=(*draft.some(dims[1:]), feature))
    )
    return draft.array((dims[0], feature), (-1.0, 0.0, 1.0)) @ weights + level


def gate(draft: Draft, dims: Dims) -> Any:
    if draft.chance(0.2):
        return draft.keep(pg.LogitBernoulli(draft.name("o"), predictor(draft, dims), dims=dims))
    probability: Any = 0.5
    if draft.chance(0.6):
        probability = draft.keep(pg.Beta(draft.name("b"), 2.0, 2.0, dims=draft.some(dims)))
    return draft.keep(pg.Bernoulli(draft.name("o"), probability, dims=dims))


def categories(draft: Draft, dims: Dims, of: str) -> pg.Categories:
    shape = [draft.sizes[dim] for dim in dims]
    numbers = [draft.pick(range(draft.sizes[of])) for _ in range(int(np.prod(shape)))]
    values = np.array(numbers).reshape(shape)
    return pg.Categories(draft.name("c"), dims=dims, of=of, values=values)


# ---- shapes, rates, concentrations ------------------------------------------------------------


def number(draft: Draft, dims: Dims, depth: int) -> Any:
    return draft.number()


def known(draft: Draft, dims: Dims, depth: int) -> Any:
    return draft.array(draft.some(dims, 0.8))


def within(draft: Draft, dims: Dims, depth: int) -> Any:
    """An expression that lacks some of the dims."""
    return draft.positive(draft.some(dims, 0.7), depth)


def whole(draft: Draft, dims: Dims, depth: int) -> Any:
    return draft.positive(dims, depth)


def before(draft: Draft, dims: Dims, depth: int) -> Any:
    """The row before, alone or beside something else; through a matrix of transitions, perhaps."""
    if "time" not in dims:
        return within(draft, dims, depth)
    if draft.chance(0.25):
        return of_another(draft, dims, depth)
    others = tuple(dim for dim in dims if dim != "time")
    initial = draft.positive(draft.some(others), 0) if draft.chance(0.5) else draft.number()
    step: Any = pg.Self()
    if others and draft.chance(0.5):
        own = draft.pick(others)
        old = draft.dim("old", draft.sizes[own])
        step = dirichlet(draft, own, (old,), 0) @ pg.Self(**{own: old})
    elif draft.chance(0.5):
        step = draft.pick((0.5, 2.0)) * step
    shift: Any = pg.Shift(step, along="time", initial=initial, lag=draft.pick((1, 1, 2)))
    return shift + draft.positive(draft.some(dims), 0) if draft.chance(0.3) else shift


def of_another(draft: Draft, dims: Dims, depth: int) -> Any:
    """An earlier row of another node, alone or beside the node's own."""
    others = tuple(dim for dim in dims if dim != "time")
    step: Any = gamma(draft, ("time", *draft.some(others)), depth - 1)
    step = draft.number() * step if draft.chance(0.3) else step
    step = step + pg.Self() if draft.chance(0.3) else step
    initial = root(draft, draft.some(others)) if draft.chance(0.5) else draft.number()
    return pg.Shift(step, along="time", initial=initial, lag=draft.pick((1, 1, 2)))


def gated(draft: Draft, dims: Dims, depth: int) -> Any:
    return gate(draft, dims) * draft.positive(draft.some(dims), depth)


def odds(draft: Draft, dims: Dims, depth: int) -> Any:
    """Odds; what has no conjugate update with them has one by a slice, often."""
    update = {"update": "slice"} if draft.chance(0.3) else {}
    return draft.keep(
        pg.BetaOdds(draft.name("p"), 3.0, 4.0, dims=draft.some(dims[:1], 0.8), **update)
    )


def rates(draft: Draft, dims: Dims, depth: int) -> Any:
    return root(draft, draft.some(dims, 0.5))


def of_groups(draft: Draft, dims: Dims, depth: int) -> Any:
    """Rates, or odds, of groups of rows."""
    if not dims:
        return rates(draft, dims, depth)
    group = draft.dim("team", 2)
    parent = (
        root(draft, (group,))
        if draft.chance(0.5)
        else draft.keep(pg.BetaOdds(draft.name("p"), 3.0, 4.0, dims=group))
    )
    return parent[categories(draft, dims[:1], group)]


def weight(draft: Draft, dims: Dims, depth: int) -> Any:
    """One concentration for all entries, or one for each vector."""
    return root(draft, draft.some(dims[:-1]))


def shared(draft: Draft, dims: Dims, depth: int) -> Any:
    """α π: a weight times a vector of proportions."""
    return root(draft, draft.some(dims[:-1])) * dirichlet(draft, dims[-1], (), 0)


def layered(draft: Draft, dims: Dims, depth: int) -> Any:
    """A mixture of vectors of a layer above."""
    above = draft.dim("k", 2)
    return dirichlet(draft, dims[-1], (above,), 0) @ root(draft, (*dims[:-1], above))


def hidden(draft: Draft, dims: Dims, depth: int) -> Any:
    """A hidden count in a shape."""
    count = pg.HiddenPoisson(draft.name("h"), draft.positive(draft.some(dims), 0), dims=dims)
    return draft.pick((0.5, 1.5)) + draft.keep(count)


def log_linear(draft: Draft, dims: Dims, depth: int) -> Any:
    mean, precision = predictor(draft, dims), draft.pick((2.0, 5.0))
    return draft.keep(pg.LogNormal(draft.name("l"), mean, precision, dims=dims))


SHAPES: dict[Callable[..., Any], float] = {
    number: 2.0, known: 0.7, within: 2.5, whole: 1.5, before: 3.0, gated: 0.8, hidden: 0.5,
    log_linear: 0.5,
}  # fmt: skip
RATES: dict[Callable[..., Any], float] = {
    number: 2.0, known: 0.7, rates: 2.0, odds: 1.5, of_groups: 0.6,
}  # fmt: skip
CONCENTRATIONS: dict[Callable[..., Any], float] = {
    number: 3.0, known: 1.0, weight: 1.0, whole: 0.7, shared: 0.6, layered: 0.5, before: 0.8,
}  # fmt: skip

# ---- expressions ------------------------------------------------------------------------------


def product(draft: Draft, dims: Dims, depth: int) -> Any:
    return draft.positive(dims, depth - 1) * draft.positive(draft.some(dims), depth - 2)


def total(draft: Draft, dims: Dims, depth: int) -> Any:
    return draft.positive(dims, depth - 1) + draft.positive(draft.some(dims), depth - 2)


def offset(draft: Draft, dims: Dims, depth: int) -> Any:
    return draft.positive(dims, depth - 1) + draft.pick((0.1, 1.0))


def scaled(draft: Draft, dims: Dims, depth: int) -> Any:
    """A number, an array, or a mask with a 0 in it."""
    value = draft.positive(dims, depth - 1)
    kind = draft.pick(("number", "array", "mask"))
    if kind == "number" or not dims:
        return value / 2
    if kind == "array":
        return draft.array(draft.some(dims, 0.8)) * value
    return draft.array(dims, (0.0, 1.0, 1.0)) * value


def mix(draft: Draft, dims: Dims, depth: int) -> Any:
    """φ @ θ: vectors along a dim, or gammas, times scores of the other dims."""
    k = draft.dim("k", 2)
    if not dims or draft.chance(0.2):
        return draft.positive((*draft.some(dims), k), depth - 1) @ root(draft, (*dims, k))
    over = draft.pick(dims)
    rest = tuple(dim for dim in dims if dim != over)
    scores = draft.positive((*rest, k), depth - 1)
    extra = draft.some(rest, 0.15)
    if len(dims) > 1 and draft.chance(0.15):
        return pg.extend.Mix(
            factors=(wide(draft, dims[:2], k), root(draft, (*dims[2:], k))), over=k
        )
    topics = (
        dirichlet(draft, over, (*extra, k), depth - 2)
        if draft.chance(0.75)
        else gamma(draft, (*extra, k, over), depth - 2)
    )
    return pg.extend.Mix(factors=(topics, scores), over=k)


def chosen(draft: Draft, dims: Dims, depth: int) -> Any:
    """z @ λ: the rate of a hidden choice, which may be a state in time."""
    k = draft.dim("k", 2)
    own = dims[:1] if dims and draft.chance(0.8) else draft.some(dims)
    probability = dirichlet(draft, k, draft.some(own, 0.2), 0)
    if "time" in own and draft.chance(0.7):
        old = draft.dim("old", 2)
        move = dirichlet(draft, k, (old,), 0) @ pg.Self(**{k: old})
        probability = pg.Shift(move, along="time", initial=dirichlet(draft, k, (), 0))
    z = draft.keep(pg.Categorical(draft.name("z"), probability, over=k, dims=own))
    levels = pg.Constant([1.0, 5.0], dims=k)
    rate = draft.keep(pg.Gamma(draft.name("g"), levels, 1.5, dims=(k, *draft.some(dims, 0.5))))
    return z @ rate if draft.chance(0.7) else rate[z]


def indexed(draft: Draft, dims: Dims, depth: int) -> Any:
    """θ[g]: the values of groups of rows, or of cells."""
    if not dims:
        return gamma(draft, dims, depth - 1)
    group = draft.dim("team", 2)
    own = dims[:1] if draft.chance(0.7) else dims[:2]
    rest = tuple(dim for dim in dims if dim not in own)
    return gamma(draft, (group, *rest), depth - 1)[categories(draft, own, group)]


def weighted(draft: Draft, dims: Dims, depth: int) -> Any:
    """W θ, by a sparse constant: a row has one entry of θ or several."""
    if not dims:
        return gamma(draft, dims, depth - 1)
    own, part = draft.pick(dims), draft.dim("part", 3)
    shape = (draft.sizes[own], 3)
    chances = [draft.pick((0.0, 0.5, 1.0)) for _ in range(shape[0] * 3)]
    weights = np.array(chances).reshape(shape)
    weights[np.arange(shape[0]), np.arange(shape[0]) % 3] += 0.5  # no row without an entry
    rest = tuple(dim for dim in dims if dim != own)
    return pg.Constant(csr_array(weights), dims=(own, part)) @ draft.positive(
        (part, *rest), depth - 1
    )


def counted(draft: Draft, dims: Dims, depth: int) -> Any:
    """A hidden count in a rate, beside a number."""
    rate = draft.positive(draft.some(dims), depth - 2)
    count = draft.keep(pg.HiddenPoisson(draft.name("h"), rate, dims=dims))
    return draft.pick((0.5, 1.5)) + count


def operated(draft: Draft, dims: Dims, depth: int) -> Any:
    """An operation of a user's own, by what it stands for or by itself."""
    if not dims:
        return gamma(draft, dims, depth - 1)
    along = draft.pick(dims)
    weights = draft.pick(((0.7, 0.3), (1.0, 0.5, 0.2)))
    of = gamma(draft, dims, depth - 1)
    if draft.chance(0.6):
        return Carried(of, axis=1 + of.axes.index(along), weights=weights)
    return Moving(of, along=along, size=draft.sizes[along], weights=weights)


def renamed(draft: Draft, dims: Dims, depth: int) -> Any:
    if not dims:
        return gamma(draft, dims, depth - 1)
    other = draft.dim("other", draft.sizes[dims[-1]])
    return gamma(draft, (*dims[:-1], other), depth - 1).rename(**{other: dims[-1]})


def switched(draft: Draft, dims: Dims, depth: int) -> Any:
    """A gate in a rate: zero inflation."""
    return gate(draft, dims) * draft.positive(dims, depth - 1)


def again(draft: Draft, dims: Dims, depth: int) -> Any:
    """A node that stands elsewhere too."""
    known = [
        node
        for node in draft.nodes
        if isinstance(node, pg.Gamma | pg.RandomisedGamma) and set(node.axes) <= set(dims)
    ]
    return draft.pick(known) if known else gamma(draft, dims, depth - 1)


EXPRESSIONS: dict[Callable[..., Any], float] = {
    gamma: 4.0, randomised: 0.7, product: 1.0, total: 1.0, offset: 0.4, scaled: 0.8, mix: 3.0,
    chosen: 0.8, indexed: 1.0, renamed: 0.4, switched: 0.4, again: 1.0, weighted: 0.7,
    counted: 0.3, operated: 0.5,
}  # fmt: skip

# ---- data -------------------------------------------------------------------------------------


def link(draft: Draft, name: str, rate: Any, dims: Dims) -> Any:
    """Counts, mostly; else binary data or reals of that rate."""
    kind = draft.pick(("counts", "counts", "counts", "binary", "reals"))
    if kind == "counts":
        return pg.Poisson(name, rate, dims=dims)
    if kind == "binary":
        return pg.BernoulliPoisson(name, rate, dims=dims)
    noise = root(draft, draft.some(dims, 0.3)) if draft.chance(0.5) else 2.0
    return pg.PoissonGamma(name, rate, noise, dims=dims)


def table(draft: Draft, name: str) -> Any:
    """Rows, which may be times, and perhaps columns."""
    rows = draft.pick(("doc", "time"))
    dims = (draft.dim(rows), draft.dim(draft.pick(("term", "tag"))))[: draft.pick((1, 2, 2))]
    return link(draft, name, draft.positive(dims, 3), dims)


def topics(draft: Draft, name: str) -> Any:
    """φ·θ as in topic models, for which the first layer has kernels."""
    doc, term, k = draft.dim("doc"), draft.dim("term"), draft.dim("k", 2)
    theta = gamma(draft, (doc, k), 2)
    return link(draft, name, dirichlet(draft, term, (k,), 1) @ theta, (doc, term))


def tensor(draft: Draft, name: str) -> Any:
    """Three dims, and a product of three factors."""
    dims = tuple(draft.dim(kind) for kind in (draft.pick(("doc", "time")), "tag", "vertex"))
    k = draft.dim("k", 2)
    factors = tuple(gamma(draft, (dim, k), draft.pick((0, 1))) for dim in dims)
    return link(draft, name, pg.extend.Mix(factors=factors, over=k), dims)


def graph(draft: Draft, name: str) -> Any:
    """φ_i φ_j over pairs, all of them or some, perhaps of several parts."""
    vertex = draft.dim("vertex")
    parts = (draft.dim("k", 2),) if draft.chance(0.6) else ()
    shape = root(draft, (vertex,)) if draft.chance(0.5) else 2.0
    phi = draft.keep(
        pg.Gamma(draft.name("g"), shape, rates(draft, (vertex,), 0), dims=(vertex, *parts))
    )
    strength = (root(draft, parts),) if draft.chance(0.5) else ()
    if draft.chance(0.3):
        draft.sizes["edge"] = 3
        first, second = ([0, 1, 2], [1, 2, 0])
        source = pg.Categories(draft.name("s"), dims="edge", of=vertex, values=first)
        target = pg.Categories(draft.name("t"), dims="edge", of=vertex, values=second)
        factors, dims = (*strength, phi[source], phi[target]), ("edge",)
    else:
        draft.sizes |= {"i": SIZES["vertex"], "j": SIZES["vertex"]}
        factors = (*strength, phi.rename(**{vertex: "i"}), phi.rename(**{vertex: "j"}))
        dims = ("i", "j")
    rate: Any = factors[0]
    for factor in factors[1:]:
        rate = rate * factor
    rate = pg.extend.Mix(factors=(rate,), over=parts[0]) if parts else rate
    if dims == ("i", "j"):
        rate = pg.distinct(rate, "i", "j", ordered=draft.chance(0.5))
    return link(draft, name, rate, dims)


def totals(draft: Draft, name: str) -> Any:
    """Counts of a known total, by a mixture of proportions."""
    doc, term, k = draft.dim("doc"), draft.dim("term"), draft.dim("k", 2)
    theta = dirichlet(draft, k, (doc,), 1)
    phi = dirichlet(draft, term, (k,), 1)
    return pg.Multinomial(
        name, phi @ theta, over=term, dims=doc, total=pg.Constant([3, 0], dims=doc)
    )


def measured(draft: Draft, name: str) -> Any:
    """Real data around a linear predictor."""
    dims = (draft.dim("doc"), draft.dim("tag"))[: draft.pick((1, 2))]
    precision = root(draft, draft.some(dims, 0.3))
    return pg.ObservedNormal(name, predictor(draft, dims), precision, dims=dims)


DATA: dict[Callable[..., Any], float] = {
    table: 6.0, topics: 1.5, tensor: 0.6, graph: 0.9, totals: 0.6, measured: 0.4,
}  # fmt: skip

# ---- cases ------------------------------------------------------------------------------------


def draft(number: int) -> Case:
    """Case ``number``."""
    made = Draft(number)
    try:
        data = [made.way(DATA)(made, "x")]
        if made.chance(0.3):
            data.append(table(made, "y"))
        network = pg.Network(*data)
        network = network.with_sizes(**{dim: made.sizes[dim] for dim in network.dims})
        if made.chance(0.1):
            network = network.with_given(made.pick(network.latent))
    except pg.PgbnError as error:
        return Case(number, None, error, [], "", ["x", "y", *(node.name for node in made.nodes)])
    sampler = made.pick(samplers_of_network(network))
    order = accepted_order(network, made.dice)
    return Case(number, network, None, order, sampler, list(network.nodes))


def accepted_order(network: pg.Network, dice: random.Random) -> list[str]:
    """An order far from the derived one: steps moved at random as long as the check accepts it."""
    steps = {step.name: step for step in network.schedule}
    names = network.schedule.names
    for _ in range(4 * len(names)):
        order = list(names)
        moved = order.pop(int(dice.random() * len(order)))
        order.insert(int(dice.random() * (len(order) + 1)), moved)
        try:
            reorder(steps, order)
        except pg.StaleReadError:
            continue
        names = order
    return names


# ---- trials: rejected in words, or right by the joint-distribution test --------------------

MOST = 4.0  # |z|
SWEEPS = 5


def examine(case: Case, replicates: int, sweeps: int = SWEEPS) -> float:
    """The largest |z| of a case in the derived order and in its random one; an `AssertionError`
    is a finding."""
    assert case.network is not None
    orders = [None] if case.order == case.network.schedule.names else [None, case.order]
    return max(_examine(case, order, replicates, sweeps) for order in orders)


def _examine(case: Case, order: list[str] | None, replicates: int, sweeps: int) -> float:
    try:
        result = _result(case, order, replicates, sweeps, 1)
    except pg.StaleReadError:  # a sampler that integrates θ out accepts fewer orders
        assert order is not None, case.number
        assert case.sampler in ("collapsed", "partial"), case.number
        return 0.0
    if result.worst < MOST:
        return result.worst
    result = _result(case, order, 4 * replicates, sweeps, 2)
    assert result.worst < MOST, f"case {case.number}, {case.sampler}, order {order}: {result}"
    return result.worst


def _result(
    case: Case,
    order: list[str] | None,
    replicates: int,
    sweeps: int,
    seed: int,
    sampler: str | None = None,
    broken: Callable[[pg.Chain], None] | None = None,
) -> GewekeResult:
    """A warning of numpy, about a number that is none, is a finding too."""
    assert case.network is not None
    sampler = sampler or case.sampler
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return geweke(case.network, None, replicates, sweeps, seed, sampler, 1, broken, order=order)


def check_refusal(case: Case) -> None:
    """A refusal names a node, and says what to do in more than a few words."""
    words = str(case.refusal)
    assert len(words) > 60, f"case {case.number}: {words}"
    assert any(name in words for name in case.names), f"case {case.number}: {words}"


def is_seen(case: Case, mutant: str, replicates: int) -> bool | None:
    """Whether a network notices that its sampler is broken; None if it has no such part."""
    assert case.network is not None
    broken = mutants(case.network).get(mutant)
    if broken is None:
        return None
    return _result(case, None, replicates, SWEEPS, 1, broken.sampler, broken).worst > MOST


def outcome(number: int, replicates: int) -> tuple[str, float, str]:
    """What became of a case: its kind, its largest |z| and, of a finding, its words."""
    try:
        case = draft(number)
        if case.network is None:
            check_refusal(case)
            return "refused", 0.0, ""
        return "accepted", examine(case, replicates), ""
    except Exception as error:  # whatever it is, it is a finding
        return "found", 0.0, " ".join(f"{type(error).__name__}: {error}".split())[:1500]


def main() -> None:
    for case in map(draft, map(int, sys.argv[1:])):
        shown = case.refusal if case.network is None else case.network.schedule
        print(f"case {case.number}, sampler={case.sampler!r}, order {case.order}\n{shown}")
        if case.network is not None:
            for node in case.network.nodes.values():
                slots = ", ".join(f"{slot}={getattr(node, slot)}" for slot in node.slots())
                print(f"    {node.name}[{', '.join(node.axes)}] ~ {type(node).__name__}({slots})")


if __name__ == "__main__":
    main()
