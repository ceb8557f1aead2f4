"""Perplexity, projection, overdispersion, coherence."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.errors import DataError, PgbnWarning
from pgbn.evaluation import (
    HeldOutPerplexity,
    coherence,
    completion_perplexity,
    diversity,
    generate_documents,
    leading_terms,
    overdispersion,
    predicted_overdispersion,
    project,
    split_tokens,
    topic_dag,
    topic_weights,
    topics,
    variance_to_mean,
)
from pgbn.training import LayerwiseTraining, train_layerwise
from pgbn.training.trained import TrainedNetwork

RNG = np.random.default_rng(0)
X = sp.csr_array(RNG.poisson(1.0, (30, 12)))


def model_of(widths=(5, 3), terms=12, seed=0, **fields):
    rng = np.random.default_rng(seed)
    below, phi = terms, []
    for width in widths:
        phi.append(rng.dirichlet(np.full(below, 0.4), width))
        below = width
    r = rng.gamma(2.0, 1.0, widths[-1])
    return TrainedNetwork(tuple(phi), r, np.full(len(widths), 0.8), **fields)


# ---- perplexity -----------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.3, 0.5, 0.9])
def test_split_tokens_shares_out_every_token(fraction):
    train, test = split_tokens(X, fraction, seed=1)
    np.testing.assert_array_equal((train + test).toarray(), X.toarray())
    assert train.data.min() > 0
    assert test.data.min() > 0
    expected = np.maximum(np.round(fraction * X.sum(axis=1)), 1)
    np.testing.assert_array_equal(train.sum(axis=1), expected)


def test_split_tokens_is_fair_and_the_documents_own():
    x = np.array([[6, 3, 1]])
    seen = np.array([split_tokens(x, 0.5, seed)[0].toarray()[0] for seed in range(3000)])
    # hypergeometric: mean 5 x / 10, variance 5 · (x/10)(1 − x/10) · 5/9
    share = x[0] / 10
    np.testing.assert_allclose(seen.mean(axis=0), 5 * share, atol=0.06)
    np.testing.assert_allclose(seen.var(axis=0), 5 * share * (1 - share) * 5 / 9, rtol=0.1)
    whole, alone = split_tokens(X, 0.3)[0], split_tokens(X[[7]], 0.3)[0]
    np.testing.assert_array_equal(whole[[7]].toarray(), alone.toarray())


def test_split_tokens_keeps_one_token_and_copes_with_empty_documents():
    train, test = split_tokens(np.array([[0, 0], [1, 0], [2, 0]]), 0.1)
    assert train.sum(axis=1).tolist() == [0, 1, 1]
    assert test.sum(axis=1).tolist() == [0, 0, 1]
    with pytest.raises(DataError, match=r"fraction=1\.5"):
        split_tokens(X, 1.5)


def test_perplexity_is_the_ratio_of_sums_over_samples():
    held = sp.csr_array(np.array([[0, 2, 1], [3, 0, 0]]))
    accumulator = HeldOutPerplexity(held)
    total, sums = np.zeros((2, 3)), np.zeros((2, 1))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        phi, theta = rng.dirichlet(np.ones(3), 2), rng.gamma(1.0, 1.0, (2, 2))
        accumulator.add(phi, theta)
        total += theta @ phi
        sums += theta.sum(axis=1, keepdims=True)
    y = held.toarray()
    f = total / sums
    assert accumulator.perplexity() == pytest.approx(math.exp(-(y * np.log(f)).sum() / y.sum()))
    each = np.exp(-(y * np.log(f)).sum(axis=1) / y.sum(axis=1))
    np.testing.assert_allclose(accumulator.per_document(), each)
    last = theta @ phi / theta.sum(axis=1, keepdims=True)
    assert accumulator.last() == pytest.approx(math.exp(-(y * np.log(last)).sum() / y.sum()))
    assert accumulator.samples == 3


def test_a_uniform_model_has_the_perplexity_of_the_vocabulary():
    accumulator = HeldOutPerplexity(X)
    accumulator.add(np.full((4, 12), 1 / 12), np.ones((30, 4)))
    assert accumulator.perplexity() == pytest.approx(12.0)


def test_perplexity_says_what_is_wrong():
    accumulator = HeldOutPerplexity(X)
    with pytest.raises(DataError, match="no samples yet"):
        accumulator.perplexity()
    with pytest.raises(DataError, match="do not fit"):
        accumulator.add(np.ones((2, 5)), np.ones((30, 2)))
    with pytest.raises(DataError, match="no counts"):
        HeldOutPerplexity(np.zeros((2, 3), int))
    certain = np.zeros((1, 12))
    certain[0, 0] = 1.0
    accumulator.add(certain, np.ones((30, 1)))
    with pytest.warns(PgbnWarning, match="probability 0"):
        assert accumulator.perplexity() > 1e9


def test_held_out_data_and_samples_are_checked():
    phi, theta = np.full((2, 12), 1 / 12), np.ones((30, 2))
    accumulator = HeldOutPerplexity(X, threads=1)
    for wrong, message in {
        "1-d": ((phi[0], theta), "phi is ndarray of 1 dims"),
        "sparse": ((sp.csr_array(phi), theta), "phi is csr_array"),
        "ragged": (([[1.0], [0.5, 0.5]], theta), "phi is list"),
        "masked": ((np.ma.masked_equal(phi, 0), theta), "phi is MaskedArray"),
        "strings": ((phi, theta.astype(str)), "theta is ndarray"),
        "no topics": ((phi[:0], theta[:, :0]), "phi is ndarray"),
        "not normalised": ((2 * phi, theta), "phi: the rows"),
        "negative topic": ((phi + np.r_[-1, 1, [0] * 10], theta), "phi: the rows"),
        "NaN topic": ((phi * np.nan, theta), "phi: the rows"),
        "NaN units": ((phi, theta * np.nan), "theta: the units"),
        "negative units": ((phi, -theta), "theta: the units"),
        "infinite units": ((phi, theta * np.inf), "theta: the units"),
    }.values():
        with pytest.raises(DataError, match=message):
            accumulator.add(*wrong)
    accumulator.add(phi.tolist(), theta.tolist())
    assert accumulator.perplexity() == pytest.approx(12.0)
    with pytest.raises(DataError, match=r"1 topics after 1 of 2.*reset\(\)"):
        accumulator.add(phi[:1], theta[:, :1])
    accumulator.reset()
    accumulator.add(phi[:1], theta[:, :1])
    masked = np.ma.masked_equal(X.toarray(), 1)
    for run in (HeldOutPerplexity, lambda data: split_tokens(data, 0.5)):
        with pytest.raises(DataError, match="masked cells are not supported"):
            run(masked)
    with pytest.raises(DataError, match="held_out: the data have negative"):
        HeldOutPerplexity(-X)


def test_any_chain_with_topics_can_be_scored():
    chain = pgbn.zoo.lda(3).chain({"x": X}, threads=1)
    accumulator = HeldOutPerplexity(X, threads=1)
    with pytest.raises(DataError, match=r"phi='phi1'.*phi, theta|phi='phi1'.*theta, phi"):
        accumulator.add_chain(chain)
    with pytest.raises(DataError, match="theta='x'"):
        accumulator.add_chain(chain, "phi", "x")
    with pytest.raises(DataError, match="chain is TrainedNetwork"):
        accumulator.add_chain(model_of())
    accumulator.add_chain(chain, phi="phi", theta="theta")
    rates = chain.values["theta"] @ chain.values["phi"]
    exact = np.exp(-(X.toarray() * np.log(rates)).sum() / X.sum())
    assert accumulator.perplexity() == pytest.approx(exact)


@pytest.mark.parametrize(
    ("held_out", "options", "message"),
    [
        (X[:5], {}, "held_out has 5 documents, but X has 30"),
        (X[:, :5], {}, "held_out has 5 columns, but the model knows 12"),
        (-X, {}, "held_out: the data have negative"),
        (0 * X, {}, "held_out has no counts"),
        (X, {"fraction": 7}, "fraction=7"),
        (np.ma.masked_equal(X.toarray(), 1), {}, "held_out: masked"),
    ],
)
def test_completion_checks_before_it_infers(monkeypatch, held_out, options, message):
    monkeypatch.setattr("pgbn.evaluation.perplexity.infer", lambda *a, **k: pytest.fail("inferred"))
    with pytest.raises(DataError, match=message):
        completion_perplexity(model_of(), X, held_out, **options)


def test_completion_drops_columns_beyond_the_vocabulary_in_both_parts():
    model, sweeps = model_of(), {"burn_in": 2, "samples": 2, "threads": 1}
    wider = sp.hstack([X, sp.csr_array(np.ones((30, 2), int))], format="csr")
    expected = completion_perplexity(model, X, X, **sweeps).perplexity()
    with pytest.warns(PgbnWarning, match="unknown terms with 60 counts") as caught:
        assert completion_perplexity(model, wider, wider, **sweeps).perplexity() == expected
    assert [str(each.message).partition(":")[0] for each in caught] == ["X", "held_out"]
    assert {each.filename for each in caught} == {__file__}
    whole = completion_perplexity(model, X, **sweeps).perplexity()
    with pytest.warns(PgbnWarning, match="X: 2 unknown terms"):
        assert completion_perplexity(model, wider, **sweeps).perplexity() == whole


def test_perplexity_accumulates_during_training_and_beats_the_unigram():
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(40, 0.1), 4)
    x = rng.poisson(rng.gamma(0.2, 100.0, (80, 4)) @ phi)
    train, test = split_tokens(x, 0.5)
    accumulator = HeldOutPerplexity(test, threads=1)

    def collect(progress):
        if progress.phase == "collect" and progress.sweep % 5 == 0:
            accumulator.add_chain(progress.chain)

    result = train_layerwise(train, 8, 1, burn_in=60, collect=40, threads=1, callback=collect)
    assert accumulator.samples == 8
    counts = np.asarray(train.sum(axis=0), float) + 0.05
    unigram = np.exp(-(test.toarray() @ np.log(counts / counts.sum())).sum() / test.sum())
    assert accumulator.perplexity() < 0.8 * unigram
    assert accumulator.perplexity() <= accumulator.last()
    completed = completion_perplexity(result.deepest, train, test, burn_in=50, samples=50)
    assert completed.perplexity() == pytest.approx(accumulator.perplexity(), rel=0.15)
    whole = completion_perplexity(result.deepest, x, burn_in=50, samples=50)
    assert whole.per_document().shape == (80,)
    assert whole.perplexity() < 0.8 * unigram


# ---- projection -----------------------------------------------------------------------


def test_projection_multiplies_the_layers():
    model = model_of((5, 3, 2))
    np.testing.assert_array_equal(project(model, 1), model.phi[0])
    np.testing.assert_allclose(project(model, 3), model.phi[2] @ model.phi[1] @ model.phi[0])
    np.testing.assert_allclose(project(model, 3).sum(axis=1), 1.0)
    with pytest.raises(DataError, match="numbered from 1 to 3"):
        project(model, 4)


def test_topics_are_sorted_by_weight_and_named():
    model = model_of()
    names = [f"w{v}" for v in range(12)]
    table = topics(model, layer=2, top=4, vocabulary=names)
    assert [t.index for t in table] == np.argsort(-model.r).tolist()
    psi = project(model, 2)[table[0].index]
    assert list(table[0].terms) == [names[v] for v in np.argsort(-psi)[:4]]
    assert sum(t.weight for t in table) == pytest.approx(1.0)
    assert "w" in str(table[0])
    with pytest.raises(DataError, match="3 names, but 12"):
        topics(model, vocabulary=["a", "b", "c"])


def test_weights_come_from_training_or_from_r():
    model = model_of()
    implied = model.r @ model.phi[1]
    np.testing.assert_allclose(topic_weights(model, 1), implied / implied.sum())
    given = model_of(weights=(np.arange(1.0, 6.0), np.array([1.0, 0.0, 3.0])))
    np.testing.assert_allclose(topic_weights(given, 2), [0.25, 0.0, 0.75])


def test_the_dag_of_a_topic_follows_strong_edges():
    model = model_of((5, 4, 2))
    graph = topic_dag(model, 3, 1, threshold=0.2)
    assert (3, 1) in graph
    for (t, k), (s, l), data in graph.edges(data=True):
        assert s == t - 1
        assert data["weight"] == model.phi[t - 1][k, l]
        strongest = model.phi[t - 1][k].argmax()
        assert data["weight"] >= 0.2 or l == strongest
    for t, k in graph:
        if t > 1:
            assert graph.out_degree((t, k)) >= 1
            assert graph.out_degree((t, k)) == max((model.phi[t - 1][k] >= 0.2).sum(), 1)
        assert len(graph.nodes[t, k]["terms"]) == 5
    with pytest.raises(DataError, match="topics 0 to 1"):
        topic_dag(model, 3, 2)


def vocabulary_of(size):
    """Names whose order is not that of their columns, as CountVectorizer has them."""
    return {f"w{v}": v for v in np.random.default_rng(0).permutation(size).tolist()}


def test_a_dict_of_columns_names_the_terms():
    model, names = model_of(), [f"w{v}" for v in range(12)]
    columns = vocabulary_of(12)
    assert list(columns) != names
    assert topics(model, 2, 4, columns) == topics(model, 2, 4, names)
    dags = [topic_dag(model, 2, 0, vocabulary=given) for given in (columns, names)]
    assert dags[0].nodes(data=True) == dags[1].nodes(data=True)
    made = generate_documents(model, 2, length=9)
    assert made.ranked(3, columns) == made.ranked(3, names)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({f"w{v}": v + 1 for v in range(12)}, "a dict must give each name its column, 0 to 11"),
        (dict.fromkeys(map(str, range(12)), 0), "each once"),
        (dict(enumerate("abcdefghijkl")), "a dict must give each name its column"),
        ({"a": 0}, "1 names, but 12"),
        ({f"w{v}" for v in range(12)}, "a set; give a list"),
        ("abcdefghijkl", "a string; give a list"),
        (iter("abcdefghijkl"), "iterator; give a list"),
        (np.array([["a"] * 12]), "a ndarray; give a list"),
        (5, "a int; give a list"),
    ],
)
def test_names_without_an_order_are_refused(names, message):
    for run in (
        lambda: topics(model_of(), 1, 2, names),
        lambda: topic_dag(model_of(), 1, 0, vocabulary=names),
        lambda: generate_documents(model_of(), 1, length=3).ranked(2, names),
    ):
        with pytest.raises(DataError, match=f"vocabulary: .*{message}"):
            run()


def test_a_projection_is_the_callers_own():
    model = model_of()
    before = model.phi[0].copy()
    project(model, 1)[:] = 0
    np.testing.assert_array_equal(model.phi[0], before)


FUNCTIONS = {
    "infer": lambda model: pgbn.infer(model, X, burn_in=1, samples=1).units[2],
    "completion_perplexity": lambda model: completion_perplexity(
        model, X, burn_in=1, samples=1
    ).perplexity(),
    "generate_documents": lambda model: generate_documents(model, 2).counts.toarray(),
    "topics": lambda model: [str(topic) for topic in topics(model, 2)],
    "project": lambda model: project(model, 2),
    "topic_dag": lambda model: list(topic_dag(model, 2, 0)),
    "topic_weights": lambda model: topic_weights(model, 2),
    "predicted_overdispersion": lambda model: predicted_overdispersion(model),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_form_of_a_trained_model_is_understood(name):
    model, run = model_of(), FUNCTIONS[name]
    training = LayerwiseTraining((model_of((5,)), model), "")
    estimator = SimpleNamespace(training_=training)
    expected = run(model)
    np.testing.assert_array_equal(run(training), expected)
    np.testing.assert_array_equal(run(estimator), expected)
    chain = pgbn.zoo.pfa(2).chain({"x": X}, threads=1)
    for wrong in (None, "folder", chain, pgbn.zoo.pfa(2), SimpleNamespace()):
        with pytest.raises(DataError, match=f"model is {type(wrong).__name__}; give a trained"):
            run(wrong)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"index": "a"}, "index='a'"),
        ({"index": 1.5}, "index=1.5"),
        ({"layer": "2"}, "layer='2'"),
        ({"layer": True}, "layer=True"),
        ({"threshold": "a"}, "threshold='a'"),
        ({"threshold": math.nan}, "threshold=nan"),
        ({"threshold": -1}, "threshold=-1"),
        ({"top": 1.5}, "top=1.5"),
        ({"top": 0}, "top=0"),
        ({"top": -1}, "top=-1"),
    ],
)
def test_arguments_of_a_dag(arguments, message):
    with pytest.raises(DataError, match=message):
        topic_dag(model_of(), **{"layer": 2, "index": 0, **arguments})


def test_whole_floats_are_numbers_of_layers_and_topics():
    model = model_of()
    np.testing.assert_array_equal(project(model, 2.0), project(model, 2))
    np.testing.assert_array_equal(topic_weights(model, 1.0), topic_weights(model, 1))
    assert list(topic_dag(model, 2.0, 1.0)) == list(topic_dag(model, 2, 1))
    assert topics(model, 1.0)[0].layer.__class__ is int


# ---- overdispersion -------------------------------------------------------------------


def identity_model(depth, p, width=3):
    phi = [np.eye(width)] * depth
    c = np.ones(depth)
    c[0] = (1 - p) / p
    return TrainedNetwork(tuple(phi), np.array([0.5, 1.0, 2.0]), c)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_depth_multiplies_the_variance_to_mean_ratio(depth):
    """Paper, section 2.2: [1 + (T − 1) p] / (1 − p) for identity matrices and c = 1."""
    p = 0.6
    predicted = predicted_overdispersion(identity_model(depth, p))
    np.testing.assert_allclose(predicted, (1 + (depth - 1) * p) / (1 - p))
    assert overdispersion(depth, p) == pytest.approx(predicted[0])


@pytest.mark.parametrize("depth", [1, 3])
def test_the_empirical_ratio_agrees(depth):
    model = identity_model(depth, 0.6)
    counts = generate_documents(model, 40_000, seed=depth).counts  # Φ^(1) = I: these are the m
    ratio = variance_to_mean(counts)
    np.testing.assert_allclose(ratio, predicted_overdispersion(model), rtol=0.12)


def test_the_ratio_of_a_general_network():
    model = TrainedNetwork(
        (np.eye(4), model_of((3,), terms=4).phi[0]), np.ones(3), np.array([0.5, 1.5])
    )
    counts = generate_documents(model, 40_000, seed=0).counts
    np.testing.assert_allclose(variance_to_mean(counts), predicted_overdispersion(model), rtol=0.08)


def test_overdispersion_checks():
    with pytest.raises(DataError, match="p=1"):
        overdispersion(2, 1.0)
    with pytest.raises(DataError, match="2 rates for 1 layers"):
        predicted_overdispersion(identity_model(1, 0.5), [1.0, 1.0])
    for arguments, message in (((1.5, 0.5), "depth=1.5"), ((math.nan, 0.5), "depth=nan"),
                               (("2", 0.5), "depth='2'"), ((2, "a"), "p='a'"),
                               ((2, math.nan), "p=nan"), ((2, -0.1), "p=-0.1")):  # fmt: skip
        with pytest.raises(DataError, match=message):
            overdispersion(*arguments)
    for c in ([-1, 1], [0, 1], [math.nan, 1], [math.inf, 1], "ab", ["a", "b"]):
        with pytest.raises(DataError, match="c"):
            predicted_overdispersion(identity_model(2, 0.5), c)
    assert np.isnan(variance_to_mean(np.zeros((3, 1)))).all()


# ---- coherence ------------------------------------------------------------------------


def test_coherence_by_hand():
    x = np.array([[1, 2, 0, 0], [3, 1, 0, 0], [1, 0, 1, 0], [0, 0, 2, 1]])
    phi = np.array([[0.5, 0.4, 0.06, 0.04], [0.06, 0.04, 0.4, 0.5]])
    npmi = coherence(phi, x, "npmi", top=2)
    both, first, second = 2 / 4, 3 / 4, 2 / 4
    assert npmi[0] == pytest.approx(math.log(both / (first * second)) / -math.log(both))
    umass = coherence(phi, x, "umass", top=2)
    assert umass[0] == pytest.approx(math.log((2 + 1) / 3))
    assert umass[1] == pytest.approx(math.log((1 + 1) / 1))  # term 3 leads, then term 2


def test_coherence_edges():
    phi = np.array([[0.5, 0.5, 0.0]])
    never = np.array([[1, 0, 1], [0, 1, 1]])
    assert coherence(phi, never, "npmi", 2)[0] == -1.0
    always = np.ones((3, 3), int)
    assert coherence(phi, sp.csr_array(always), "npmi", 2)[0] == 1.0
    with pytest.raises(DataError, match="measure"):
        coherence(phi, never, "cv")
    with pytest.raises(DataError, match="columns"):
        coherence(phi, np.ones((2, 5), int), top=2)


def test_diversity():
    phi = np.array([[0.6, 0.3, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6]])
    assert diversity(phi, 2) == 1.0
    assert diversity(phi, 3) == pytest.approx(4 / 6)
    assert leading_terms(phi, 2).tolist() == [[0, 1], [3, 2]]


def test_topics_as_lists_and_other_input():
    phi = [[0.6, 0.3, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6]]
    x = [[1, 2, 0, 0], [0, 0, 2, 1]]
    assert leading_terms(phi, 2.0).tolist() == [[0, 1], [3, 2]]
    assert diversity(phi, 2) == 1.0
    np.testing.assert_array_equal(coherence(phi, x, top=2), coherence(np.array(phi), x, top=2))
    for run in (lambda: diversity(phi, 2.5), lambda: coherence(phi, x, top=2.5)):
        with pytest.raises(DataError, match=r"top=2\.5"):
            run()
    for wrong in ([[1.0], [0.5, 0.5]], [0.5, 0.5], [["a", "b"]], None, np.full((2, 4), np.nan)):
        for measure in (lambda p: coherence(p, x), diversity, leading_terms):
            with pytest.raises(DataError, match="phi: give an array"):
                measure(wrong)
    with pytest.raises(DataError, match="X: masked"):
        coherence(phi, np.ma.masked_equal(x, 1), top=2)


# ---- the trained network itself ---------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"c": [1.0, math.nan]}, "c=.*nan"),
        ({"c": [1.0, -1.0]}, "c=.*-1"),
        ({"c": [1.0]}, r"c has shape \(1,\), expected \(2,\)"),
        ({"r": [1.0, math.nan, 1.0]}, "r=.*nan.*finite numbers"),
        ({"r": [1.0, 2.0]}, r"r has shape \(2,\), expected \(3,\)"),
        ({"r": ["a", "b", "c"]}, "TrainedNetwork: r has the dtype"),
        ({"link": "x"}, "link='x'"),
        ({"phi": np.eye(3)}, "phi is ndarray; give a tuple"),
        ({"phi": ()}, "phi is empty"),
        ({"phi": (np.ones(3), np.eye(3))}, r"phi\[0\] has shape \(3,\), expected \(K1, terms\)"),
        ({"phi": ([[1.0], [0.5, 0.5]],)}, r"phi\[0\] has rows"),
        ({"weights": ([1.0], [1.0])}, r"weights\[0\] has shape"),
        ({"weights": ([1.0],)}, "weights of 1 layers"),
    ],
)
def test_a_trained_network_is_checked(fields, message):
    model = model_of()
    with pytest.raises(DataError, match=message):
        TrainedNetwork(**{"phi": model.phi, "r": model.r, "c": model.c, **fields})


def test_a_trained_network_of_lists():
    model = model_of()
    lists = TrainedNetwork([phi.tolist() for phi in model.phi], model.r.tolist(), [1, 1],
                           weights=[[1] * 5, [1] * 3])  # fmt: skip
    np.testing.assert_array_equal(project(lists, 2), project(model, 2))
    assert topic_weights(lists, 2).tolist() == [1 / 3] * 3
    assert lists.c.dtype == np.float64
    assert TrainedNetwork(model.phi, model.r, model.c).phi[0] is model.phi[0]  # not copied
    for name in ("depth", "widths", "vocabulary_size"):
        assert getattr(TrainedNetwork, name).__doc__


def test_public_names():
    assert pgbn.split_tokens is split_tokens
    assert pgbn.evaluation.coherence is coherence
