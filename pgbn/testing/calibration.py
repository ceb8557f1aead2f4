"""Simulation-based calibration (Talts et al. 2018): are posterior draws ranked as they should be?

A true value is drawn from the prior, data given it, and draws from the posterior by the sampler.
If the sampler is right, the rank of the true value among its draws is uniform. All simulations run
together, each from its true value, which is itself a draw from its posterior. So no burn-in is
needed, only a distance between draws at which they no longer depend on the true value. That
distance, the thinning, is chosen by the autocorrelation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from pgbn.checks import Count, Seed, at_least, validated
from pgbn.engine.run.chain import Chain
from pgbn.errors import DataError
from pgbn.network.network import Network
from pgbn.nodes.poisson import LARGEST_RATE
from pgbn.plot.picture import Picture
from pgbn.plot.ranks import rank_histograms
from pgbn.testing.geweke import check_network, reject_large_counts, statistics


@dataclass(frozen=True)
class CalibrationResult:
    """The result of `sbc`; it prints the smallest p-values.

    Attributes
    ----------
    ranks : dict
        The ranks of the true values, from 0 to ``draws``, for each statistic and simulation.
    draws : int
        Draws from each posterior.
    thin : int
        Sweeps between them.

    Examples
    --------
    >>> import numpy as np
    >>> from pgbn.testing import CalibrationResult
    >>> CalibrationResult({"theta": np.arange(100) % 10}, 9, 1).worst
    1.0
    """

    ranks: dict[str, NDArray[np.int64]]
    draws: int
    thin: int

    def histogram(self, name: str, bins: int = 20) -> NDArray[np.int64]:
        """How many simulations have a rank in each of equally likely bins.

        Parameters
        ----------
        name : str
            A statistic.
        bins : int
            Fewer if there are fewer ranks.

        Returns
        -------
        array
            A number for each bin.

        Examples
        --------
        >>> import numpy as np
        >>> from pgbn.testing import CalibrationResult
        >>> CalibrationResult({"theta": np.array([0, 1, 1, 3])}, 3, 1).histogram("theta", 2)
        array([3, 1])
        """
        bins = min(bins, self.draws + 1)
        place = self.ranks[name] * bins // (self.draws + 1)
        return np.bincount(place, minlength=bins)

    @property
    def p_values(self) -> dict[str, float]:
        """The p-value of a chi-square test that the ranks are uniform, for every statistic."""
        out = {}
        for name in self.ranks:
            observed = self.histogram(name)
            expected = observed.sum() * self._shares(observed.size)
            score = float(((observed - expected) ** 2 / expected).sum())
            out[name] = float(chi2.sf(score, observed.size - 1))
        return out

    def _shares(self, bins: int) -> NDArray[np.float64]:
        """The probability of each bin: ranks do not always divide evenly."""
        place = np.arange(self.draws + 1) * bins // (self.draws + 1)
        return np.bincount(place, minlength=bins) / (self.draws + 1)

    @property
    def worst(self) -> float:
        """The smallest p-value times the number of statistics (Bonferroni), at most 1."""
        return min(1.0, min(self.p_values.values()) * len(self.ranks))

    def plot(self) -> Picture:
        """A histogram of ranks for every statistic, as SVG; the band contains 99 of 100 bars.

        Returns
        -------
        Picture
            A notebook shows it.

        Examples
        --------
        >>> import numpy as np
        >>> from pgbn.testing import CalibrationResult
        >>> result = CalibrationResult({"theta": np.arange(100) % 10}, 9, 1)
        >>> "<svg" in str(result.plot())
        True
        """
        shares = {name: self._shares(self.histogram(name).size) for name in self.ranks}
        return rank_histograms({name: self.histogram(name) for name in self.ranks}, shares)

    def _repr_svg_(self) -> str:
        return str(self.plot())

    def __str__(self) -> str:
        simulations = next(iter(self.ranks.values())).size
        lines = [
            f"{simulations} simulations, {self.draws} draws each, one in {self.thin} sweeps; "
            f"corrected p-value {self.worst:.3g}"
        ]
        order = sorted(self.p_values.items(), key=lambda pair: pair[1])
        lines += [f"  {name:<30} p = {p:.3g}" for name, p in order[:8]]
        return "\n".join(lines)

    __repr__ = __str__


@validated
def sbc(
    network: Network,
    sizes: Mapping[str, int] | None = None,
    simulations: Annotated[int, at_least(20)] = 2000,
    draws: Count = 19,
    thin: Count | None = None,
    seed: Seed = 0,
    sampler: str = "blocked",
    threads: int | None = None,
    broken: Callable[[Chain], None] | None = None,
) -> CalibrationResult:
    """Simulation-based calibration: a right sampler has uniform ranks.

    Parameters
    ----------
    network : Network
        The network, with mild priors.
    sizes : mapping, optional
        The sizes of its dims; tiny ones.
    simulations : int
        True values, each with data of its own.
    draws : int
        Draws from each posterior.
    thin : int, optional
        Sweeps between draws; by default the fewest at which every statistic has an autocorrelation
        below 0.05. A statistic is a mean over a node.
    seed : int
        Of all draws.
    sampler, threads, broken
        As in `geweke`.

    Returns
    -------
    CalibrationResult
        The ranks, and p-values of their uniformity.

    Examples
    --------
    >>> import pgbn
    >>> theta = pgbn.Gamma("theta", 4, 4, dims="doc")
    >>> network = pgbn.Network(pgbn.Poisson("x", theta, dims="doc"))
    >>> pgbn.testing.sbc(network, {"doc": 3}, simulations=100, draws=9, thin=1).worst > 1e-4
    True
    """
    check_network(network, sizes, "sbc", broken)

    def begun(seed: int) -> Chain:
        chain = Chain._replicated(network, sizes or {}, simulations, seed, sampler, threads)
        reject_large_counts(chain, "sbc", LARGEST_RATE)
        return chain

    if thin is None:
        thin = _forgotten(begun((seed + 1) % 2**64))
    chain = begun(seed)
    if broken is not None:
        broken(chain)
    truth = _hidden(chain)
    below = {name: np.zeros(simulations, np.int64) for name in truth}
    ties = np.random.default_rng(seed)
    for _ in range(draws):
        chain.sweep(thin)
        for name, value in _hidden(chain).items():
            equal = (value == truth[name]) & (ties.random(simulations) < 0.5)
            below[name] += (value < truth[name]) | equal
    return CalibrationResult(below, draws, thin)


def _hidden(chain: Chain) -> dict[str, NDArray[np.float64]]:
    """The statistics of single latent nodes: those of data are the same in all draws."""
    chain._refresh()
    latent = {f"{name}{power}" for name in chain.network.latent for power in ("", "²")}
    return {name: value for name, value in statistics(chain).items() if name in latent}


def _forgotten(chain: Chain, least: float = 0.05, longest: int = 1600) -> int:
    """The distance at which draws of one posterior are no longer correlated.

    The autocorrelation of every statistic, averaged over all simulations, is below ``least``."""
    kept: dict[str, list[NDArray[np.float64]]] = {}
    length = 100
    while length <= longest:
        while len(next(iter(kept.values()), [])) < length:
            chain.sweep()
            for name, value in _hidden(chain).items():
                kept.setdefault(name, []).append(value)
        found = max(_distance(np.array(values), least) for values in kept.values())
        if 8 * found <= length:  # otherwise the series is too short
            return found
        length *= 2
    raise DataError(
        f"sbc: after {longest} sweeps draws are still correlated with those before; give thin=, "
        "smaller sizes or milder priors"
    )


def _distance(series: NDArray[np.float64], least: float) -> int:
    """The first lag, from 1, with an autocorrelation below ``least``; time is the first axis."""
    apart = series - series.mean(axis=0)
    whole = float((apart**2).mean())
    for lag in range(1, len(series) // 2):
        if float((apart[lag:] * apart[:-lag]).mean()) < least * whole:
            return lag
    return len(series)
