"""The same classifier on the words themselves: counts, and counts over their sum (table 1).

What no model of topics is needed for: it says how our corpus compares with the paper's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import Results, arguments, work
from corpora import load_newsgroups
from logistic import STRENGTHS, classify


def counts(X: sp.csr_array) -> sp.csr_array:
    return X.astype(np.float64)


def frequencies(X: sp.csr_array) -> sp.csr_array:
    """Each document's counts over their sum; an empty document stays empty."""
    length = np.maximum(X.sum(axis=1), 1)
    return sp.csr_array(sp.diags_array(1.0 / length) @ X)


def main(argv: Sequence[str] | None = None) -> None:
    def more(parser: Any) -> None:
        parser.add_argument("--terms", type=int, nargs="+", default=[2000, 0], help="0: all")

    options = arguments(__doc__ or "", [], 1, argv, more)
    results = Results(options.out / "words.json")
    for chosen in options.terms:
        corpus = load_newsgroups(options.data, chosen, options.quick)
        terms = corpus["train"].shape[1]
        for kind in ("counts", "frequencies"):
            key = f"V={terms} {kind}"
            if key in results:
                continue
            change = frequencies if kind == "frequencies" else counts
            train, test = change(corpus["train"]), change(corpus["test"])
            (accuracy, C), cost = work(
                options, classify, train, corpus["train_labels"], test, corpus["test_labels"],
                STRENGTHS[::5] if options.quick else STRENGTHS,
            )  # fmt: skip
            results.add(key, accuracy=accuracy, C=C, terms=terms, kind=kind,
                        classifier_seconds=cost["seconds"])  # fmt: skip


if __name__ == "__main__":
    main()
