"""Topics over terms, their weights and what they are made of."""

import math

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.evaluation import (
    generate_documents,
    project,
    topic_dag,
    topic_weights,
    topics,
)
from pgbn.evaluation.projection import usual_length, with_floor
from tests.helpers.trained import model_of


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
    psi, common = project(model, 2)[table[0].index], topic_weights(model, 1) @ model.phi[0]
    relevance = 0.3 * np.log(psi) + 0.7 * np.log(psi / with_floor(common, usual_length(model)))
    assert list(table[0].terms) == [names[v] for v in np.argsort(-relevance)[:4]]
    by_probability = topics(model, layer=2, top=4, vocabulary=names, relevance=1)[0]
    assert list(by_probability.terms) == [names[v] for v in np.argsort(-psi)[:4]]
    assert by_probability.probabilities == tuple(np.sort(psi)[::-1][:4])
    assert sum(t.weight for t in table) == pytest.approx(1.0)
    assert "w" in str(table[0])
    with pytest.raises(DataError, match="3 names, but 12"):
        topics(model, vocabulary=["a", "b", "c"])


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
