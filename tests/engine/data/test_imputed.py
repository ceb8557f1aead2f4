"""Missing cells: what is imputed, and how it is read; types of a user's own.

With a cell unknown, the posterior is the one of the other cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import pgbn
from pgbn import DataError, Gamma, Network, Poisson, PoissonGamma
from pgbn.nodes.base import Array
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from tests.helpers.small_data import X as SMALL
from tests.helpers.small_data import run, same

X = np.random.default_rng(0).poisson(2.0, (6, 5))
HIDDEN = np.zeros(X.shape, bool)
HIDDEN[0, 1] = HIDDEN[3, 4] = True


def masked() -> np.ma.MaskedArray:
    return np.ma.masked_array(np.where(HIDDEN, 1000, X), mask=HIDDEN)


def test_known_cells_stay_and_missing_ones_are_drawn() -> None:
    chain = pgbn.zoo.pfa(3).chain({"x": masked()}, seed=1)
    seen = np.array([chain.sweep().imputed("x") for _ in range(20)])
    assert seen.dtype == np.int64
    assert (seen[:, ~HIDDEN] == X[~HIDDEN]).all()
    assert (seen[:, HIDDEN].std(axis=0) > 0).all()
    assert seen[:, HIDDEN].max() < 1000  # what stands under the mask is not read
    assert np.array_equal(chain.counts["theta1"].sum(axis=1), seen[-1].sum(axis=1))


def draws_of(
    net: Network, data: Any, draws: int = 6000, seed: int = 1, **options: Any
) -> pgbn.Draws:
    return net.sample({"x": data}, 50, draws, seed=seed, progress=False, threads=1, **options)


def z_score(draws: np.ndarray, mean: float) -> float:
    """Of a mean, with the standard error of batch means, so that autocorrelation counts."""
    batches = draws.reshape(60, -1).mean(axis=1)
    return float((batches.mean() - mean) / (batches.std(ddof=1) / np.sqrt(60)))


def test_a_masked_cell_says_nothing() -> None:
    """g ~ Gam(2, 1), x_i ~ Pois(g): with a cell unknown, g ~ Gam(a, c) of a = 2 + Σ known and
    c = 1 + known, and the cell is NB(a, 1/(1 + c))."""
    net = Network(Poisson("x", Gamma("g", 2, 1), dims="cell"))
    data = np.ma.masked_array([3, 7, 1], [False, True, False])
    found = draws_of(net, data, 12_000, keep=["g", "x"], sampler="blocked")
    assert found.dims["x"] == ("chain", "draw", "cell")
    assert np.array_equal(found.mean("x")[[0, 2]], [3, 1])
    exact, cell = stats.gamma(2 + 4, scale=1 / (1 + 2)), stats.nbinom(6, 3 / 4)
    for draws, law in ((found["g"][0], exact), (found["x"][0, :, 1], cell)):
        assert abs(z_score(draws, law.mean())) < 4
        assert abs(z_score((draws - law.mean()) ** 2, law.var())) < 4
    assert stats.kstest(found["g"][0, ::20], exact.cdf).pvalue > 1e-4
    zero = draws_of(net, [3, 0, 1])["g"][0]  # a known zero is not the same
    assert abs(z_score(zero, exact.mean())) > 10


def test_what_lies_under_the_mask_does_not_matter() -> None:
    mask = SMALL == 1
    under = [np.where(mask, value, SMALL.astype(float)) for value in (np.nan, -5.0, 1e300, 0.0)]
    chains = [run(np.ma.masked_array(array, mask)) for array in under]
    assert all(same(chains[0], chain) for chain in chains[1:])
    assert chains[0].log_joint() == chains[-1].log_joint()
    assert np.isfinite(run(np.ma.masked_all((2, 2), int)).log_joint())


# ---- observed types of a user's own: imputed by the type's own rule, or rejected ----

MASKED = np.ma.masked_array([10, 12, 0, 9], [False, False, True, False])


class Exposed(pgbn.extend.Observed):
    """x ~ Pois(offset · rate)."""

    rate: pgbn.extend.Slot
    offset: pgbn.extend.Slot

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.poisson(stream, slots["rate"] * slots["offset"])

    def log_density(self, value: Array, **slots: Any) -> Array:
        return stats.poisson.logpmf(value, slots["rate"] * slots["offset"])


class ByFunction(Exposed):
    """The same, with the exposure as a function."""


class ByNumber(Exposed):
    """The same with an offset of 4, as a number."""


pgbn.extend.counts_are_data(Exposed, "rate")
held: dict[str, Any] = {"relation": "given", "count": "count"}
pgbn.extend.evidence_rule(Exposed, "rate", exposure="offset", **held)
pgbn.extend.evidence_rule(Exposed, "offset", exposure="rate", **held)
pgbn.extend.evidence_rule(ByFunction, "rate", exposure=lambda offset: 1.0 * offset, **held)
pgbn.extend.evidence_rule(ByNumber, "rate", exposure=4.0, **held)


@pytest.mark.parametrize("kind", [Exposed, ByFunction, ByNumber])
@pytest.mark.parametrize("varies", [False, True])
def test_cells_are_imputed_with_their_exposure(kind: type[Exposed], varies: bool) -> None:
    """λ ~ Gam(2.5, 1.5), x_i ~ Pois(o_i λ): λ ~ Gam(2.5 + Σ known x, 1.5 + Σ known o)."""
    values = np.array([3.0, 4.0, 7.0, 5.0]) if varies and kind is not ByNumber else np.full(4, 4.0)
    offset = pgbn.Constant(values, dims="i") if varies else 4.0
    net = Network(kind("x", Gamma("rate", 2.5, 1.5), offset, dims="i"))
    draws = draws_of(net, MASKED)["rate"][0]
    exact = stats.gamma(2.5 + 31, scale=1 / (1.5 + values[[0, 1, 3]].sum()))
    assert abs(z_score(draws, exact.mean())) < 4
    assert abs(z_score((draws - exact.mean()) ** 2, exact.var())) < 4


class Spread(pgbn.PoissonGamma):
    """y ~ Gam(n, noise), n ~ Pois(rate), whose noise hears n by a function."""


class Drawn(pgbn.PoissonGamma):
    """The same with a function of the stream."""


pgbn.extend.evidence_rule(Spread, "noise", relation="given", exposure=lambda value: value + 0.0)(
    lambda count: 1.0 * count
)
pgbn.extend.evidence_rule(Drawn, "noise", relation="given", exposure="value")(
    lambda stream, count: count
)


LONG = [Drawn, PoissonGamma, pgbn.BernoulliPoisson]


@pytest.mark.parametrize("kind", [Spread, *(pytest.param(k, marks=pytest.mark.long) for k in LONG)])
def test_imputed_counts_say_nothing_to_any_slot(kind: type[Any]) -> None:
    """The posterior is the one without the cell."""
    real = issubclass(kind, PoissonGamma)
    slots = [Gamma("rate", 6, 1), *[Gamma("noise", 3, 2)] * real]
    data = np.array([1.5, 9.0, 0.5] if real else [1, 1, 0])
    masked = draws_of(Network(kind("x", *slots, dims="i")), np.ma.masked_array(data, [0, 1, 0]))
    built_in = PoissonGamma if real else kind
    known = draws_of(Network(built_in("x", *slots, dims="i")), data[[0, 2]], seed=2)
    for slot in slots:
        first, second = (d[slot.name].reshape(60, -1).mean(axis=1) for d in (masked, known))
        assert abs(stats.ttest_ind(first, second).statistic) < 4, slot.name


class OwnExposure(Exposed):
    """An exposure made from the data: what an unknown cell would tell is unknown too."""


class OwnCount(Exposed):
    """A count made from the data."""


class Chances(Exposed):
    """Evidence about a probability: not that of a Poisson count."""


pgbn.extend.evidence_rule(OwnExposure, "rate", exposure=lambda value: 1.0 + value, **held)
pgbn.extend.evidence_rule(OwnCount, "rate", relation="given", exposure=1.0)(
    lambda count: 2.0 * count
)
pgbn.extend.evidence_rule(Chances, "rate", kind="probability", exposure="offset", **held)

RATE = Gamma("rate", 2, 1)


@pytest.mark.parametrize(
    ("node", "slot"),
    [
        (OwnExposure("x", RATE, 1, dims="i"), "rate"),
        (OwnCount("x", RATE, 1, dims="i"), "rate"),
        (Chances("x", pgbn.Beta("p", 1, 1), 1, dims="i"), "rate"),
        (Exposed("x", RATE, Gamma("offset", 2, 1), dims="i"), "offset"),
    ],
    ids=["exposure", "count", "probability", "other slot"],
)
def test_masks_are_refused_where_cells_cannot_be_imputed(
    node: pgbn.extend.Observed, slot: str
) -> None:
    net = Network(node)
    kind = type(node).__name__
    with pytest.raises(DataError, match=f"x: .*masked cells.* rule of {kind} for {slot}.* omit"):
        net.chain({"x": MASKED})
    net.chain({"x": MASKED.filled(1)}).sweep()
