"""Node types of another package: found by their entry point, composed with ours, and right.

The package in ``plugin_package`` is laid out in a temporary folder as an installer would do it
(module and dist-info), and used in fresh processes that have that folder on their path.
Nothing is installed in this environment and no file of pgbn is touched.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pgbn

HERE = Path(__file__).parents[1] / "helpers"
PACKAGE = HERE / "plugin_package"


def install(package: Path, target: Path) -> Path:
    """What ``pip install --target`` leaves behind for a package of one module."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    for module in package.glob("*.py"):
        shutil.copy(module, target)
    info = target / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))
    return target


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(PACKAGE, tmp_path_factory.mktemp("site"))


def run(script: str, *path: Path, check: bool = True) -> str:
    """The output of a script in a fresh process that sees the folders in ``path``."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout if check else done.stderr


BUILD = """
import json, pgbn
from switching_counts import NegativeBinomial, Switch

pi = pgbn.Beta("pi", 2, 3)
regime = Switch("regime", pi, 0.5, 3.0, dims="doc")
r = pgbn.Gamma("r", 2, 2, dims="topic")
c = pgbn.Gamma("c", 3, 2)
theta = pgbn.Gamma("theta", regime * r, c, dims=("doc", "topic"))
phi = pgbn.Dirichlet("phi", 0.7, over="term", dims="topic")
p = pgbn.Beta("p", 3, 4, dims="doc")
x = NegativeBinomial("x", phi @ theta, p, dims=("doc", "term"))
other = pgbn.Poisson("other", 2 * regime, dims=("doc", "tag"))
net = pgbn.Network(x, other, sizes={"topic": 2})
"""


@pytest.fixture(scope="module")
def document(site: Path) -> str:
    return run(BUILD + "print(net.to_json())", site)


def test_geweke(site: Path) -> None:
    """Both types between ours, in one network; and the test sees a wrong rule of the plug-in."""
    script = (
        BUILD
        + """
import switching_counts
from pgbn.nodes.rules import find_draw
from pgbn.testing import geweke

sizes = {"doc": 3, "term": 3, "tag": 2}
right = geweke(net, sizes, replicates=5_000, sweeps=6, seed=1)
rule = find_draw(regime)
object.__setattr__(rule, "posterior", lambda count, exposure, probability, low, high:
                   switching_counts._posterior(count + 1, exposure, probability, low, high))
wrong = geweke(net, sizes, replicates=5_000, sweeps=6, seed=1)
print(json.dumps([right.worst, wrong.worst, str(right)]))
"""
    )
    right, wrong, table = json.loads(run(script, site).splitlines()[-1])
    assert right < 4, table
    assert wrong > 6


def test_json_in_a_fresh_process(site: Path, document: str, tmp_path: Path) -> None:
    """The reader does not import the package: the entry point does."""
    (tmp_path / "net.json").write_text(document)
    script = f"""
import sys, pgbn, numpy as np
net = pgbn.Network.from_json(open({str(tmp_path / "net.json")!r}).read())
assert "switching_counts" in sys.modules
assert type(net["regime"]).__module__ == "switching_counts"
data = net.generate(seed=1, sizes={{"doc": 4, "term": 5, "tag": 2}})
chain = net.chain({{"x": data["x"], "other": data["other"]}}).sweep(3)
assert np.isfinite(chain.log_joint())
assert set(np.unique(chain.values["regime"])) <= {{0.5, 3.0}}
assert "Switch.probability" in pgbn.rules()
print(net.to_json())
"""
    assert run(script, site) == document


def test_without_the_package_the_error_names_the_type(document: str) -> None:
    with pytest.raises(pgbn.NetworkError, match=r"unknown node type 'switching_counts\.[a-z_]+'"):
        pgbn.Network.from_json(document)
    with pytest.raises(
        pgbn.NetworkError, match=r"installed and registered in the group pgbn\.nodes"
    ):
        pgbn.Network.from_json(document)


def test_errors_of_the_plugin_teach(site: Path) -> None:
    script = """
import pgbn
from switching_counts import NegativeBinomial, Switch

def refused(build, *words):
    try:
        build()
    except pgbn.PgbnError as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError(words)

gamma = pgbn.Gamma("low", 1, 1)
refused(lambda: Switch("s", 0.5, 3, 1), "Switch('s')", "low=3", "high=1")
refused(lambda: Switch("s", 0.5, 0, 1), "low", "positive", "got 0")
refused(lambda: NegativeBinomial("x", 1, 1.5), "p", "probability", "1.5")
refused(lambda: pgbn.Network(pgbn.Poisson("x", Switch("s", 0.5, gamma, 9))),
        "low (Gamma) stands in the low of s (Switch)", "Switch.probability sends 'probability'",
        "@pgbn.extend.evidence_rule(Switch, 'low')")
net = pgbn.Network(NegativeBinomial("x", pgbn.Gamma("r", 1, 1), 0.5, dims=("doc", "term")))
import numpy as np
refused(lambda: net.chain({"x": [[-1]]}), "x", "negative", "-1")
refused(lambda: net.chain({"x": np.ma.masked_array([[1, 2]], [[True, False]])}),
        "masked", "NegativeBinomial")
"""
    run(script, site)


def test_a_broken_plugin_is_named(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "broken_layers.py").write_text("raise RuntimeError('half written')\n")
    (package / "pyproject.toml").write_text(
        '[project]\nname = "broken-layers"\nversion = "1"\n'
        '[project.entry-points."pgbn.nodes"]\nbroken = "broken_layers"\n'
    )
    target = tmp_path / "site"
    target.mkdir()
    install(package, target)
    error = run("import pgbn; pgbn.zoo.pfa(2)", target, check=False)
    for word in ("NetworkError", "'broken'", "broken_layers", "half written", "uninstall"):
        assert word in error
