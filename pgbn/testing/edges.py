"""An edge with its own evaluation, compared with the dense array of its coefficients.

    y_v = Σ_{e, f, …} c_{v,e,f,…} a_e b_f …

is evaluated at unit vectors, which gives all of c. This determines everything else: the value and
the exposures to rounding, and the law of the counts, a multinomial over the summands of each cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pgbn.checks import Count, Seed, at_least, check_integer, is_finite_number, numbers, validated
from pgbn.engine.run.sampling import free_dims
from pgbn.errors import DataError, NetworkError
from pgbn.nodes.edge import Edge
from pgbn.nodes.expression import Constant
from pgbn.samplers.random import Stream, stream_key

# ---- scores -------------------------------------------------------------------------------------
#
# The distance of a sample from a claim, in standard errors.
#
#     z_mean     (x̄ − μ) / (s / √n)
#     z_counts   Pearson's χ² of counts against exact probabilities, as a normal score
#
# A right claim gives a standard normal number; |z| > 4 refutes it. These are for lectures, and for
# the first test of a random primitive; `geweke` tests complete samplers.


def z_mean(sample: ArrayLike, mean: float) -> float:
    """The distance of the mean of independent draws from a claim, in standard errors.

    Parameters
    ----------
    sample : array_like
        At least two draws.
    mean : float
        The claimed mean.

    Returns
    -------
    float
        (x̄ − μ) / (s / √n); |z| > 4 refutes the claim.

    Examples
    --------
    >>> from pgbn.testing import z_mean
    >>> z_mean([1.0, 2.0, 3.0], 2.0)
    0.0
    """
    values = numbers("sample", sample).astype(np.float64).ravel()
    if not is_finite_number(mean):
        raise DataError(f"mean={mean!r:.60}: give a finite number")
    if values.size < 2:
        raise DataError(f"sample has {values.size} values; give at least 2")
    error = values.std(ddof=1) / np.sqrt(values.size)
    if error == 0.0:  # all draws are equal: right or infinitely wrong
        return 0.0 if values[0] == mean else float("inf")
    return float((values.mean() - mean) / error)


@validated
def z_counts(
    sample: ArrayLike, pmf: Callable[[NDArray[np.int64]], ArrayLike], top: Count = 40
) -> float:
    """How badly counts fit claimed probabilities.

    Parameters
    ----------
    sample : array_like
        At least two counts.
    pmf : callable
        A function from an array of counts to their probabilities.
    top : int
        Counts of at least this are one class. Classes that expect fewer than five draws are left
        out.

    Returns
    -------
    float
        Pearson's χ² as a normal score; a large positive number refutes the claim.

    Examples
    --------
    >>> import numpy as np
    >>> from pgbn.testing import z_counts
    >>> counts = np.random.default_rng(0).geometric(0.5, 1000) - 1
    >>> z_counts(counts, lambda n: 0.5 ** (n + 1.0)) < 4 < z_counts(counts, lambda n: 0.4 * 0.6**n)
    True
    """
    if not callable(pmf):
        raise DataError(f"pmf={pmf!r:.60}: give a function from counts to probabilities")
    values = numbers("sample", sample).ravel()
    if values.size < 2 or (values < 0).any() or (values != np.floor(values)).any():
        raise DataError("sample: give at least 2 counts, whole numbers from 0 on")
    capped = np.minimum(values.astype(np.int64), top)
    observed = np.bincount(capped, minlength=top + 1)
    below = np.asarray(pmf(np.arange(top)), np.float64) * values.size
    expected = np.append(below, values.size - below.sum())
    if (observed[expected < 1e-9] > 0).any():
        return float("inf")  # an impossible value was drawn
    kept = expected > 5
    return _chi_square(observed[kept], expected[kept])


def _chi_square(observed: NDArray[Any], expected: NDArray[Any]) -> float:
    """χ² of classes as a normal score."""
    if len(expected) < 2:
        return 0.0
    chi2 = ((observed - expected) ** 2 / expected).sum()
    return float(stats.norm.isf(max(stats.chi2.sf(chi2, len(expected) - 1), 1e-300)))


# ---- edges --------------------------------------------------------------------------------------


Array = NDArray[Any]
_CELLS, _EACH = 6, 3  # cells whose summands are tested one by one, counts in every cell
_LARGEST = 200_000  # coefficients


@dataclass(frozen=True)
class CheckResult:
    """The result of `check_edge` and of `compare_kernel`; it prints errors and z-scores.

    Attributes
    ----------
    errors : dict
        Relative errors of what is exact; those above 1e-8 are faults.
    z : dict
        z-scores of what is drawn; |z| of 4 and more is a fault.

    Examples
    --------
    >>> from pgbn.testing import CheckResult
    >>> CheckResult({"value": 1e-16}, {"counts of a": 5.1}).failures
    ['counts of a']
    """

    errors: dict[str, float]
    z: dict[str, float]

    @property
    def worst(self) -> float:
        """The largest |z|."""
        return max(map(abs, self.z.values()), default=0.0)

    @property
    def failures(self) -> list[str]:
        """The names of relative errors above 1e-8, and of |z| of 4 and more."""
        wrong = [name for name, error in self.errors.items() if not error < 1e-8]
        return wrong + [name for name, z in self.z.items() if not abs(z) < 4]

    def __str__(self) -> str:
        lines = [f"{name:<40} relative error {error:.1e}" for name, error in self.errors.items()]
        ranked = sorted(self.z.items(), key=lambda pair: -abs(pair[1]))[:8]
        lines += [f"{name:<40} z = {z:+.2f}" for name, z in ranked]
        return "\n".join(lines)


@validated
def check_edge(
    edge: Edge,
    sizes: Mapping[str, int],
    replicates: Annotated[int, at_least(100)] = 20_000,
    seed: Seed = 0,
) -> CheckResult:
    """Compare `evaluate`, `split` and `expose` of an edge with all its coefficients.

    Parameters
    ----------
    edge : Edge
        An edge that defines these three methods.
    sizes : mapping
        The sizes of its dims; tiny ones.
    replicates : int
        Splits of every count.
    seed : int
        Of all draws.

    Returns
    -------
    CheckResult
        Its ``failures`` name what is wrong.

    Examples
    --------
    `examples/skeletons/edge.py` defines an edge and checks it. An edge of pgbn needs no check:

    >>> import pgbn
    >>> pgbn.testing.check_edge(pgbn.Gamma("a", 1, 1) * 2.0, {"doc": 2})
    Traceback (most recent call last):
    ...
    pgbn.errors.NetworkError: check_edge: ...
    """
    if not isinstance(edge, Edge) or not edge.is_evaluated:
        raise NetworkError(
            f"check_edge: {edge}: give an edge that defines evaluate, split and expose; the value "
            "of one that defines expand is seen by keep= of net.sample"
        )
    if not isinstance(sizes, Mapping):
        raise DataError(f"check_edge: sizes={sizes!r:.60}: give a dict, such as {{'term': 3}}")
    sizes = {dim: check_integer(f"check_edge: size of {dim}", n, 1) for dim, n in sizes.items()}
    return _Check(edge, sizes, seed).result(replicates)


class _Check:
    """The operands of an edge at random values, and its coefficients."""

    def __init__(self, edge: Edge, sizes: Mapping[str, int], seed: int) -> None:
        self.edge, self.seed, self.dice = edge, seed, np.random.default_rng(seed)
        parts = {slot: getattr(edge, slot) for slot in edge.slots()}
        dims = {slot: free_dims(part) for slot, part in parts.items()}
        axes = edge.dims_of(**dims)
        self.dims, self.axes = dims, axes
        for dim in dict.fromkeys(dim for own in (*dims.values(), axes) for dim in own):
            if dim not in sizes:
                raise NetworkError(f"check_edge: sizes: give the size of {dim!r}")
        self.nodes = [slot for slot, part in parts.items() if not isinstance(part, Constant)]
        self.known = {slot: np.asarray(part.value, float)[None] for slot, part in parts.items()
                      if isinstance(part, Constant)}  # fmt: skip
        self.shapes = {slot: tuple(sizes[dim] for dim in dims[slot]) for slot in self.nodes}
        self.cells = tuple(sizes[dim] for dim in axes)
        entries = [prod(shape) for shape in self.shapes.values()]
        if prod(entries) * prod(self.cells) > _LARGEST:
            raise NetworkError(
                f"check_edge: {prod(entries) * prod(self.cells)} coefficients are too many (at "
                f"most {_LARGEST}); give smaller sizes"
            )
        chosen = np.array(list(product(*map(range, entries))))
        units = {
            slot: np.eye(size)[chosen[:, i]].reshape(-1, *self.shapes[slot])
            for i, (slot, size) in enumerate(zip(self.nodes, entries, strict=True))
        }
        self.entries = entries
        self.coefficients = self._evaluate(units, len(chosen)).reshape(*entries, -1)
        self.values = self._draw(1)

    def _evaluate(self, operands: Mapping[str, Array], copies: int) -> Array:
        found = np.asarray(self.edge.evaluate(**operands, **self.known), np.float64)
        if found.shape != (copies, *self.cells):
            raise NetworkError(
                f"check_edge: evaluate() returned an array of shape {found.shape} instead of "
                f"{(copies, *self.cells)}"
            )
        return found

    def _draw(self, copies: int) -> dict[str, Array]:
        return {s: self.dice.gamma(2.0, 0.5, (copies, *shape)) for s, shape in self.shapes.items()}

    def _summands(self, values: Mapping[str, Array], but: str = "") -> Array:
        """c times the operands, without one of them: (R, *entries, cells)."""
        whole = self.coefficients[None]
        for axis, slot in enumerate(self.nodes):
            if slot != but:
                shape = [-1, *(n if i == axis else 1 for i, n in enumerate(self.entries)), 1]
                whole = whole * values[slot].reshape(shape)
        return np.asarray(whole)

    def result(self, replicates: int) -> CheckResult:
        copies, errors = 3, {}
        values = self._draw(copies)
        over = tuple(range(1, 1 + len(self.nodes)))
        wanted = self._summands(values).sum(axis=over)
        errors["evaluate"] = _error(self._evaluate(values, copies).reshape(copies, -1), wanted)
        errors["least coefficient below 0"] = float(max(-self.coefficients.min(), 0.0))
        q = self.dice.gamma(2.0, 0.5, (copies, *self.cells))
        for axis, slot in enumerate(self.nodes):
            shape = (copies, *self.shapes[slot])
            others = {s: v for s, v in values.items() if s != slot}
            found = self.edge.expose(slot, q, shape, **others, **self.known)
            whole = self._summands(values, slot) * q.reshape(copies, *(1,) * len(self.nodes), -1)
            others_out = tuple(a for a in range(1, whole.ndim) if a != axis + 1)
            errors[f"expose {slot}"] = _error(
                np.asarray(found).reshape(copies, -1), whole.sum(axis=others_out)
            )
        for dim in self.edge.independent_dims(**self.dims):
            errors[f"rows of {dim} alone"] = self._alone(dim, values)
        return CheckResult(errors, self._one_by_one(replicates) | self._together(replicates))

    def _alone(self, dim: str, values: Mapping[str, Array]) -> float:
        """The largest error of the rows of the value, if each is evaluated alone.

        It is 0 if the rows are independent along the dim, as the edge says."""
        if dim not in self.axes:
            raise NetworkError(
                f"check_edge: independent_dims() names {dim!r}; the value has the dims {self.axes}"
            )
        axis, operands = 1 + self.axes.index(dim), {**values, **self.known}
        whole, worst = np.asarray(self.edge.evaluate(**operands), np.float64), 0.0
        for row in range(whole.shape[axis]):
            own = {
                slot: array.take([row], 1 + self.dims[slot].index(dim))
                if dim in self.dims[slot]
                else array
                for slot, array in operands.items()
            }
            alone = np.asarray(self.edge.evaluate(**own), np.float64)
            worst = max(worst, _error(alone, whole.take([row], axis)))
        return worst

    def _split(self, number: int, count: Array) -> dict[str, Array]:
        shape = (count.shape[0], *(1,) * (3 - len(self.cells)), *self.cells)
        stream = Stream(stream_key(self.seed, number), shape)
        found = self.edge.split(stream, count, **self.values, **self.known)
        return {slot: np.asarray(found[slot]).reshape(len(count), -1) for slot in self.nodes}

    def _one_by_one(self, replicates: int) -> dict[str, float]:
        """One count in one cell: which of its summands receives it."""
        law = self._summands(self.values)[0].reshape(-1, prod(self.cells))
        positive = np.flatnonzero(law.sum(axis=0) > 0)
        z: dict[str, float] = {}
        for number, cell in enumerate(self.dice.permutation(positive)[:_CELLS]):
            count = np.zeros((replicates, prod(self.cells)), np.int64)
            count[:, cell] = 1
            found = self._split(number, count.reshape(replicates, *self.cells))
            place = ", ".join(map(str, np.unravel_index(cell, self.cells)))
            name = f"one count in cell ({place})"
            if any((n.sum(axis=1) != 1).any() or (n < 0).any() for n in found.values()):
                z[name] = np.inf  # the count was lost, or doubled
                continue
            places = tuple(found[slot].argmax(axis=1) for slot in self.nodes)
            seen = np.bincount(np.ravel_multi_index(places, self.entries), minlength=len(law))
            z[name] = _z_classes(seen, law[:, cell] / law[:, cell].sum())
        return z

    def _together(self, replicates: int) -> dict[str, float]:
        """Counts in all cells: mean and variance of the counts of every entry."""
        summands = self._summands(self.values)[0]
        over = tuple(range(len(self.nodes)))
        total = summands.sum(axis=over)
        each = np.where(total > 0, _EACH, 0)
        count = np.broadcast_to(each.reshape(self.cells), (replicates, *self.cells))
        found = self._split(_CELLS, np.ascontiguousarray(count, np.int64))
        z = {}
        for axis, slot in enumerate(self.nodes):
            own = summands.sum(axis=tuple(a for a in over if a != axis))
            p = np.divide(own, total, out=np.zeros_like(own), where=total > 0)
            mean, variance = (p * each).sum(axis=1), (p * (1 - p) * each).sum(axis=1)
            for entry, n in enumerate(found[slot].T):
                z[f"mean of {slot} {entry}"] = z_mean(n, mean[entry])
                z[f"variance of {slot} {entry}"] = z_mean((n - mean[entry]) ** 2, variance[entry])
        return z


def _error(found: Array, wanted: Array) -> float:
    if found.shape != wanted.shape or not np.isfinite(found).all():
        return float("inf")
    return float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-300))


def _z_classes(seen: Array, law: Array) -> float:
    """χ² of classes with given probabilities as a normal score; infinite if one is impossible."""
    expected = law * seen.sum()
    if seen[law == 0].any():
        return float("inf")
    rare = expected < 5
    known = np.append(expected[~rare], expected[rare].sum())
    found = np.append(seen[~rare], seen[rare].sum())
    return _chi_square(found[known > 0], known[known > 0])
