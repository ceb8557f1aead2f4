"""Names of one model stand in the zoo, in the tables of names there, and nowhere else."""

from __future__ import annotations

import re

import pytest

from tests.rooms.table import PACKAGE

# The belief network's scores, loadings and p, with the number of a layer.
SPELLED = re.compile(r"(?<![A-Za-z])(?:theta|phi|p)[1-9](?![A-Za-z0-9])")
# The tables of names: how a name is written in formulas.
TABLES = ("explain/names.py",)


def spelled(text: str) -> list[str]:
    """The names of nodes with the number of a layer."""
    return SPELLED.findall(text)


@pytest.mark.parametrize("name", ["theta1", '"phi1"', "values['p2']", "{phi3}"])
def test_names_are_found(name: str) -> None:
    assert spelled(f"x = {name}")
    assert not spelled("exp1, theta, phi_image, alpha2, p25")


def test_no_room_but_the_zoo_spells_a_node_of_a_model() -> None:
    files = [path for ending in ("py", "js") for path in sorted(PACKAGE.rglob(f"*.{ending}"))]
    outside = [
        path
        for path in files
        if (PACKAGE / "zoo") not in path.parents
        and path.relative_to(PACKAGE).as_posix() not in TABLES
    ]
    assert outside
    found = {str(path.relative_to(PACKAGE)): spelled(path.read_text("utf-8")) for path in outside}
    assert not {path: names for path, names in found.items() if names}
