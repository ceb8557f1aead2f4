"""What every function that evaluates a trained model is given."""

from types import SimpleNamespace

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError
from pgbn.evaluation import HeldOut, layer_quality, overdispersion
from pgbn.evaluation.generation import generate
from pgbn.evaluation.topic_words import topic_terms, topic_weights, topics, topics_graph
from pgbn.training import LayerwiseTraining
from pgbn.training.new_rows import infer
from tests.helpers.trained import X, model_of

FUNCTIONS = {
    "infer": lambda model: infer(model, X, burn_in=1, draws=1)["theta2"],
    "perplexity": lambda model: HeldOut.of_model(model, X, burn_in=1, draws=1).perplexity(),
    "generate": lambda model: generate(model, 2)["x"].toarray(),
    "topics": lambda model: [str(topic) for topic in topics(model, 2)],
    "topic_terms": lambda model: topic_terms(model, 2),
    "topics_graph": lambda model: list(topics_graph(model)),
    "topic_weights": lambda model: topic_weights(model, 2),
    "overdispersion": overdispersion,
    "layer_quality": lambda model: [str(each) for each in layer_quality(model)],
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
