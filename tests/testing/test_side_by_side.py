"""Right beside wrong."""

from __future__ import annotations

from pgbn.testing import mutant_table
from tests.same_bits.networks import small_zoo


def test_the_table() -> None:
    table = mutant_table(small_zoo()["pgbn poisson 2"], {"doc": 3, "term": 3}, 1000, 3, threads=2)
    assert list(table.rows) == [
        "CRT off by one", "rate for scale", "stale order", "tokens in topic order",
    ]  # fmt: skip
    for name in ("CRT off by one", "rate for scale"):
        _, right, wrong = table.rows[name]
        assert right.worst < 4 < 6 < wrong.worst
    assert "gamma0 is drawn with scale c + q" in str(table)
    assert table._repr_markdown_().count("\n") == 6
