"""What the scikit-learn estimators are given, checked: an error names the argument."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from pgbn.checks import MOST_THREADS, is_integral
from pgbn.data import check_sparse
from pgbn.errors import DataError

__all__ = [
    "blaming",
    "read_choice",
    "read_documents",
    "read_link",
    "read_seed",
    "read_threads",
]


def read_documents(estimator: Any, X: Any, reset: bool) -> Any:
    """Documents × terms as a csr_array, or dense as they were given. With ``reset`` the number and
    names of the terms are noted in the estimator, else they must be the ones it knows."""
    if sp.issparse(X):
        check_sparse("X", X)
    with blaming("X"):
        X = validate_data(
            estimator, X, accept_sparse="csr", reset=reset, ensure_non_negative=True,
            dtype=[np.float64, np.float32, np.int64, np.int32],
        )  # fmt: skip
    return sp.csr_array(X) if sp.issparse(X) else X


def read_link(link: str, X: Any) -> str:
    """The link; "auto" looks at the data."""
    if link != "auto":
        return link
    values = X.data if sp.issparse(X) else X
    whole = values.dtype.kind in "iu" or bool((values == np.floor(values)).all())
    return "poisson" if whole else "gamma"


def read_seed(random_state: Any) -> int:
    """A seed of pgbn from what scikit-learn takes."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"random_state={random_state!r}: {error}") from None


def read_threads(n_jobs: int | None) -> int | None:
    """The number of threads; None means all cores."""
    if n_jobs is None:
        return 1
    if not is_integral(n_jobs) or n_jobs == 0 or n_jobs > MOST_THREADS:
        raise DataError(
            f"n_jobs={n_jobs!r} must be None, -1 or an integer from 1 to {MOST_THREADS}"
        )
    return None if n_jobs < 0 else int(n_jobs)


def read_choice(estimator: Any, layer: int | None, output: str | None) -> tuple[int, str]:
    """The layer and the output asked for; None: those of the estimator."""
    default, depth = (estimator.layer, estimator.output), len(estimator.widths_)
    layer = default[0] if layer is None else layer
    output = default[1] if output is None else output
    if output not in ("layer", "concat"):
        raise DataError(f"output={output!r} must be 'layer' or 'concat'")
    if layer not in range(1, depth + 1):
        raise DataError(f"layer={layer!r}: the network has layers 1 to {depth}")
    config = getattr(estimator, "_sklearn_output_config", {}).get("transform", "default")
    if (layer, output) != default and config != "default":
        raise DataError(
            f"with set_output(transform={config!r}) the columns are those of the estimator: "
            f"call set_params(layer={layer!r}, output={output!r}) instead"
        )
    return layer, output


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """Errors of scikit-learn that do not say which argument is wrong get its name."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if name in str(error):
            raise
        kind = TypeError if isinstance(error, TypeError) else DataError
        hint = "; are these texts? count their terms first, with CountVectorizer"
        texts = str(error).startswith("could not convert string")
        raise kind(f"{name}: {error}{hint if texts else ''}") from error
