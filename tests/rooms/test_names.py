"""Names of one model stand in the zoo, in the tables of names there, and nowhere else."""

from __future__ import annotations

import re

from tests.rooms.table import PACKAGE

# The belief network's scores, loadings and p, with the number of a layer.
SPELLED = re.compile(r"(?<![A-Za-z])(?:theta|phi|p)[1-9](?![A-Za-z0-9])")
# The examples of docstrings, with their output: they use models of the zoo.
EXAMPLE = re.compile(r"^ *>>> .*\n(?: *[^\s\"].*\n)*", re.MULTILINE)


def test_no_folder_but_the_zoo_spells_a_node_of_a_model() -> None:
    assert all(SPELLED.search(text) for text in ("theta1", '"phi1"', "values['p2']", "{phi3}"))
    assert not SPELLED.search("exp1, theta, phi_image, alpha2, p25")
    found = {
        str(path.relative_to(PACKAGE)): SPELLED.findall(EXAMPLE.sub("", path.read_text("utf-8")))
        for ending in ("py", "js")
        for path in PACKAGE.rglob(f"*.{ending}")
        if PACKAGE / "zoo" not in path.parents
    }
    shown = {"explain/names.py", "training/topic_methods.py", "training/training_result.py"}  # the
    # last two in examples
    assert {path for path, names in found.items() if names} == shown
