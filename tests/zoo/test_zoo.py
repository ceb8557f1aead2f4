"""The models of the zoo: the networks they build, wrong arguments, threads, small and empty data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from pgbn import NetworkError, PgbnError, zoo
from tests.helpers.first_layers import samplers_of_network
from tests.helpers.models import LAYER1, zoo_models

MODELS = zoo_models()
MODALITIES = {"words": "poisson", "tags": "bernoulli", "ratings": "gamma"}

# with the default priors, for data of any size
DEFAULTS = {
    "pfa": lambda k: zoo.pfa(k),
    "pgbn, T=1": lambda k: zoo.pgbn([k]),
    "pgbn, T=3": lambda k: zoo.pgbn([k, k + 1, k]),
    "pgbn, bernoulli": lambda k: zoo.pgbn([k, k], link="bernoulli"),
    "pgbn, gamma": lambda k: zoo.pgbn([k, k], link="gamma"),
    "lda": lambda k: zoo.lda(k),
    "hdp_lda": lambda k: zoo.hdp_lda(k),
    "bnbp": lambda k: zoo.bnbp(k),
    "multimodal": lambda k: zoo.multimodal([k, k], MODALITIES),
    "gamma_markov_chain": lambda k: zoo.gamma_markov_chain(k),
    "pgds": lambda k: zoo.pgds(k),
    "gated_pfa": lambda k: zoo.gated_pfa(k),
}


def data_for(network, counts):
    """The same counts for every observed node, as its type takes them."""
    links = {"BernoulliPoisson": lambda x: (x > 0).astype(int), "PoissonGamma": lambda x: x * 0.5}
    return {
        name: links.get(type(network[name]).__name__, lambda x: x)(counts)
        for name in network.observed
    }


def variants(network):
    return samplers_of_network(network)


def same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


# ---- the networks -----------------------------------------------------------------------


def test_node_names_are_those_of_the_papers():
    assert set(zoo.pgbn([4, 3, 2]).nodes) == {
        "x", "phi1", "phi2", "phi3", "theta1", "theta2", "theta3", "r", "gamma0", "c0", "p2",
        "c3", "c4",
    }  # fmt: skip
    assert set(zoo.pgbn([4], link="gamma").nodes) == {
        "x", "phi1", "theta1", "r", "gamma0", "c0", "p2", "noise",
    }  # fmt: skip
    assert set(zoo.lda(3).nodes) == {"x", "phi", "theta"}
    assert set(zoo.hdp_lda(3).nodes) == {"x", "phi", "theta", "alpha", "pi", "gamma0"}
    assert set(zoo.bnbp(3).nodes) == {"x", "phi", "theta", "r", "p"}
    assert set(zoo.gated_pfa(3).nodes) == {
        "x", "phi", "theta", "h", "pi", "r", "p", "c0", "gamma0",
    }  # fmt: skip
    assert set(zoo.pgds(3).nodes) == {"x", "phi", "theta", "pi", "nu", "beta", "delta"}
    assert set(zoo.gamma_markov_chain(3).nodes) == {
        "x", "phi", "theta", "lambda", "a1", "c", "c0", "gamma0",
    }  # fmt: skip
    assert set(zoo.multimodal([3], {"a": "poisson", "b": "gamma"}).nodes) == {
        "a", "b", "phi1_a", "phi1_b", "noise_b", "theta1", "c2", "r", "gamma0", "c0",
    }  # fmt: skip


def test_defaults_are_the_papers():
    network = zoo.pgbn([10, 5])
    text = str(network)
    assert "concentration=0.05" in text
    assert "BetaOdds(a=0.01, b=0.01)" in text
    assert "gamma0 ~ Gamma(shape=0.01, rate=0.01)" in text
    assert "c0 ~ Gamma(shape=1, rate=1)" in text
    assert "c3[doc] ~ Gamma(shape=1, rate=1)" in text
    assert "concentration=2.5" in str(zoo.lda(20))  # 50 / K


def test_eta_for_each_layer():
    text = str(zoo.pgbn([3, 2], eta=[0.3, 0.7]))
    assert "phi1[topic1, term] ~ Dirichlet(concentration=0.3)" in text
    assert "phi2[topic2, topic1] ~ Dirichlet(concentration=0.7)" in text


@pytest.mark.parametrize("link", ["poisson", "bernoulli", "gamma"])
@pytest.mark.parametrize("layer1", LAYER1)
def test_one_layer_is_pfa_bit_for_bit(link, layer1):
    if link != "poisson":
        layer1 = "composed"
    counts = np.random.default_rng(0).poisson(0.7, (30, 20))
    states = []
    for network in (zoo.pfa(5, link=link), zoo.pgbn([5], link=link)):
        chain = network.chain(data_for(network, counts), seed=3, layer1=layer1).sweep(5)
        states.append({**chain.values, **{f"n({k})": v for k, v in chain.counts.items()}})
    same(*states)
    assert str(zoo.pfa(5)) == str(zoo.pgbn([5]))


# ---- wrong arguments --------------------------------------------------------------------

MAKERS = {
    "pfa": zoo.pfa,
    "lda": zoo.lda,
    "hdp_lda": zoo.hdp_lda,
    "bnbp": zoo.bnbp,
    "gamma_markov_chain": zoo.gamma_markov_chain,
    "pgds": zoo.pgds,
    "gated_pfa": zoo.gated_pfa,
}


@pytest.mark.parametrize("width", [0, -1, 2.5, "a", None, True, [3], float("nan")])
@pytest.mark.parametrize("name", MAKERS)
def test_wrong_width(name, width):
    with pytest.raises(NetworkError, match="width="):
        MAKERS[name](width)


@pytest.mark.parametrize("widths", [[], [0], [-1], [2.5], "a", 3, None, [2, 0], [True], {2: 3}])
@pytest.mark.parametrize("make", [zoo.pgbn, lambda w: zoo.multimodal(w, MODALITIES)])
def test_wrong_widths(make, widths):
    with pytest.raises(NetworkError, match="widths"):
        make(widths)


PRIORS = [
    (zoo.pfa, ["p_prior", "c0_prior", "gamma0_prior"]),
    (lambda k, **rest: zoo.pgbn([k], **rest), ["p_prior", "c_prior", "c0_prior", "gamma0_prior"]),
    (lambda k, **rest: zoo.pgbn([k, k], link="gamma", **rest), ["c_prior", "noise_prior"]),
    (lambda k, **rest: zoo.multimodal([k], MODALITIES, **rest), ["c_prior", "noise_prior"]),
    (zoo.hdp_lda, ["alpha_prior", "gamma0_prior"]),
    (zoo.bnbp, ["r_prior"]),
    (zoo.gamma_markov_chain, ["c_prior", "a1_prior", "c0_prior", "gamma0_prior"]),
    (zoo.pgds, ["beta_prior", "delta_prior"]),
    (zoo.gated_pfa, ["pi_prior", "p_prior", "c0_prior", "gamma0_prior"]),
]


@pytest.mark.parametrize("prior", [(0, 1), (1, -1), (1,), (1, 2, 3), 1.0, "ab", None,
                                   (float("inf"), 1), (1, float("nan")), ("a", 1)])  # fmt: skip
@pytest.mark.parametrize(("make", "names"), PRIORS)
def test_wrong_priors(make, names, prior):
    for name in names:
        with pytest.raises(NetworkError, match=name):
            make(2, **{name: prior})


NUMBERS = [
    (zoo.pfa, "eta"), (zoo.lda, "eta"), (zoo.lda, "alpha"), (zoo.hdp_lda, "eta"),
    (zoo.bnbp, "eta"), (zoo.bnbp, "concentration"), (zoo.gamma_markov_chain, "eta"),
    (zoo.pgds, "eta"), (zoo.pgds, "epsilon"), (zoo.pgds, "tau"), (zoo.pgds, "gamma0"),
    (zoo.gated_pfa, "eta"), (lambda k, **rest: zoo.pgbn([k], **rest), "eta"),
]  # fmt: skip


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "a", True])
@pytest.mark.parametrize(("make", "name"), NUMBERS)
def test_wrong_numbers(make, name, value):
    with pytest.raises(NetworkError, match=name):
        make(2, **{name: value})


def test_wrong_eta_for_layers():
    with pytest.raises(NetworkError, match=r"eta=\[0.1\].*2 layers"):
        zoo.pgbn([2, 2], eta=[0.1])
    with pytest.raises(NetworkError, match="eta"):
        zoo.pgbn([2, 2], eta=[0.1, -1])


@pytest.mark.parametrize("modalities", [{}, None, "words", ["poisson"], {3: "poisson"}])
def test_wrong_modalities(modalities):
    with pytest.raises(NetworkError, match="modalities"):
        zoo.multimodal([2], modalities)


@pytest.mark.parametrize("name", ["theta1", "r", "c0", "phi2"])
def test_a_modality_may_not_take_the_name_of_a_node(name):
    with pytest.raises(NetworkError, match=name):
        zoo.multimodal([2, 2], {name: "poisson"})


@pytest.mark.parametrize("total", [-1, 2.5, "a", [1, -1], float("nan"), [[1]]])
@pytest.mark.parametrize("make", [zoo.lda, zoo.hdp_lda])
def test_wrong_total(make, total):
    with pytest.raises(NetworkError, match="total="):
        make(2, total=total)


# ---- threads ----------------------------------------------------------------------------

BIG = np.random.default_rng(1).poisson(0.9, (230, 170))  # more than 20,000 non-zero cells
THREADED = [
    pytest.param(name, layer1, id=f"{name}, {layer1}")
    for name in DEFAULTS
    for layer1 in variants(DEFAULTS[name](4))
]


@pytest.mark.parametrize(("name", "layer1"), THREADED)
def test_one_and_two_threads_give_the_same_bits(name, layer1):
    assert np.count_nonzero(BIG) > 20_000
    network = DEFAULTS[name](12)
    data = data_for(network, BIG)
    chains = [network.chain(data, seed=5, layer1=layer1, threads=n).sweep(3) for n in (1, 2)]
    assert chains[0].layer1 == layer1
    same(chains[0].values, chains[1].values)
    same(chains[0].counts, chains[1].counts)
    assert chains[0].log_joint() == chains[1].log_joint()


# ---- small, empty and unusual data ------------------------------------------------------

SINGLE = np.zeros((3, 4), int)
SINGLE[1, 2] = 1
HOLES = np.random.default_rng(2).poisson(1.0, (5, 6))
HOLES[1], HOLES[:, 3] = 0, 0
SHAPES = {
    "one row": np.array([[3, 0, 1, 2]]),
    "one column": np.array([[3], [0], [1]]),
    "one cell": np.array([[2]]),
    "a single token": SINGLE,
    "empty rows and columns": HOLES,
    "all zero": np.zeros((4, 5), int),
    "sparse": sp.csc_array(HOLES),
    "large counts": np.array([[30_000, 1, 0], [0, 2, 50_000]]),
}


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.filterwarnings("error")
def test_small_and_empty_data(name, shape, width):
    network = DEFAULTS[name](width)
    counts = SHAPES[shape]
    for layer1 in variants(network):
        chain = network.chain(data_for(network, counts), seed=1, layer1=layer1).sweep(8)
        for node, value in chain.values.items():
            assert np.isfinite(value).all(), (node, layer1)
            assert (value >= 0).all()
            simplex = network[node].simplex
            if simplex is not None:
                sums = value.sum(axis=network[node].axes.index(simplex))
                np.testing.assert_allclose(sums, 1.0, rtol=1e-9, err_msg=node)


@pytest.mark.parametrize("name", ["pfa", "pgbn, T=1", "pgbn, T=3", "lda", "hdp_lda", "bnbp",
                                  "gamma_markov_chain", "pgds", "gated_pfa"])  # fmt: skip
def test_no_token_is_lost(name):
    network = DEFAULTS[name](3)
    for layer1 in variants(network):
        chain = network.chain({"x": HOLES}, seed=1, layer1=layer1).sweep(3)
        phi = next(node for node in network.latent if node.startswith("phi"))
        counts = chain.counts[phi]
        np.testing.assert_array_equal(counts.sum(axis=0), HOLES.sum(axis=0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: zoo.pgds(10**400), r"width=1000.*below 2\^63"),
        (lambda: zoo.pgds(3, shrinkage=np.array([1, 2])), "shrinkage=.*give True or False"),
        (lambda: zoo.epm(3, weighted=np.array([1, 2])), "weighted=.*give True or False"),
        (lambda: zoo.hgp_epm(3, weighted="no"), "weighted='no': give True or False"),
        (lambda: zoo.pgbn([3], order=np.array([1, 2])), "order=.*'derived' or 'paper'"),
        (lambda: zoo.bptf(3, modes=[[1], [2]]), "modes=.*names of two modes"),
        (lambda: zoo.prgds(3, offset="a"), "offset='a': must be a number"),
        (lambda: zoo.prgds(3, offset=-1.0), "offset=-1.0: must be a number"),
    ],
)
def test_arguments_of_another_kind(call: Any, words: str) -> None:
    with pytest.raises(PgbnError, match=words):
        call()
