"""The wider zoo in law: predictive moments against simulation, and new rows against a joint run with
the rest given. Where there are no new rows by themselves, the words that say why.

The long tests have more draws, and so see smaller differences; docs/correctness.md has their results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.engine.rows.independent import row_network
from tests.helpers.means import difference
from tests.helpers.prediction import latent_only
from tests.helpers.wider_models import wider_models

WIDER = wider_models()
IN_TIME = r"depends on its own previous row along 'time'.*net\.forecast"
GRAPH = "phi has 'vertex' as 'i'.*run net.sample on old and new rows together"
# the plates along which rows are independent given the rest
PLATES = {
    "author_topic": ("doc",), "bptf": ("a", "b", "c"), "dirbn": ("doc",), "dpfa_sbn": ("doc",),
    "dynamic_topics": ("doc",), "hidden_markov": ("term",), "hpf": ("user", "item"),
    "nbfa": ("doc",), "poisson_mixture": ("doc", "term"), "tucker": ("a", "b", "c"),
}  # fmt: skip
CASES = [(case, plate) for case, plates in PLATES.items() for plate in plates]
REFUSED = {
    "epm": ("i", GRAPH), "epm, weighted": ("i", GRAPH), "hgp_epm": ("i", GRAPH),
    "pgds, shrinkage": ("time", IN_TIME), "deep_pgds": ("time", IN_TIME),
    "prgds": ("time", IN_TIME), "hidden_markov": ("time", IN_TIME),
    "cpgbn": ("position", "no latent node has this dim.*nothing to infer"),
    "covariates": ("doc", "constant array along 'doc'.*build the network with that of the new ones"),
}  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::pgbn.PgbnWarning")


def test_no_model_is_left_out() -> None:
    assert {*PLATES, *REFUSED} == set(WIDER)


def example(case: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Data with their categories, and values of all latent nodes."""
    network, sizes = WIDER[case]
    drawn = network.generate(seed=5, sizes=sizes)
    data = {name: drawn[name] for name in network.observed} | dict(network.indexes)
    return data, {name: drawn[name] for name in network.latent}


def worst_of_prediction(case: str, draws: int) -> float:
    """The largest difference, in standard errors, between moments of data that were drawn with the
    parameters and of replicates given these parameters; heavy tails are cut."""
    network, sizes = WIDER[case]
    joint = network.prior_predictive(draws, sizes, seed=5)
    held, worst = latent_only(joint), 0.0
    for x in network.observed:
        both = [each[0].reshape(draws, -1).astype(float) for each in (joint[x], held.predict(x))]
        for function in (lambda x: np.minimum(x, 5.0), lambda x: np.minimum(x, 3.0) ** 2):
            a, b = map(function, both)
            error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / draws) + 1e-9
            worst = max(worst, float((np.abs(a.mean(axis=0) - b.mean(axis=0)) / error).max()))
    return worst


def worst_of_new_rows(case: str, plate: str, burn_in: int, samples: int) -> float:
    """The largest difference, in standard errors, between new rows and a joint run that is given
    the same values of the rest, by the composed rules."""
    (network, _), (data, given) = WIDER[case], example(case)
    inferred = network.infer(data, given, plate, burn_in, samples, keep="draws", seed=1)
    rows = row_network(network, plate)
    known = {name: given[name] for name in rows.given}
    joint = rows.sample(data, burn_in, samples, seed=2, given=known, progress=False,
                        sampler="composed")  # fmt: skip
    assert inferred.draws
    return max(
        float(np.abs(difference(function(one.astype(float)), function(joint[name][0]))).max())
        for name, one in inferred.draws.items()
        for function in (np.arctan, lambda value: 1 / (1 + value**2))
    )


@pytest.mark.parametrize("case", WIDER)
def test_predictive_moments_are_those_of_simulation(case: str) -> None:
    assert worst_of_prediction(case, 400) < 4.5


@pytest.mark.parametrize(("case", "plate"), CASES)
def test_new_rows_have_the_law_of_a_joint_run(case: str, plate: str) -> None:
    assert worst_of_new_rows(case, plate, 50, 1000) < 4.5


@pytest.mark.parametrize("case", REFUSED)
def test_why_there_are_no_new_rows(case: str) -> None:
    (network, _), (plate, words) = WIDER[case], REFUSED[case]
    data, given = example(case)
    with pytest.raises(pgbn.PgbnError, match=words):
        network.infer(data, given, plate)


@pytest.mark.long
@pytest.mark.parametrize("case", WIDER)
def test_prediction_long(case: str, record_property: Callable[[str, Any], None]) -> None:
    worst = worst_of_prediction(case, 20_000)
    record_property("worst", f"{worst:.2f}")
    assert worst < 4.5


@pytest.mark.long
@pytest.mark.parametrize(("case", "plate"), CASES)
def test_new_rows_long(case: str, plate: str, record_property: Callable[[str, Any], None]) -> None:
    worst = worst_of_new_rows(case, plate, 200, 5_000)
    record_property("worst", f"{worst:.2f}")
    assert worst < 4.5
