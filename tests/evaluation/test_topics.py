"""Topics over terms: their words, their weights, what they are made of, and how they are found."""

import math
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation.topic_words import (
    draw_of,
    find_topics,
    groups_for,
    keyword_labels,
    place_of,
    rank_words,
    relevance_of,
    topic_similarity,
    topic_stability,
    topic_terms,
    topic_weights,
    topics,
    topics_graph,
    usual_length,
    with_floor,
)
from pgbn.training.merging import merge_topics
from tests.evaluation.test_layer_quality import three_topics
from tests.helpers.trained import model_of


def test_projection_multiplies_the_layers():
    model = model_of((5, 3, 2))
    np.testing.assert_array_equal(topic_terms(model, 1), model.phi[0])
    np.testing.assert_allclose(topic_terms(model, 3), model.phi[2] @ model.phi[1] @ model.phi[0])
    np.testing.assert_allclose(topic_terms(model, 3).sum(axis=1), 1.0)
    before = model.phi[0].copy()
    topic_terms(model, 1)[:] = 0  # the caller's own
    np.testing.assert_array_equal(model.phi[0], before)
    with pytest.raises(DataError, match="an integer from 1 to 3"):
        topic_terms(model, 4)


def test_topics_are_sorted_by_weight_and_named():
    model = model_of()
    names = [f"w{v}" for v in range(12)]
    table = topics(model, layer=2, top=4, vocabulary=names)
    assert [t.index for t in table] == np.argsort(-model.r).tolist()
    psi, common = topic_terms(model, 2)[table[0].index], topic_weights(model, 1) @ model.phi[0]
    relevance = 0.3 * np.log(psi) + 0.7 * np.log(psi / with_floor(common, usual_length(model)))
    assert list(table[0].terms) == [names[v] for v in np.argsort(-relevance)[:4]]
    by_probability = topics(model, layer=2, top=4, vocabulary=names, relevance=1)[0]
    assert list(by_probability.terms) == [names[v] for v in np.argsort(-psi)[:4]]
    assert by_probability.probabilities == tuple(np.sort(psi)[::-1][:4])
    assert sum(t.weight for t in table) == pytest.approx(1.0)


def test_a_printed_topic_commands_no_terminal():
    names = [f"\x1b]0;{number}\x07\n" for number in range(model_of((5,)).vocabulary_size)]
    for topic in topics(model_of((5,)).with_labels({(1, 0): "\x9b31m"}), 1, 3, names):
        assert str(topic).isprintable()
        assert topic.terms[0] in names


def test_weights_come_from_training_or_from_r():
    model = model_of()
    implied = model.r @ model.phi[1]
    np.testing.assert_allclose(topic_weights(model, 1), implied / implied.sum())
    given = model_of(weights=(np.arange(1.0, 6.0), np.array([1.0, 0.0, 3.0])))
    np.testing.assert_allclose(topic_weights(given, 2), [0.25, 0.0, 0.75])


@pytest.mark.parametrize("threshold", [0.05, 0.2])
def test_the_dag_of_a_topic_follows_strong_edges(threshold):
    model = model_of((5, 4, 2))
    graph = topics_graph(model, (3, 1), threshold=threshold)
    assert set(graph) == {(3, 1), *nx.descendants(graph, (3, 1))} < set(topics_graph(model))
    for t, k in graph:
        assert len(graph.nodes[t, k]["terms"].split()) == 5
        if t > 1:
            row = model.phi[t - 1][k]
            strong = np.flatnonzero(row >= threshold).tolist() or [int(row.argmax())]
            edges = {l: data["weight"] for _, (_, l), data in graph.out_edges((t, k), data=True)}
            assert edges == {l: row[l] for l in strong}
    assert all(s == t - 1 for (t, _), (s, _) in graph.edges)


