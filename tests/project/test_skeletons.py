"""The skeletons of examples/skeletons run as they are, test themselves, and see their own mistakes.

Each is used as a user would use a copy: from its file, outside the package.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn.engine import plan
from pgbn.testing import geweke
from tests.helpers.repository import ROOT

FOLDER = ROOT / "examples" / "skeletons"
SKELETONS = sorted(path.stem for path in FOLDER.glob("*.py"))


def run(name: str, text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A copy in another folder, which cannot import its neighbours."""
    copy = folder / f"{name}.py"
    copy.write_text(text, encoding="utf-8")
    command = [sys.executable, "-X", "utf8", str(copy)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_there_is_a_skeleton_of_each_kind() -> None:
    assert SKELETONS == ["edge", "kernel", "model", "node"]


@pytest.mark.parametrize("name", SKELETONS)
def test_a_skeleton_runs_from_anywhere_and_tests_itself(name: str, tmp_path: Path) -> None:
    done = run(name, (FOLDER / f"{name}.py").read_text("utf-8"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("node", '{"gain": count,', '{"gain": count + 1,'),
        ("kernel", "shape[i, k] + (n - 1)", "shape[i, k] + n"),
        ("edge", "late[:, s:] = of[:, :-s]", "late[:, s:] = of[:, s:]"),
        ("edge", "band = diags(list(self.weights),", "band = diags(list(self.weights)[::-1],"),
    ],
)
def test_a_mistake_in_a_skeleton_is_seen_by_itself(
    name: str, right: str, wrong: str, tmp_path: Path
) -> None:
    text = (FOLDER / f"{name}.py").read_text("utf-8")
    assert right in text
    done = run(name, text.replace(right, wrong), tmp_path)
    assert done.returncode == 1, done.stdout
    assert "wrong" in done.stderr or "another law" in done.stderr


def test_the_model_learns_from_data_and_names_a_wrong_argument() -> None:
    """Two groups of people who take the items of their own: the factors find them."""
    model = load("model").hierarchical_factorisation
    x = np.kron(np.eye(2, dtype=int), np.full((10, 6), 5))
    draws = model(2).sample({"x": x}, burn_in=100, draws=50, seed=0, progress=False)
    likes = draws.mean("theta")
    likes = likes / likes.sum(axis=1, keepdims=True)
    assert abs(likes[:10].mean(axis=0) - likes[10:].mean(axis=0)).min() > 0.8
    with pytest.raises(pgbn.NetworkError, match="taste"):
        model(2, taste=-1.0)


def load(name: str):
    spec = importlib.util.spec_from_file_location(f"skeleton_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("right", [True, False])
def test_the_kernel_in_place_of_the_rules(monkeypatch: pytest.MonkeyPatch, right: bool) -> None:
    """It registers itself when it is imported: other tests must not see it."""
    monkeypatch.setattr(plan, "_makers", {key: [*found] for key, found in plan._makers.items()})
    kernel = load("kernel")
    if not right:
        kernel.column_tables = lambda key, counts, shape, executor: counts.sum(axis=1)
    theta = pgbn.Gamma("theta", pgbn.Gamma("r", 3, 2, dims="topic"), pgbn.Gamma("c", 4, 4),
                       dims=("doc", "topic"))  # fmt: skip
    net, sizes = pgbn.Network(pgbn.Poisson("x", 3 * theta, dims=("doc", "topic"))), {"doc": 3, "topic": 2}  # fmt: skip
    for sampler, used in (("blocked", True), ("composed", False)):
        chain = pgbn.Chain._replicated(net, sizes, 5, sampler=sampler)
        assert used == any("kernel" in getattr(turn.run, "__module__", "") for turn in chain._turns)
    worst = geweke(net, sizes, 10_000, 6).worst
    assert worst < 4 if right else worst > 6
