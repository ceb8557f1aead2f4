"""Nodes, networks and orders that are rejected: rejected.txt has expressions and their errors.

``python -m tests.network.test_rejected`` writes the errors of all expressions again; read the
difference before you commit it. ``[...]`` stands for words of other packages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pgbn
from pgbn.network.layers import compare
from tests.helpers import small_networks
from tests.helpers.normal_networks import features

FILE = Path(__file__).with_name("rejected.txt")
NAMES = {
    **{name: getattr(pgbn.extend, name) for name in pgbn.extend.__all__},
    **{name: getattr(pgbn, name) for name in pgbn.__all__},
    **vars(small_networks),
    **{"np": np, "pd": pd, "compare": compare, "features": features},
}


def rejected(file: Path = FILE) -> dict[str, str]:
    """The errors by expression; an error is indented."""
    entries = (entry.partition("\n    ") for entry in file.read_text("utf-8").strip().split("\n\n"))
    return {expression: error.replace("\n    ", "\n") for expression, _, error in entries}


def error_of(expression: str, names: Mapping[str, Any] = NAMES) -> str:
    try:
        eval(expression, dict(names))
    except (pgbn.PgbnError, AttributeError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def fits(expected: str, error: str) -> bool:
    return bool(
        re.fullmatch(re.escape(expected).replace(re.escape("[...]"), ".*"), error, re.DOTALL)
    )


@pytest.mark.parametrize("expression", rejected())
def test_rejected(expression: str) -> None:
    expected, error = rejected()[expression], error_of(expression)
    assert fits(expected, error), f"{error}\n\nexpected:\n{expected}"


def write(file: Path = FILE, names: Mapping[str, Any] = NAMES) -> None:
    """Write the file with the errors of today; those that fit stay as they are."""
    entries = []
    for expression, expected in rejected(file).items():
        error = error_of(expression, names)
        text = expected if fits(expected, error) else error
        entries.append(f"{expression}\n    " + text.replace("\n", "\n    "))
    file.write_text("\n\n".join(entries) + "\n", "utf-8")


if __name__ == "__main__":
    write()