@pytest.mark.parametrize(("names", "message"), [
    ({f"w{v}": v + 1 for v in range(12)}, "a dict must give each name its column, 0 to 11"),
    (dict.fromkeys(map(str, range(12)), 0), "each once"),
    (dict(enumerate("abcdefghijkl")), "a dict must give each name its column"),
    ({"a": 0}, "1 names, but 12"), (["a", "b"], "2 names, but 12"),
    ({f"w{v}" for v in range(12)}, "a set; give a list"), (5, "a int; give a list"),
    ("abcdefghijkl", "a string; give a list"), (iter("abcdefghijkl"), "iterator; give a list"),
    (np.array([["a"] * 12]), "a ndarray; give a list"),
])  # fmt: skip
def test_names_of_terms_have_an_order(names, message):
    columns = {f"w{v}": v for v in np.random.default_rng(0).permutation(12).tolist()}
    for run in (
        lambda names: topics(model_of(), 1, 2, names),
        lambda names: [*topics_graph(model_of(), (1, 0), vocabulary=names).nodes(data=True)],
    ):
        assert run(columns) == run([f"w{v}" for v in range(12)])
        with pytest.raises(DataError, match=f"vocabulary: .*{message}"):
            run(names)


@pytest.mark.parametrize("argument", [
    {"threshold": "a"}, {"threshold": math.nan}, {"threshold": -1}, {"top": 1.5}, {"top": 0},
])  # fmt: skip
def test_arguments_of_a_graph(argument):
    ((name, value),) = argument.items()
    with pytest.raises(DataError, match=f"{name}={value!r}"):
        topics_graph(model_of(), **argument)


