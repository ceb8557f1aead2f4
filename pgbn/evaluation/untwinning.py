"""Upper layers without twins: topics that share six of ten leading words are made one.

A budget says how many topics a layer has at most, and a layer of a few topics may still say one
thing twice. Merging twins and training on, a few times over, leaves a narrower network, whose
posterior the last sweeps have. The first layer is left as it is, and so is a small vocabulary, of
which topics share many words by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pgbn.evaluation.layer_quality import similar_topics
from pgbn.training.merging import merge_topics, read_groups
from pgbn.training.result import LayerwiseTraining
from pgbn.training.trained import TrainedNetwork

__all__ = ["SWEEPS", "merge_twins", "without_twins"]

LEAST_TERMS = 100
LEAST_TOPICS = 2
ROUNDS = 3
SWEEPS = 50  # after each merging


def merge_twins(model: TrainedNetwork) -> TrainedNetwork | None:
    """The network with the twins of each layer above the first made one; None if there are none, or
    if hardly a topic would be left."""
    merged = model
    if model.vocabulary_size < LEAST_TERMS:
        return None
    for layer in range(2, model.depth + 1):
        twins = similar_topics(merged, layer)
        groups = read_groups(twins, merged.widths[layer - 1], layer)
        if twins and groups.max() + 1 >= LEAST_TOPICS:
            merged = merge_topics(merged, twins, layer)
    return None if merged is model else merged


def without_twins(
    training: LayerwiseTraining, train: Callable[[TrainedNetwork], TrainedNetwork]
) -> LayerwiseTraining:
    """The training with its deepest network merged, and trained on by ``train``, until it has no
    twins above the first layer, but three times at most."""
    before, told = training.widths, training.stopped
    for _ in range(ROUNDS):
        merged = merge_twins(training.deepest)
        if merged is None:
            break
        networks = (*training.networks[:-1], train(merged))
        training = replace(training, networks=networks)
    if training.widths == before:
        return training
    shown = " to ".join("-".join(map(str, widths)) for widths in (before, training.widths))
    return replace(training, stopped=f"{told}; twins were merged, {shown}")
