"""Samples of Φ and θ that have seen the training documents and the seen tokens of new ones.

    p(held-out | training documents, seen tokens) = ∫ p(held-out | Φ, θ) p(Φ, θ | both)

Documents that are completed one by one are predicted given draws of Φ that know the training
documents alone. Their own seen tokens tell of Φ too: here the chain of the training goes on over
both together (`pgbn.Chain.append`), and each of its sweeps is one of the Gibbs sampler of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.data.cells import Cells, read_array
from pgbn.engine.data.coords import same_labels
from pgbn.errors import DataError
from pgbn.samplers.executor import Executor
from pgbn.training.trained import TrainedNetwork
from pgbn.zoo import layers
from pgbn.zoo.links import get_link

__all__ = ["joint_samples", "read_training_documents"]

_APART = 5  # sweeps between samples
Sample = tuple[NDArray[np.float64], NDArray[np.float64]]


def read_training_documents(model: TrainedNetwork, train: Any) -> Cells:
    """The documents that the model was trained on, of which it knows the state."""
    cells = read_array(get_link(model.link).data_node("train"), train, imputed=False)
    own = model.state.get(layers.theta(1))
    if own is None or any(name not in model.state for name in model.network().latent):
        raise DataError(
            "train: the model has no state of its chain to go on from (without_state() drops it); "
            "give a model that has one, or leave train out"
        )
    expected = (len(own), model.vocabulary_size)
    if cells.shape != expected:
        raise DataError(
            f"train has the shape {cells.shape}, but the model was trained on {expected[0]} "
            f"documents of {expected[1]} terms; give these very documents, in their order"
        )
    if model.vocabulary is not None:
        same_labels("train", cells.labels, {cells.dims[-1]: model.vocabulary}, "the model")
    return cells


def joint_samples(
    model: TrainedNetwork,
    train: Cells,
    seen: Any,
    burn_in: int,
    samples: int,
    seed: int,
    executor: Executor,
) -> Iterator[Sample]:
    """Φ^(1) and the new documents' θ^(1), each 5th of ``samples`` sweeps over all documents."""
    network = model.network()
    name = network.observed[0]
    chain = network.chain({name: train}, seed, model.sweeps, model.state, executor=executor)
    chain = chain.append({name: seen}, sweeps=10).sweep(burn_in)
    phi, theta = layers.phi(1), layers.theta(1)
    for _ in range(-(-samples // _APART)):
        values = chain.sweep(_APART).select([phi, theta])
        yield values[phi], values[theta][train.rows :]
