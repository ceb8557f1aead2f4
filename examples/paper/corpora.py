"""The corpora of the experiments, read from .npz files."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp

CSR = ("data", "indices", "indptr")
ARRAYS = {
    "20newsgroups": (
        "groups", "vocabulary",
        *(f"{part}_{name}" for part in ("train", "test") for name in (*CSR, "labels")),
    ),
    "nips12": ("vocabulary", *CSR),
}  # fmt: skip
QUICK_DOCUMENTS, QUICK_TERMS = 300, 300


def load_newsgroups(path: Path, terms: int = 0, quick: bool = False) -> dict[str, Any]:
    """20newsgroups: train, test (CSR), train_labels, test_labels, groups, vocabulary.

    Only the ``terms`` with the largest total count over train and test; 0: all.
    """
    file = _read(path, "20newsgroups")
    size = file["vocabulary"].size
    out: dict[str, Any] = {"groups": file["groups"], "vocabulary": file["vocabulary"]}
    for part in ("train", "test"):
        out[part] = _counts(file, f"{part}_", size)
        out[f"{part}_labels"] = file[f"{part}_labels"].astype(np.int64)
    if quick:
        terms = QUICK_TERMS
        for part in ("train", "test"):
            few = _few(out[part])
            out[part], out[f"{part}_labels"] = out[part][few], out[f"{part}_labels"][few]
    if not terms:
        return out
    total = np.asarray(out["train"].sum(axis=0) + out["test"].sum(axis=0)).ravel()
    kept = _most_frequent(total, terms)
    changed = {part: sp.csr_array(out[part][:, kept]) for part in ("train", "test")}
    return out | changed | {"vocabulary": out["vocabulary"][kept]}


def load_nips(
    path: Path, terms: int = 2000, quick: bool = False
) -> tuple[sp.csr_array, np.ndarray]:
    """NIPS12 with its most frequent terms, and their names."""
    file = _read(path, "nips12")
    vocabulary = file["vocabulary"]
    X = _counts(file, "", vocabulary.size)
    if quick:
        X, terms = X[_few(X)[::5]], QUICK_TERMS  # papers are long
    kept = _most_frequent(np.asarray(X.sum(axis=0)).ravel(), terms)
    return sp.csr_array(X[:, kept]), vocabulary[kept]


def _read(path: Path, corpus: str) -> dict[str, np.ndarray]:
    """The arrays of a corpus; of any other file, which one is needed."""
    need = f"this experiment needs {corpus}.npz, with the arrays {', '.join(ARRAYS[corpus])}"
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in ARRAYS[corpus] if name not in file]
            if not missing:
                return {name: file[name] for name in ARRAYS[corpus]}
    except (OSError, ValueError, TypeError, BadZipFile):
        raise SystemExit(f"--data {path}: cannot be read as an .npz file; {need}") from None
    raise SystemExit(f"--data {path}: no array {missing[0]!r}; {need}")


def _counts(file: Any, prefix: str, terms: int) -> sp.csr_array:
    data, indices, indptr = (file[f"{prefix}{name}"] for name in CSR)
    return sp.csr_array((data.astype(np.int64), indices, indptr), shape=(indptr.size - 1, terms))


def _few(X: sp.csr_array) -> np.ndarray:
    """Some rows, evenly spread."""
    return np.arange(0, X.shape[0], max(1, X.shape[0] // QUICK_DOCUMENTS))


def _most_frequent(total: np.ndarray, terms: int) -> np.ndarray:
    return np.sort(np.argsort(-total, kind="stable")[:terms])
