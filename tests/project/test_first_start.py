"""What a first `fit` and a first `transform` compile: a new kernel, or a second kind of arguments for
one, is time that every new user waits."""

from __future__ import annotations

import json
import subprocess
import sys

_CODE = """
import gc, json, warnings
import numpy as np
from scipy.sparse import csr_matrix
import pgbn
from pgbn.samplers.linked import Kernel

def kernels():
    found = {}
    for each in gc.get_objects():
        if isinstance(each, Kernel) and each.overloads:
            found[each.__qualname__] = found.get(each.__qualname__, 0) + len(each.overloads)
    return found

warnings.simplefilter("ignore")
rows = csr_matrix(np.random.default_rng(0).poisson(0.3, (200, 300)))
model = pgbn.PGBN(burn_in=3, collect=2, random_state=0).fit(rows)
fit = kernels()
model.transform(rows)
both = kernels()
print(json.dumps([fit, {name: both[name] - fit.get(name, 0) for name in both}]))
"""

_FIT = {
    "_allocate_rows", "_draw_blocks", "_draw_words", "_fill", "_log1p", "_row_totals",
    "_word_order", "_write_words", "beta_odds_rows", "contract", "count_rows", "count_tables",
    "crt_rows", "dense_counts", "draw_labels", "gamma_rows", "list_words", "share_tables",
    "sum_rows",
}  # fmt: skip
_TRANSFORM = {"hash_documents", "project_rows", "sweep_documents"}


def test_no_kernel_is_compiled_that_is_not_listed_and_none_twice() -> None:
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=True)
    fit, transform = json.loads(done.stdout)
    assert fit == dict.fromkeys(_FIT, 1)
    assert {name: number for name, number in transform.items() if number} == dict.fromkeys(
        _TRANSFORM, 1
    )
