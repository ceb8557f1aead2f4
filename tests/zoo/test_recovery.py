"""Recovery: of 100 simulations of every model, the 90 % intervals cover the rates in about 90."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from pgbn import Network, zoo
from tests.helpers.models import MODEL_NAMES
from tests.helpers.recovery import covered
from tests.helpers.repository import ROOT

MILD = (4.0, 4.0)
BETA = (2.0, 4.0)


class Case(NamedTuple):
    """A network with mild priors, its sizes, and for how long it is run."""

    make: Callable[[], Network]
    sizes: dict[str, int]
    burn_in: int = 200
    draws: int = 400


def _epm(weighted: bool) -> Network:
    return zoo.epm(2, weighted, MILD, MILD, MILD, MILD)


def _hgp_epm(weighted: bool) -> Network:
    return zoo.hgp_epm(2, weighted, 2.0, MILD, MILD, MILD, MILD, MILD)


DOCUMENTS = {"doc": 12, "term": 4}
FEATURES = np.random.default_rng(0).normal(size=(12, 2))
WINDOWS = zoo.phrase_windows([[0, 1, 2, 0, 1], [1, 0, 2, 2]], 2, terms=3)
TOTALS = [6, 9, 0, 4, 12, 3, 7, 1, 5, 8, 2, 10]

# Chains of binary graphs walk slowly, and need more sweeps to forget where they began.
CASES = {
    "pfa": Case(lambda: zoo.pfa(2, 0.5, BETA, MILD, MILD), DOCUMENTS),
    "pgbn": Case(lambda: zoo.pgbn([2, 2], 0.5, BETA, MILD, MILD, MILD), DOCUMENTS),
    "pgbn, binary": Case(
        lambda: zoo.pgbn([2, 2], 0.5, BETA, MILD, MILD, MILD, "bernoulli"), DOCUMENTS, 500, 1500
    ),
    "lda": Case(lambda: zoo.lda(2, 0.5, 0.5, TOTALS), DOCUMENTS),
    "hdp_lda": Case(lambda: zoo.hdp_lda(2, (8.0, 2.0), (8.0, 2.0), 0.5, TOTALS), DOCUMENTS),
    "bnbp": Case(lambda: zoo.bnbp(2, 0.5, 4.0, MILD), DOCUMENTS),
    "gated_pfa": Case(lambda: zoo.gated_pfa(2, 0.5, (2.0, 2.0), BETA, MILD, MILD), DOCUMENTS),
    "multimodal": Case(
        lambda: zoo.multimodal([2, 2], {"words": "poisson", "tags": "bernoulli", "ratings": "gamma"},
                               0.5, MILD, MILD, MILD, MILD),
        {"doc": 12, "term_words": 4, "term_tags": 3, "term_ratings": 2}, 500, 1500,
    ),
    "epm": Case(lambda: _epm(False), {"vertex": 6}, 500, 1500),
    "epm, weighted": Case(lambda: _epm(True), {"vertex": 6}),
    "hgp_epm": Case(lambda: _hgp_epm(False), {"vertex": 6}, 500, 1500),
    "hgp_epm, weighted": Case(lambda: _hgp_epm(True), {"vertex": 6}, 500, 1500),
    "bptf": Case(lambda: zoo.bptf(2, ("a", "b", "c"), 1.5, MILD), {"a": 4, "b": 3, "c": 3}),
    "tucker": Case(
        lambda: zoo.tucker({"a": 2, "b": 2, "c": 2}, 1.5, MILD, MILD), {"a": 4, "b": 3, "c": 3}
    ),
    "dirbn": Case(
        lambda: zoo.dirbn([2, 2], 0.7, MILD, MILD, MILD, (3.0, 2.0), MILD), {"doc": 12, "term": 5}
    ),
    "pgds": Case(lambda: zoo.pgds(2, 0.5, 0.5, 1.5, 2.0, MILD, MILD), {"time": 6, "term": 4}),
    "pgds, shrinkage": Case(
        lambda: zoo.pgds(2, 0.5, 0.5, 1.5, 2.0, MILD, MILD, True, MILD), {"time": 6, "term": 4}
    ),
    "deep_pgds": Case(
        lambda: zoo.deep_pgds([2, 2], 0.5, 0.5, 1.5, 4.0, MILD, MILD), {"time": 8, "term": 4}
    ),
    "gp_dpfa": Case(
        lambda: zoo.gp_dpfa(2, 0.5, MILD, MILD, MILD, MILD), {"time": 8, "term": 4}
    ),
    "prgds": Case(
        lambda: zoo.prgds(2, 0.0, 0.5, 1.0, 1.5, (6.0, 2.0), MILD), {"time": 6, "term": 4}
    ),
    "hpf": Case(lambda: zoo.hpf(2, 1.5, MILD, MILD), {"user": 6, "item": 4}),
    "nbfa": Case(
        lambda: zoo.nbfa(2, 0.5, (4.0, 6.0), MILD, MILD, MILD), {"doc": 6, "term": 4}
    ),
    "author_topic": Case(
        lambda: zoo.author_topic(2, 0.8, 0.8, (4.0, 0.4)).with_indexes(author=[0, 1, 2] * 4),
        {"term": 5},
    ),
    "dynamic_topics": Case(
        lambda: zoo.dynamic_topics(2, 1.0, (8, 0.5), (8, 8), (6, 4),
                                   period=np.repeat(np.arange(4), 5)),
        {"term": 5, "time": 4},
    ),
    "covariates": Case(
        lambda: zoo.covariates(2, FEATURES, 1.0, MILD, (8.0, 4.0), MILD), DOCUMENTS
    ),
    "dpfa_sbn": Case(
        lambda: zoo.dpfa_sbn([2, 2], 1.0, (2.0, 2.0), MILD, BETA, MILD, MILD), DOCUMENTS
    ),
    "cpgbn": Case(
        lambda: zoo.cpgbn(2, 2, 0.8, (3.0, 3.0), MILD).with_indexes(
            window=WINDOWS["window"], text=WINDOWS["text"]),
        {"term": 3},
    ),
    "poisson_mixture": Case(lambda: zoo.poisson_mixture(2, 1.0, MILD), {"doc": 12, "term": 3}),
    "hidden_markov": Case(lambda: zoo.hidden_markov(2, 1.0, 1.0, MILD), {"time": 12, "term": 2}),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_the_rates(name: str) -> None:
    case = CASES[name]
    found = covered(case.make(), case.sizes, case.burn_in, case.draws)
    assert 80 <= found <= 97, found


def test_every_model_has_a_case_and_a_figure() -> None:
    """All of them can be made."""
    assert {name.partition(",")[0] for name in CASES} == set(MODEL_NAMES)
    assert all(case.make().observed for case in CASES.values())
    page = (ROOT / "docs/evidence/joint-distribution.md").read_text(encoding="utf-8")
    table = page.partition("## Recovery")[2]
    for name in MODEL_NAMES:
        assert re.search(rf"\| `{name}`[^|]*\| \d\d\.\d \|", table), name