def test_a_topic_has_a_name_a_place_and_a_number():
    model = model_of()
    (topic, *_) = topics(model, 2)
    for found in (topic, topic.name, (2, topic.index)):
        assert place_of(model, found) == (2, topic.index)
    assert place_of(model, np.int64(1), 2) == (2, 1)
    for wrong, message in (
        ("layer2_topic9", "topic=9: layer 2 has topics 0 to 2; give .* such as 'layer2_topic0'"),
        ("layer7_topic0", "layer=7: the model has 2 layers"),
        ("rain", "topic='rain': layer 1 has topics 0 to 4"),
        ((2, 1.5), "topic=1.5: layer 2"), ((True, 0), "layer=True"), ([0], r"topic=\[0\]"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=message):
            place_of(model, wrong)
    with pytest.raises(DataError, match="topic=layer1_topic0, but layer=2; omit layer"):
        place_of(model, "layer1_topic0", 2)


COMMON = np.array([0.09, 0.06, 0.05, 0.02, *[0.01] * 78])
FLOOR = np.maximum(COMMON, 0.06)  # a tenth of all tokens is reached at the second word
PSI = np.zeros((2, 82))
PSI[:, :4] = [[0.5, 0.1, 0.2, 0.2], [0.4, 0.59, 0.01, 0.0]]


@pytest.mark.parametrize("lam", [0.0, 0.3, 0.6, 1.0])
def test_words_are_ranked_by_the_formula_with_the_floor(lam):
    psi, floor = PSI[0, :4], FLOOR[:4]
    score = lam * np.log(psi) + (1 - lam) * np.log(psi / floor)
    found = rank_words(PSI, COMMON, lam, 4)[0]
    np.testing.assert_array_equal(found, np.argsort(-score, kind="stable"))
    for common, expected in (
        (COMMON, FLOOR),
        (COMMON[::-1], FLOOR[::-1]),
        (np.zeros(3), np.zeros(3)),
    ):
        np.testing.assert_array_equal(with_floor(common), expected)


def test_a_word_that_the_topic_hardly_has_comes_last_however_rare():
    psi, common = np.array([[0.9, 0.1 - 1e-7, 1e-7, 0.0]]), np.array([0.6, 0.4 - 1e-9, 1e-9, 0.0])
    assert rank_words(psi, common, 0.0, 4).tolist() == [[0, 1, 2, 3]]


def test_each_layer_has_its_default_and_wrong_ones_are_refused():
    assert [relevance_of(t) for t in (1, 2, 5)] == [1.0, 0.3, 0.3]
    assert relevance_of(1, 0.2) == 0.2
    assert relevance_of(3, 1) == 1.0
    for wrong in (-0.1, 1.5, "much", float("nan"), [0.5]):
        with pytest.raises(DataError, match=r"relevance=.*must be a number from 0 to 1"):
            relevance_of(2, wrong)


def test_the_floor_falls_as_texts_get_longer():
    common = np.array([0.2, 0.15, 0.1, 0.08, 0.07, *[0.01] * 40])
    # A tenth of all tokens is reached at the first word, a half at the fourth.
    for length, floor in ((0.0, 0.2), (0.05, 0.2), (0.16, 0.125), (0.2, 0.1), (100.0, 0.08),
                          (np.inf, 0.2), (np.nan, 0.2)):  # fmt: skip
        np.testing.assert_allclose(with_floor(common, length), np.maximum(common, floor))
    psi = np.zeros((1, 45))
    psi[0, [0, 3]] = [0.6, 0.35]
    assert rank_words(psi, common, 0.0, 1).tolist() == [[0]], "equally common"
    assert rank_words(psi, common, 0.0, 1, 100.0).tolist() == [[3]], "0.35 / 0.08 above 0.6 / 0.2"


def test_a_topic_of_a_few_tokens_is_read_by_its_probable_words():
    """(n ψ / p + s) / (n + s) in place of ψ / p: the same for large n, 1 for small."""
    psi, common = np.zeros((1, 45)), np.array([0.2, 0.15, 0.1, 0.08, 0.07, *[0.01] * 40])
    psi[0, [0, 3]] = [0.6, 0.35]  # 3 and 4.4 times as often as in the corpus
    for tokens, first in ((1e9, 3), (4000.0, 3), (1.0, 0)):
        found = rank_words(psi, common, 0.2, 1, 100.0, np.array([tokens]))
        assert found.tolist() == [[first]], tokens
    score = 0.2 * np.log(psi[0, [0, 3]]) + 0.8 * np.log(
        (100 * np.array([3.0, 4.375]) + 2000) / 2100
    )
    assert score[0] > score[1], "so with 100 tokens the frequent word leads"
    assert rank_words(psi, common, 0.2, 1, 100.0, np.array([100.0])).tolist() == [[0]]
    assert draw_of(None) == 0.0
    np.testing.assert_allclose(draw_of(np.array([2000.0, 500.0])), [1.0, 4.0])
    assert np.isfinite(draw_of(np.zeros(1))).all()


def test_twins_are_merged_first():
    model = three_topics()
    assert groups_for(model, 3) == [(0,), (1,), (2,)]
    assert groups_for(model, 2) == [(0, 2), (1,)]
    assert groups_for(model, 1) == [(0, 1, 2)]
    assert merge_topics(model, groups_for(model, 2)).widths == (2, 2)
    for to in (0, 4, 1.5, None):
        with pytest.raises(DataError, match=r"to=.*layer 1 has 3 topics"):
            groups_for(model, to)


def test_the_loss_is_that_of_wards_rule():
    """Two merges of four topics, by hand: each time the pair of least loss."""
    rng = np.random.default_rng(0)
    phi, weight = rng.dirichlet(np.full(12, 0.5), 4), np.array([4.0, 1.0, 2.0, 3.0])
    model = three_topics().with_topics(phi=(phi,), r=np.ones(4), c=np.ones(1), weights=(weight,))
    topics = {(k,): (weight[k] / 10, phi[k]) for k in range(4)}
    for _ in range(2):

        def loss(pair, topics=topics):
            (v, a), (w, b) = topics[pair[0]], topics[pair[1]]
            return v * w / (v + w) * ((np.sqrt(a) - np.sqrt(b)) ** 2).sum()

        keys = sorted(topics)
        one, two = min(((a, b) for a in keys for b in keys if a < b), key=loss)
        (v, a), (w, b) = topics.pop(one), topics.pop(two)
        topics[tuple(sorted(one + two))] = (v + w, (v * a + w * b) / (v + w))
    assert groups_for(model, 2) == sorted(topics)


NAMES = tuple(f"word{v}" for v in range(20))


@pytest.fixture
def model():
    return replace(three_topics(), vocabulary=NAMES)


def test_a_word_is_found_in_the_topics_that_have_most_of_it(model):
    found = find_topics(model, "word2", n=2)
    joint = topic_weights(model, 1) * topic_terms(model, 1)[:, 2]
    expected = joint / joint.sum()
    assert [topic.index for topic, _ in found] == np.argsort(-expected)[:2].tolist()
    assert found[0][1] == pytest.approx(expected.max())
    both = find_topics(model, ["word18", "word19"], layer=2, n=1)
    assert both[0][0].layer == 2
    assert both[0][0].index == 1
    with pytest.raises(
        DataError, match=r"'word77' is not a term of the model. Did you mean 'word7'"
    ):
        find_topics(model, "word77")
    with pytest.raises(DataError, match="at least one word"):
        find_topics(model, [])
    with pytest.raises(DataError, match="layer=3"):
        find_topics(model, "word1", layer=3)


def test_case_matters_only_where_a_term_is_written_like_the_word(model):
    named = replace(model, vocabulary=("rain", "Rain", "US", "us", "Sun", *NAMES[5:]))

    def shares(words):
        return [(topic.index, share) for topic, share in find_topics(named, words)]

    def shares_of(columns):
        joint = topic_weights(model, 1) * topic_terms(model, 1)[:, columns].sum(axis=1)
        return pytest.approx(np.sort(joint / joint.sum())[::-1])

    assert shares("Sun") == shares("sun") == shares("SUN")
    assert [share for _, share in shares("US")] == shares_of([2])
    assert [share for _, share in shares("us")] == shares_of([3])
    assert [share for _, share in shares("RAIN")] == shares_of([0, 1])
    assert keyword_labels(named, {"weather": ["SUN"]}) == keyword_labels(named, {"weather": "Sun"})
    with pytest.raises(DataError, match="'moon' is not a term"):
        find_topics(named, "moon")


def test_labels_by_keywords(model):
    labels = keyword_labels(
        model, {"begin": ["word0", "word1"], "end": "word19", "last": ["word18"]}
    )
    assert labels == {(1, 0): "begin", (1, 1): "end / last"}
    assert model.with_labels(labels).labels == labels
    with pytest.raises(DataError, match="keywords="):
        keyword_labels(model, ["word1"])


def test_similarity_is_one_for_equal_topics(model):
    found = topic_similarity(model)
    np.testing.assert_allclose(np.diag(found), 1.0)
    np.testing.assert_allclose(found, found.T)
    assert found[0, 2] > 0.5 > found[0, 1]


def test_stability_matches_topics_one_to_one(model):
    turned = model.with_topics(phi=(model.phi[0][[2, 0, 1]], model.phi[1][:, [2, 0, 1]]))
    np.testing.assert_allclose(topic_stability([model, turned, model]), 1.0)
    np.testing.assert_allclose(topic_stability([model, turned], layer=2), 1.0)
    fewer = model.with_topics(phi=(model.phi[0][:2],), r=np.ones(2), c=np.ones(1), weights=())
    assert (topic_stability([model, fewer])[0] > 0).sum() == 2  # the third has no partner
    with pytest.raises(DataError, match="at least two"):
        topic_stability([model])
    other = model.with_topics(phi=(np.full((2, 3), 1 / 3),), r=np.ones(2), c=np.ones(1), weights=(),
                    vocabulary=None)  # fmt: skip
    with pytest.raises(DataError, match=r"of \[3, 20\] terms"):
        topic_stability([model, other])
