"""The joint-distribution test of every model of the zoo and every sampler of the first layer.

The quick versions run in seconds; the long ones (``pytest -m long``) have more power, and their
results are recorded in docs/correctness.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pgbn.testing import geweke
from tests.helpers.first_layers import samplers_of_network
from tests.helpers.models import algorithm1, interleaved, pgbn, sizes_of, zoo_models

TESTS = Path(__file__).parents[1]
MODELS = zoo_models() | {
    "pgbn, T=3, Algorithm 1": pgbn(3).with_order(algorithm1(3)),
    "pgbn, T=3, interleaved": pgbn(3).with_order(interleaved(3)),
}


CASES = [
    pytest.param(name, layer1, id=f"{name}, {layer1}")
    for name in MODELS
    for layer1 in samplers_of_network(MODELS[name])
]


@pytest.mark.parametrize(("name", "layer1"), CASES)
def test_quick(name, layer1):
    result = geweke(MODELS[name], sizes_of(MODELS[name]), 8_000, 6, seed=1, layer1=layer1)
    assert result.worst < 4, result


@pytest.mark.long
@pytest.mark.parametrize(("name", "layer1"), CASES)
def test_long(name, layer1, record_property):
    result = geweke(MODELS[name], sizes_of(MODELS[name]), 200_000, 20, seed=2, layer1=layer1)
    record_property("geweke", f"{result.worst:.2f} of {len(result.z)}")
    assert result.worst < 4, result


def test_every_model_of_the_zoo_is_tested():
    """Here, or in a file of its own that calls `geweke`."""
    from pgbn import zoo

    tested = {name.split(",")[0] for name in MODELS}
    texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")]
    for name in set(zoo.__all__) - tested:
        assert any("geweke" in text and name in text for text in texts), name


def test_the_first_layer_has_kernels_where_they_apply():
    kernels = {name: samplers_of_network(MODELS[name]) for name in MODELS}
    every = {name for name, samplers in kernels.items() if len(samplers) == 4}
    held = {name for name, samplers in kernels.items() if samplers == ("blocked", "composed")}
    assert {"pfa", "pgbn, T=1", "pgbn, T=2", "pgbn, T=3", "lda", "hdp_lda"} <= every
    assert {"pgds", "multimodal", "bnbp", "pgbn, gamma, T=1"} <= held


def test_empty_documents_occur():
    network = pgbn(2)
    empty = [network.generate(seed, {"doc": 3, "term": 3})["x"].sum(axis=1) == 0
             for seed in range(20)]  # fmt: skip
    assert sum(map(sum, empty)) > 3
