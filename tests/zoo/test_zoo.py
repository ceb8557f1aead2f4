"""The models of the zoo: how they are written, wrong arguments, threads, small and empty data."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from pgbn import Network, PgbnError, zoo
from tests.helpers.first_layers import samplers_of_network
from tests.helpers.models import MODEL_NAMES
from tests.helpers.repository import ROOT

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
    "gp_dpfa": lambda k: zoo.gp_dpfa(k),
    "pgds": lambda k: zoo.pgds(k),
    "gated_pfa": lambda k: zoo.gated_pfa(k),
}


def data_for(network: Network, counts: Any) -> dict[str, Any]:
    """The same counts for every observed node, as its type takes them."""
    links = {"BernoulliPoisson": lambda x: (x > 0).astype(int), "PoissonGamma": lambda x: x * 0.5}
    return {
        name: links.get(type(network[name]).__name__, lambda x: x)(counts)
        for name in network.observed
    }


# ---- how they are written ---------------------------------------------------------------


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_a_model_is_short_and_says_where_it_comes_from(name: str) -> None:
    model = getattr(zoo, name)
    (function,) = ast.parse(inspect.getsource(model)).body
    assert isinstance(function, ast.FunctionDef)
    _, *body = function.body
    assert function.end_lineno is not None
    assert function.end_lineno - body[0].lineno + 1 <= 25
    text = inspect.getdoc(model) or ""
    assert "~" in text.splitlines()[0]  # an equation
    assert "Reference" in text
    assert any(
        word in text for word in ("default", "ours", "released", "priors are", "those of pgbn")
    )  # whose
    assert f"`{name}`" in (ROOT / "docs" / "zoo.md").read_text(encoding="utf-8")


def test_defaults_and_layers_are_the_papers() -> None:
    text = str(zoo.pgbn([10, 5], eta=[0.05, 0.7]))
    for part in (
        "phi1[topic1, term] ~ Dirichlet(concentration=0.05)",
        "phi2[topic2, topic1] ~ Dirichlet(concentration=0.7)",
        "BetaOdds(a=0.01, b=0.01)",
        "gamma0 ~ Gamma(shape=0.01, rate=0.01)",
        "c0 ~ Gamma(shape=1, rate=1)",
        "c3[doc] ~ Gamma(shape=1, rate=1)",
    ):
        assert part in text
    assert "concentration=2.5" in str(zoo.lda(20))  # 50 / K


# ---- wrong arguments --------------------------------------------------------------------

NAN, INFINITE = float("nan"), float("inf")
PRIORS = [(0, 1), (1, -1), (1,), (1, 2, 3), 1.0, "ab", None, (INFINITE, 1), (1, NAN), ("a", 1)]
WRONG: dict[str, list[Any]] = {
    "Width": [0, -1, 2.5, "a", None, True, [3], NAN],
    "Widths": [[], [0], [-1], [2.5], "a", 0, 2.5, True, None, [2, 0], [True], {2: 3}],
    "Prior": PRIORS,
    "Positive": [0, -1, NAN, INFINITE, "a", True],
    "PositiveOrPrior": [0, "a", (1, -1)],
    "float | Sequence[float]": [0, -1, NAN, "a", True, [0.1, -1], [0.1] * 3],
    "Modalities": [{}, None, "words", ["poisson"], {3: "poisson"}],
    "Total": [-1, 2.5, "a", [1, -1], NAN, [[1]]],
    "Modes": ["abc", ["a"], ["a", "a"], [[1], [2]]],
    "ModeWidths": [[3, 2], {"a": 0, "b": 2}],
    "Features": ["years", [1.0, 2.0], [[1.0], [NAN]]],
    "Flag": [np.array([1, 2]), "no"],
}
RIGHT = {
    "Width": 2, "Widths": [2, 2], "ModeWidths": {"a": 2, "b": 2}, "Modalities": MODALITIES,
    "Features": [[1.0], [2.0]],
}  # fmt: skip


@pytest.mark.parametrize("model", [zoo.pgbn, zoo.dirbn, zoo.deep_pgds])
def test_a_number_is_the_width_of_one_layer(model: Any) -> None:
    assert model(3).to_json() == model([3]).to_json()


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_wrong_arguments_are_named(name: str) -> None:
    """Every argument of every model, by the type in its signature."""
    parameters = inspect.signature(getattr(zoo, name)).parameters.values()
    needed = {
        p.name: RIGHT[p.annotation] for p in parameters if p.default is inspect.Parameter.empty
    }
    getattr(zoo, name)(**needed)
    for parameter in parameters:
        for value in WRONG.get(parameter.annotation, ()):
            with pytest.raises(PgbnError, match=parameter.name):
                getattr(zoo, name)(**needed | {parameter.name: value})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: zoo.pgds(10**400), r"width=1000.*below 2\^63"),
        (lambda: zoo.pgbn([2, 2], eta=[0.1]), r"eta=\[0.1\].*2 layers"),
        (lambda: zoo.pgbn([3], order=np.array([1, 2])), "order=.*'derived' or 'paper'"),
        (lambda: zoo.bptf(3, "abc"), "modes='abc'.*'sender'"),
        (lambda: zoo.tucker([3, 2]), r"widths=\[3, 2\].*from modes to widths"),
        (lambda: zoo.tucker({"a": 0, "b": 2}), r"widths\['a'\]=0"),
        (lambda: zoo.hpf(2, size_factors=[-1.0]), "negative number -1"),
        (lambda: zoo.covariates(2, [1.0, 2.0]), r"features=\[1.0, 2.0\].*columns of 0 and 1"),
        (lambda: zoo.prgds(3, offset="a"), "offset='a': must be a number"),
        (lambda: zoo.prgds(3, offset=-1.0), "offset=-1.0: must be a number"),
        (lambda: zoo.multimodal([2, 2], {"theta1": "poisson"}), "theta1"),
        (lambda: zoo.phrase_windows([]), "texts: give the numbers"),
        (lambda: zoo.phrase_windows(3), "texts: give the numbers"),
        (lambda: zoo.phrase_windows([[0], []]), "give the numbers, from 0 on"),
        (lambda: zoo.phrase_windows([[0, 1.5]]), r"texts: \[0, 1.5\]: give the numbers"),
        (lambda: zoo.phrase_windows([[0, NAN]]), "give the numbers"),
        (lambda: zoo.phrase_windows([[0], ["a"]]), "texts: a text has the dtype"),
        (lambda: zoo.phrase_windows([[2**40]]), "give the numbers"),
        (lambda: zoo.phrase_windows([[0, 1]], terms="a"), "terms='a'"),
        (lambda: zoo.phrase_windows([[0, 5]], terms=3), r"terms=3: a word has the number 5"),
    ],
)
def test_other_wrong_arguments(call: Any, words: str) -> None:
    with pytest.raises(PgbnError, match=words):
        call()


# ---- threads, and small, empty and unusual data -----------------------------------------

BIG = np.random.default_rng(1).poisson(0.9, (230, 170))  # more than 20,000 non-zero cells
THREADED = [
    pytest.param(name, sampler, id=f"{name}, {sampler}")
    for name in DEFAULTS
    for sampler in samplers_of_network(DEFAULTS[name](4))
]


@pytest.mark.parametrize(("name", "sampler"), THREADED)
def test_one_and_two_threads_give_the_same_bits(name: str, sampler: str) -> None:
    network = DEFAULTS[name](12)
    data = data_for(network, BIG)
    one, two = (network.chain(data, seed=5, sampler=sampler, threads=n).sweep(3) for n in (1, 2))
    assert one.sampler == sampler
    for first, second in ((one.values, two.values), (one.counts, two.counts)):
        assert first.keys() == second.keys()
        for node in first:
            np.testing.assert_array_equal(first[node], second[node], err_msg=node)
    assert one.log_joint() == two.log_joint()


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
    "all zero, one cell": np.zeros((1, 1), int),
    "sparse": sp.csc_array(HOLES),
    "large counts": np.array([[30_000, 1, 0], [0, 2, 10**6]]),
}


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.filterwarnings("error")
def test_small_and_empty_data(name: str, shape: str, width: int) -> None:
    """Values stay possible, and no token is lost."""
    network, counts = DEFAULTS[name](width), SHAPES[shape]
    for sampler in samplers_of_network(network):
        chain = network.chain(data_for(network, counts), seed=1, sampler=sampler).sweep(8)
        for node, value in chain.values.items():
            assert np.isfinite(value).all(), (node, sampler)
            assert (value >= 0).all()
            simplex = network[node].simplex
            if simplex is not None:
                sums = value.sum(axis=network[node].axes.index(simplex))
                np.testing.assert_allclose(sums, 1.0, rtol=1e-9, err_msg=node)
        if type(network[network.observed[0]]).__name__ in ("Poisson", "Multinomial"):
            phi = next(node for node in network.latent if node.startswith("phi"))
            np.testing.assert_array_equal(chain.counts[phi].sum(axis=0), counts.sum(axis=0))
