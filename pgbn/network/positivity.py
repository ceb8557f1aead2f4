"""Where constants leave a sum positive: Σ_i w_i a_i with known w_i ≥ 0 and positive a_i is positive
at a place if one of the w_i is."""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_letters

import numpy as np
from numpy.typing import NDArray

from pgbn.network.terms import Term

__all__ = ["leave_no_gap"]

Mask = tuple[tuple[str, ...], NDArray[np.bool_]]


def leave_no_gap(terms: Iterable[Term]) -> bool:
    """Whether at every place one of the terms has constants that are all positive."""
    masks = [_mask(term) for term in terms]
    dims = tuple(dict.fromkeys(dim for own, _ in masks for dim in own))
    covered = np.zeros((1,) * len(dims), bool)
    for own, mask in masks:
        order = [own.index(dim) for dim in dims if dim in own]
        shape = [mask.shape[own.index(dim)] if dim in own else 1 for dim in dims]
        try:
            covered = covered | mask.transpose(order).reshape(shape)
        except ValueError:  # sizes that do not agree, which are refused with the data
            return False
    return bool(covered.all())


def _mask(term: Term) -> Mask:
    """Where the constants of a term are positive for some summand, with the dims that they have."""
    every = [(f, f.constant > 0) for f in term.factors if f.constant is not None]
    if any(factor.lookups and not where.all() for factor, where in every):
        return (), np.asarray(False)  # which entries are read is known with the data only
    known = [(factor.dims, where) for factor, where in every
             if not factor.lookups and not factor.is_sparse]  # fmt: skip
    for factor in (factor for factor in term.factors if factor.is_sparse):
        elsewhere = {dim for own, _ in known for dim in own}
        summed = [dim for dim in factor.dims if dim in term.contracted and dim not in elsewhere]
        if not summed:  # where it is 0 is not written down cell by cell
            return (), np.asarray(factor.constant.min() > 0)
        axis = factor.dims.index(summed[0])
        known.append(((factor.dims[1 - axis],), factor.constant.sum(axis=axis) > 0))
    letters = dict(zip(dict.fromkeys(d for own, _ in known for d in own), ascii_letters,
                       strict=False))  # fmt: skip
    dims = tuple(dim for dim in letters if dim not in term.contracted)
    names = ["".join(letters[dim] for dim in own) for own, _ in known]
    formula = f"{','.join(names)}->{''.join(letters[dim] for dim in dims)}"
    ones = [where.astype(np.int64) for _, where in known]
    return dims, np.asarray(np.einsum(formula, *ones) > 0 if known else True)
