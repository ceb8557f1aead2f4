"""What every function that evaluates a trained model is given."""

from types import SimpleNamespace

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError
from pgbn.evaluation import (
    completion_perplexity,
    generate_documents,
    predicted_overdispersion,
    project,
    topic_dag,
    topic_weights,
    topics,
)
from pgbn.training import LayerwiseTraining
from tests.helpers.trained import X, model_of

FUNCTIONS = {
    "infer": lambda model: pgbn.infer(model, X, burn_in=1, draws=1)["theta2"],
    "completion_perplexity": lambda model: completion_perplexity(
        model, X, burn_in=1, draws=1
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
