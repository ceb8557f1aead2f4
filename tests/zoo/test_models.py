"""What single models find, how they read, and mistakes in them that the joint-distribution test sees.

Their laws are tested by tests/evidence, test_wider_laws.py and test_recovery.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn as pg
from pgbn import DataError, Network, zoo
from pgbn.engine.compile.program import View
from pgbn.testing import geweke, mutants
from pgbn.zoo import layers
from tests.helpers.wider_models import wider_models

DOCSTRING = re.compile(r"r?\"{3}.*?\"{3}", re.DOTALL)
SPELT = re.compile(r"""f["'](theta|phi|topic)\{|["'](theta1|phi1|topic1|p2|gamma0)["']""")


def test_the_names_of_a_belief_network_are_spelt_nowhere_else() -> None:
    network = zoo.pgbn([4, 3, 2], link="gamma")
    names = {name(t) for name in (layers.theta, layers.phi) for t in (1, 2, 3)}
    names |= {layers.rate(t) for t in (2, 3, 4)}
    names |= {layers.DATA, layers.TOP_SHAPE, layers.TOP_RATE, layers.GAMMA0, layers.NOISE}
    assert set(network.nodes) == names
    for path in Path(pg.__file__).parent.rglob("*.py"):
        if path.parent.name != "zoo":
            code = DOCSTRING.sub("", path.read_text("utf-8"))
            assert SPELT.search(code) is None, path


def test_layers_have_their_dims() -> None:
    dirbn, gates, deep = zoo.dirbn([5, 4, 3]), zoo.dpfa_sbn([8, 4, 2]), zoo.deep_pgds([5, 4, 3])
    assert dirbn["beta3"].axes == ("topic3", "topic2")
    assert str(dirbn["phi1"].concentration) == "beta2 @ phi2"
    assert gates["w2"].axes == ("unit2", "unit3")
    assert type(gates["h3"]) is type(zoo.dpfa_sbn([5])["h1"]) is pg.Bernoulli
    assert deep["pi2"].axes == ("previous2", "topic2")
    assert "shift(pi1 @ self, along time)" in str(deep["theta1"].shape)


# ---- mistakes that are seen -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["dirbn", "dynamic_topics"])
def test_tables_off_by_one_are_seen(name: str) -> None:
    network, sizes = wider_models()[name]
    mutant = mutants(network)["CRT off by one"]
    wrong = geweke(network, sizes, 2000, 6, seed=1, sampler=mutant.sampler, broken=mutant)
    assert wrong.worst > 6, wrong


def test_counts_given_to_the_wrong_place_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each count of a phrase goes to the place before its own."""
    right = View.counts

    def wrong(self: View, received: Any) -> Any:
        found = right(self, received)
        return np.roll(found, 1, axis=1) if self.looked == ("place",) else found

    monkeypatch.setattr(View, "counts", wrong)
    network, sizes = wider_models()["cpgbn"]
    assert geweke(network, sizes, 3000, 6, seed=3).worst > 6


def test_what_the_next_row_passes_back_is_needed() -> None:
    def broken(chain: pg.Chain) -> None:
        at = [turn.step.name for turn in chain._turns].index("counts(theta)")
        turn = chain._turns[at]

        def run(key: int) -> None:
            turn.run(key)
            chain._program.counts["theta", "self"][:] = 0

        chain._turns[at] = type(turn)(turn.step, turn.base, run)

    network = zoo.prgds(2, 0.7, eta=0.7, tau=1.5, gamma0_prior=(6, 2), delta_prior=(3, 3))
    result = geweke(network, {"time": 4, "term": 3}, 2000, 8, seed=3, broken=broken)
    assert result.worst > 6, result


# ---- what they find -------------------------------------------------------------------------


def test_a_silent_factor_speaks_again() -> None:
    """θ is exactly 0 in some sweeps and not in others, whatever it was before."""
    x = np.zeros((4, 3), int)
    x[1] = 3
    network = zoo.prgds(2, 0.0, eta=0.7, tau=1.5, gamma0_prior=(6, 2), delta_prior=(3, 3))
    chain = network.chain({"x": x}, seed=1)
    zero = np.array([(chain.sweep().values["theta"] == 0) for _ in range(150)])
    assert zero[:, 0].any(axis=0).all()
    assert (~zero[:, 0]).any(axis=0).all()
    assert not zero[:, 1].all(axis=1).any()  # somebody has made the counts


