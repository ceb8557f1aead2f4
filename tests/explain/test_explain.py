"""Network.explain: the choice of a format, and texts that are the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import pgbn as pg
from tests.helpers.compositions import pfa


def test_unknown_format_names_the_allowed_ones() -> None:
    with pytest.raises(
        pg.NetworkError, match=r"format='word'.*'text', 'markdown', 'latex', 'html'"
    ):
        pfa().explain("word")


def test_the_text_does_not_depend_on_the_hashes_of_names() -> None:
    """Sets of reads have another order in another process."""
    program = "import pgbn; print(pgbn.zoo.gated_pfa(4).explain())"
    texts = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, check=True,
        ).stdout
        for seed in "0123"
    }  # fmt: skip
    assert len(texts) == 1
