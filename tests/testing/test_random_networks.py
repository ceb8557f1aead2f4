"""Networks drawn at random from the whole language: each is refused in words, or its sampler is
right in the derived order and in a random one of those that are accepted.

``python -m tests.helpers.random_networks NUMBER`` shows a case.
"""

from __future__ import annotations

from itertools import islice

import pytest

import pgbn
from tests.helpers.random_networks import check_refusal, draft, examine, is_seen

CASES = [draft(number) for number in range(75)]
ACCEPTED = [case for case in CASES if case.network is not None][:50]
LONG = 1400  # cases, of which a thousand are accepted
DRAWN = ("Gamma", "RandomisedGamma", "Dirichlet", "Beta", "BetaOdds", "Bernoulli", "Categorical",
         "Poisson", "BernoulliPoisson", "PoissonGamma", "Multinomial", "HiddenPoisson", "Normal",
         "LogNormal", "LogitBernoulli", "ObservedNormal")  # fmt: skip


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: str(case.number))
def test_network(case):
    examine(case, 1000)


def test_refusals_have_words():
    for case in CASES:
        if case.network is None:
            check_refusal(case)


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, LONG, 100))
def test_a_thousand_networks(start):
    cases = [draft(number) for number in range(start, start + 100)]
    for case in cases:
        if case.network is None:
            check_refusal(case)
        else:
            examine(case, 10_000)
    assert sum(case.network is not None for case in cases) > 60


def test_the_whole_language_is_drawn():
    assert len(ACCEPTED) == 50
    networks = [case.network for case in map(draft, range(300)) if case.network is not None]
    nodes = [node for network in networks for node in network.nodes.values()]
    assert {type(node).__name__ for node in nodes} == set(DRAWN)
    slots = [str(getattr(node, slot)) for node in nodes for slot in node.slots()]
    for sign in ("shift(", "<", "@", "+", "[c", "constant("):
        assert any(sign in slot for slot in slots), sign
    orders = [case.order != case.network.schedule.names for case in ACCEPTED]
    assert sum(orders) > 30
    assert any(case.network.given for case in ACCEPTED)
    assert len({case.sampler for case in ACCEPTED}) > 2


def test_a_case_is_a_number():
    again = draft(ACCEPTED[0].number)
    assert again.network.to_json() == ACCEPTED[0].network.to_json()
    assert again.order == ACCEPTED[0].order


@pytest.mark.parametrize(("mutant", "least"), [("CRT off by one", 5), ("rate for scale", 7)])
def test_networks_see_what_is_broken(mutant, least):
    """Of the first twelve networks that have such a part."""
    found = (is_seen(case, mutant, 1000) for case in ACCEPTED)
    seen = list(islice((each for each in found if each is not None), 12))
    assert sum(seen) >= least, seen


def test_a_shift_along_a_simplex_is_refused():
    """Found by the fuzzer: it was accepted, and could not be run."""
    shift = pgbn.Shift(pgbn.Self(), along="time", initial=1.0)
    phi = pgbn.Dirichlet("phi", shift, over="time", dims="topic")
    with pytest.raises(pgbn.NetworkError, match=r"phi: concentration.*sums to one.*another dim"):
        pgbn.Network(pgbn.Poisson("x", phi, dims=("topic", "time")))