def test_windows_of_texts() -> None:
    """A phrase that begins at place p has its word s at the position p + s − (phrase − 1)."""
    data = zoo.phrase_windows([[0, 1, 2], [1, 0]], 2, terms=4)
    assert data["x"].toarray().tolist() == np.eye(4, dtype=int)[[0, 1, 2, 1, 0]].tolist()
    assert data["window"].tolist() == [[1, 0], [2, 1], [3, 2], [5, 4], [6, 5]]
    assert data["text"].tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_phrases_are_found() -> None:
    """Texts of two phrases, "0 1 2" and "3 4 5", in any order: each topic is one of them."""
    rng = np.random.default_rng(0)
    phrases = np.array([[0, 1, 2], [3, 4, 5]])
    texts = [phrases[rng.integers(0, 2, 12)].reshape(-1) for _ in range(12)]
    data = zoo.phrase_windows(texts, 3)
    phi = zoo.cpgbn(2, 3).sample(data, burn_in=150, draws=30, seed=1, progress=False).mean("phi")
    words = {tuple(np.unique(topic.argmax(axis=1) // 3)) for topic in phi}
    assert words == {(0,), (1,)}, phi.round(2)


def test_effects_of_covariates_are_found() -> None:
    """Documents of the second half use the second topic, and beta says so."""
    late = np.repeat([0.0, 1.0], 30)
    rates = np.where(late[:, None] > 0, [1.0, 1.0, 12.0, 12.0], [12.0, 12.0, 1.0, 1.0])
    x = np.random.default_rng(1).poisson(rates)
    draws = zoo.covariates(2, late[:, None]).sample({"x": x}, burn_in=100, draws=100, seed=0)
    phi, beta = draws["phi"][0].mean(axis=0), draws["beta"][0, :, :, 0]
    order = np.argsort(phi[:, :2].sum(axis=1))  # the topic of the late terms first
    difference = beta[:, order[0]] - beta[:, order[1]]
    assert np.quantile(difference, 0.05) > 1.0


def test_groups_of_a_graph_are_found() -> None:
    """Two groups that hardly link to each other."""
    group = np.arange(30) // 15
    links = np.random.default_rng(0).random((30, 30)) < np.where(group[:, None] == group, 0.5, 0.02)
    graph, network = np.triu(links, 1).astype(int), zoo.epm(5)
    draws = network.sample({"x": graph}, 100, 100, seed=1, progress=False, keep=network.latent)
    linked = draws.predict("x").mean(axis=(0, 1))
    inside = [linked[part, part][np.triu_indices(15, 1)] for part in (slice(15), slice(15, 30))]
    assert np.mean(inside) > 0.35
    assert linked[:15, 15:].mean() < 0.1


# ---- data of their own forms ----------------------------------------------------------------

EDGES = np.triu(np.ones((4, 4), int), 1)


@pytest.mark.parametrize("network", [zoo.epm(2), zoo.hgp_epm(2), zoo.epm(2, weighted=True)])
@pytest.mark.parametrize("matrix", [EDGES, sp.csr_array(EDGES), np.zeros((3, 3), int)])
def test_small_graphs(network: Network, matrix: Any) -> None:
    chain = network.chain({"x": matrix}).sweep(5)
    assert all(np.isfinite(value).all() for value in chain.values.values())
    assert np.isfinite(chain.log_joint())


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (EDGES + EDGES.T, r"the value 1 at i 1, j 0 .* i < j only.*triu\(A, 1\)"),
        (EDGES + np.eye(4, dtype=int), r"the value 1 at i 0, j 0 .* i < j only.*triu\(A, 1\)"),
        (np.zeros((3, 4), int), "size"),
    ],
)
def test_graphs_that_are_rejected(matrix: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        zoo.epm(2).chain({"x": matrix})


def test_masked_pairs_are_imputed_where_they_can_be() -> None:
    masked = np.ma.masked_array(EDGES, np.eye(4, dtype=bool) | (np.indices((4, 4)).sum(0) == 1))
    chain = zoo.epm(2, weighted=True).chain({"x": masked}).sweep(20)
    assert not np.diag(chain.imputed("x")).any()


def test_a_tensor_is_read_from_coordinates() -> None:
    rng, network = np.random.default_rng(0), zoo.bptf(3)
    events = {mode: rng.integers(0, 50, 40) for mode in network["y"].axes}
    draws = network.sample({"y": events}, burn_in=2, draws=2, progress=False, threads=1)
    assert draws["theta_sender"].shape[2:] == (events["sender"].max() + 1, 3)


def test_documents_bring_their_times() -> None:
    x = np.random.default_rng(0).poisson(1.0, (6, 5))
    chain = zoo.dynamic_topics(2).chain({"x": x, "period": [0, 0, 1, 1, 2, 2]}, seed=0).sweep(3)
    assert chain.values["phi"].shape == (3, 2, 5)


def test_derivations_of_lookups_read_well() -> None:
    text = str(zoo.author_topic(5).explain(brief=True))
    assert "θ[k, author(j)]" in text
    assert "Σ_(j : author(j) = w) x[· j k]" in text
