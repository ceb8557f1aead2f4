"""The joint-distribution test of every network, sampler and executor.

An ordinary run tests every network once: the samplers and executors take turns from commit to
commit (``PGBN_ROTATION=3`` repeats one turn). ``-m long`` tests the entire matrix at full power.
"""

from __future__ import annotations

import json
import os

import pytest

from pgbn import zoo
from pgbn.nodes import gamma
from pgbn.samplers import vectorised
from pgbn.testing import check_conjugacy
from tests.helpers.first_layers import samplers_of_network

from . import __main__ as script
from .matrix import EXECUTORS, MOST, Entry, entries, examine, sample
from .networks import NO_CONJUGACY, models_of_the_zoo, networks
from .results import FILE, Results, commit

_COMMIT = commit()
ROTATION = int(os.environ.get("PGBN_ROTATION") or (
    int(_COMMIT[:8], 16) if _COMMIT != "unknown" else 0))  # fmt: skip
SAMPLE = sample(ROTATION)
NOT_MODELS = {"phrase_windows"}


@pytest.mark.parametrize("entry", SAMPLE, ids=str)
def test_the_joint_distribution_does_not_change(entry: Entry) -> None:
    result = examine(entry, 400 if entry.executor == "own" else 2000, 6)
    assert result.worst < MOST, result


@pytest.mark.parametrize("name", sorted(set(networks()) - NO_CONJUGACY))
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_every_draw_is_its_conditional(name: str) -> None:
    result = check_conjugacy(*networks()[name], seed=1)
    assert result.worst < 1e-8, result
    assert not result.failures


@pytest.mark.long
@pytest.mark.parametrize("name", networks())
def test_the_entire_matrix(name: str) -> None:
    for entry in entries():
        if entry.network == name:
            result = examine(entry, *script.full_power(entry))
            assert result.worst < MOST, (entry, result)


def test_every_entry_has_its_turn() -> None:
    most = max(sum(e.network == name for e in entries()) for name in networks())
    assert {entry for rotation in range(most) for entry in sample(rotation)} == set(entries())
    assert {entry.network for entry in SAMPLE} == set(networks())


def test_a_wrong_rule_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that are one too many where there are any, on each executor."""
    right = vectorised.crt
    monkeypatch.setattr(gamma.vectorised, "crt", lambda *a: (n := right(*a)) + (n > 0))
    for executor in EXECUTORS:
        assert examine(Entry("pgbn, T=1", "composed", executor), 500, 4).worst > 6


def test_every_model_of_the_zoo_is_tested() -> None:
    """Every sampler and executor has a result, with |z| below 4, of a commit."""
    models = {name.split(",")[0] for name in models_of_the_zoo()}
    assert models == set(zoo.__all__) - NOT_MODELS
    results = json.loads(FILE.read_text("utf-8"))
    assert len(results["commit"]) == 40
    expected = {str(entry) for entry in entries()}
    assert set(results["joint"]) == expected, "run python -m tests.evidence"
    assert not {name: r for name, r in results["joint"].items() if not r["z"] < MOST}
    assert set(results["conjugacy"]) == set(networks()) - NO_CONJUGACY
    assert not {name: r for name, r in results["conjugacy"].items() if r["fails"]}


def test_the_first_layer_has_kernels_where_they_apply() -> None:
    served = {name: samplers_of_network(net) for name, (net, _) in models_of_the_zoo().items()}
    for name in ("pfa", "pgbn, T=1", "pgbn, T=2", "pgbn, T=3", "lda", "hdp_lda"):
        assert len(served[name]) == 4
    for name in ("pgds", "multimodal", "bnbp", "pgbn, gamma, T=1"):
        assert served[name] == ("blocked", "composed")


def test_empty_documents_occur() -> None:
    network, sizes = models_of_the_zoo()["pgbn, T=2"]
    empty = [network.generate(seed, sizes)["x"].sum(axis=1) == 0 for seed in range(20)]
    assert sum(map(sum, empty)) > 3


def test_every_kernel_is_in_the_matrix() -> None:
    samplers = {entry.sampler for entry in entries()}
    assert samplers == {"collapsed", "partial", "blocked", "general", "composed"}


def test_a_run_continues_for_the_same_commit_only(tmp_path, monkeypatch) -> None:
    path = tmp_path / "results.json"
    Results(0.5, path).put("joint", "a | b | c", {"z": 1.0})
    assert Results(0.5, path).found["joint"] == {"a | b | c": {"z": 1.0}}
    assert not Results(1.0, path).found["joint"]
    monkeypatch.setattr("tests.evidence.results.commit", lambda: "another")
    assert not Results(0.5, path).found["joint"]


def test_the_page_shows_the_results() -> None:
    assert script.tables() in script.PAGE.read_text("utf-8"), "run python -m tests.evidence --table"
