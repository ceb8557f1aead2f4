"""The freshness table."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import pgbn as pg
from pgbn.network.schedule import reorder
from pgbn.plot.schedule import freshness_table
from tests.same_bits.networks import small_zoo


def marks(name: str, schedule: pg.network.schedule.Schedule) -> dict[str, str]:
    cells = freshness_table(schedule.steps)[name]
    pairs = zip(schedule.names, cells, strict=True)
    return {
        step: cell.mark + "/stale" * cell.stale for step, cell in pairs if cell.mark or cell.stale
    }


def test_the_table_of_two_layers() -> None:
    schedule = pg.zoo.pgbn([3, 2]).schedule
    assert marks("theta2", schedule) == {
        "counts(theta1)": "read", "c3": "Σ read", "p2": "Σ read", "gamma0": "out/stale",
        "r": "out/stale", "theta2": "drawn", "theta1": "read",
    }  # fmt: skip
    assert marks("theta1", schedule)["c0"] == "/stale"


def test_a_stale_read_is_marked() -> None:
    schedule = pg.zoo.pgbn([3, 2]).schedule
    order = [name for name in schedule.names if name != "c3"]
    order.insert(order.index("theta2"), "c3")
    wrong = reorder({step.name: step for step in schedule}, order, check=False)
    assert marks("theta2", wrong)["c3"].startswith("stale!")
    assert "read stale by c3" in str(wrong.plot())
    assert wrong.faults


@pytest.mark.parametrize("name", small_zoo())
def test_every_network_has_a_picture(name: str) -> None:
    network = small_zoo()[name]
    for sampler in ("blocked", "collapsed") if "poisson" in name else ("blocked",):
        picture = str(network.schedule_for(sampler).plot())
        ElementTree.fromstring(picture)
        for number in range(1, len(network.schedule) + 1):
            assert f">{number}</text>" in picture
