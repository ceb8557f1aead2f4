"""What is computed before the sweeps of documents."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from pgbn.samplers.documents.sweeps import hash_documents


def test_a_document_is_known_by_its_terms_and_counts() -> None:
    x = sp.csr_array(np.array([[1, 2, 0], [1, 0, 2], [2, 1, 0]]))
    indptr, indices = x.indptr.astype(np.int64), x.indices.astype(np.int32)
    out = np.empty(3, np.uint64)
    hash_documents(0, 0, 3, indptr, indices, x.data.astype(np.int64).view(np.uint64), out)
    assert len(set(out.tolist())) == 3
