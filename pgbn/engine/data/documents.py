"""Documents × terms beside a model, as arrays of a file."""

from __future__ import annotations

from typing import Any

from pgbn.engine.data.cells import read_array
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.poisson_gamma import PoissonGamma
from pgbn.storage.codecs import Group, register_documents
from pgbn.storage.sparse import row_arrays

__all__ = ["document_arrays"]

# Takes any number from 0 on.
_ANY = PoissonGamma("data", 1.0, Gamma("noise", 1.0, 1.0), dims=("doc", "term"))


def document_arrays(X: Any) -> Group:
    """The documents that belong to a model; unknown cells count as 0."""
    cells = read_array(_ANY, X)
    return row_arrays(cells.shape, cells.indptr, cells.indices, cells.values)


register_documents(document_arrays)
