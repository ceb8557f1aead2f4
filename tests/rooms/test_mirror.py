"""Tests mirror the rooms: pgbn/<room>/<name>.py is tested by tests/<room>/test_<name>.py."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.rooms.table import PACKAGE, ROOMS

TESTS = PACKAGE.parent / "tests"

# Modules that are tested together with others, and the file that does it: small parts of one kernel,
# one table or one page, and the models of the zoo, which all pass the same tests.
TOGETHER = {
    "samplers/row_kernels.py": "samplers/test_vectorised.py",
    "samplers/rows.py": "samplers/test_vectorised.py",
    "samplers/from_numba.py": "test_reference.py",
    "samplers/stream.py": "samplers/test_vectorised.py",
    "samplers/sparse.py": "samplers/first_layer/test_blocked.py",
    "samplers/first_layer/row_topics.py": "samplers/first_layer/test_partial.py",
    "samplers/first_layer/shared_prior.py": "samplers/first_layer/test_partial.py",
    "samplers/hands.py": "samplers/test_on_ray.py",
    "cli/spread.py": "samplers/test_on_ray.py",
    "cli/twins.py": "cli/test_train.py",
    **{
        f"engine/shards/{name}.py": "engine/shards/test_crew.py"
        for name in ("layer", "mail", "tables", "worker")
    },
    "samplers/documents/layers.py": "samplers/documents/test_sweeps.py",
    "samplers/documents/moments.py": "samplers/documents/test_sweeps.py",
    "samplers/documents/scratch.py": "samplers/documents/test_sweeps.py",
    "samplers/simd/lanes.py": "samplers/simd/test_contract.py",
    "samplers/variates/dirichlet.py": "samplers/test_vectorised.py",
    "samplers/variates/row_gammas.py": "samplers/layers/test_gamma_layer.py",
    "nodes/shift.py": "nodes/test_expression.py",
    **{
        f"network/lowering/{name}.py": "network/test_terms.py"
        for name in ("edges", "indexed", "leaves", "paired", "products", "renamed", "shifted", "walk")
    },
    "nodes/index.py": "nodes/test_categories.py",
    "engine/rows/categories.py": "engine/rows/test_infer.py",
    "engine/compile/parts.py": "engine/compile/test_splitting.py",
    "engine/in_turn/entry.py": "engine/in_turn/test_by_rules.py",
    "engine/data/nonzero.py": "engine/data/test_coordinates.py",
    **{
        f"zoo/{name}.py": "zoo/test_tensors.py"
        for name in ("author_topic", "bptf", "hpf", "tucker")
    },
    "engine/rows/result.py": "engine/rows/test_infer.py",
    "engine/run/run_plan.py": "engine/run/test_run_store.py",
    "engine/run/memory_store.py": "engine/run/test_interrupt.py",
    "storage/bounded.py": "storage/test_corpus.py",
    "storage/market_rows.py": "storage/test_build.py",
    "storage/build_settings.py": "storage/test_build.py",
    "storage/sparse.py": "engine/run/test_codec.py",
    **{
        f"zoo/{name}.py": "zoo/test_zoo.py"
        for name in ("arguments", "bnbp", "gamma_markov_chain", "gated_pfa", "lda", "multimodal",
                     "pgbn", "pgds")
    },
    "zoo/hgp_epm.py": "zoo/test_epm.py",
    "training/minibatch/arriving.py": "estimators/test_minibatch.py",
    "training/minibatch/result.py": "training/minibatch/test_train.py",
    "training/minibatch/settings.py": "training/minibatch/test_train.py",
    "training/belief.py": "training/test_growing.py",
    "engine/compile/by_cell.py": "evaluation/test_prediction.py",
    "engine/compile/conditional.py": "evaluation/test_held_out.py",
    "engine/run/prior.py": "evaluation/test_prediction.py",
    "engine/run/replay.py": "evaluation/test_prediction.py",
    "evaluation/gamma_mixture.py": "evaluation/test_held_out.py",
    "training/averages.py": "training/test_growing.py",
    "training/grown.py": "training/test_family.py",
    "training/new_layer.py": "training/test_growing.py",
    "training/per_layer.py": "training/test_settings.py",
    "training/result.py": "training/test_layerwise.py",
    "training/verbs.py": "report/test_page.py",
    "estimators/arguments.py": "estimators/test_pgbn.py",
    "estimators/codec.py": "golden/test_golden.py",
    "estimators/values.py": "estimators/test_network.py",
    "testing/joint.py": "testing/test_conjugacy.py",
    "explain/formulas/signs.py": "explain/formulas/test_parse.py",
    "explain/registered.py": "explain/test_sweep.py",
    "explain/steps.py": "explain/test_sweep.py",
    "explain/symbols.py": "explain/test_notation.py",
    **{
        f"report/parts/{name}.py": "report/test_sections.py"
        for name in ("graph", "map", "settings", "topics", "tree")
    },
    "cli/corpora.py": "cli/test_train.py",
    "cli/models.py": "cli/test_use.py",
}  # fmt: skip


def modules(room: str) -> list[Path]:
    """The modules of a room. A package is tested by the tests of its modules."""
    return sorted(path for path in (PACKAGE / room).rglob("*.py") if path.stem != "__init__")


def mirrored(module: Path) -> Path:
    """The file that holds the tests of a module."""
    place = module.relative_to(PACKAGE)
    return TESTS / place.with_name(f"test_{place.name}")


def has_tests(path: Path) -> bool:
    """Whether a file has a test, as a function or in a class."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(
        isinstance(node, ast.FunctionDef) and node.name.startswith("test")
        for node in ast.walk(tree)
    )


def missing(room: str) -> list[str]:
    """The files of tests that a room lacks, or that are empty."""
    files = {
        module: TESTS / TOGETHER.get(str(module.relative_to(PACKAGE)), mirrored(module))
        for module in modules(room)
    }
    return [
        f"{module.relative_to(PACKAGE)}: {path.relative_to(TESTS)}"
        for module, path in files.items()
        if not path.exists() or not has_tests(path)
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_every_module_has_its_tests(room: str) -> None:
    assert missing(room) == []


@pytest.mark.parametrize("module", TOGETHER)
def test_what_is_tested_with_others_has_no_file_of_its_own(module: str) -> None:
    assert (PACKAGE / module).exists()
    assert not mirrored(PACKAGE / module).exists()


def test_folders_of_tests_can_be_imported() -> None:
    """Files of one name in two folders need packages."""
    folders = {path.parent for path in TESTS.rglob("test_*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("nodes/gamma.py", "nodes/test_gamma.py"),
        ("engine/first_layer/base.py", "engine/first_layer/test_base.py"),
    ],
)
def test_the_place_of_tests(module: str, test: str) -> None:
    assert mirrored(PACKAGE / module) == TESTS / test


def test_a_file_without_a_test_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "test_empty.py"
    path.write_text('"""Nothing."""\n\ndef check():\n    pass\n')
    assert not has_tests(path)
    path.write_text("class Tests:\n    def test_one(self):\n        pass\n")
    assert has_tests(path)
