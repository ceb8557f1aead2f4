"""Which topics to make one, so that a layer has fewer.

Topics are merged two by two, always those whose union loses least, by Ward's rule on the roots of
their probabilities (their distance is Hellinger's):

    loss(k, l) = w_k w_l / (w_k + w_l) · Σ_v (√ψ_kv − √ψ_lv)²,   w the shares of the topics.

Small topics and twins go first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pgbn.checks import is_integral
from pgbn.errors import DataError
from pgbn.evaluation.projection import project, topic_weights
from pgbn.training.trained import check_layer, trained_network

__all__ = ["groups_for"]


def groups_for(model: Any, to: int, layer: int = 1) -> list[tuple[int, ...]]:
    """Groups of topics that leave ``to`` of them in a layer, for `pgbn.training.merge_topics`."""
    model = trained_network(model)
    layer = check_layer(model, layer)
    width = model.widths[layer - 1]
    if not is_integral(to) or not 1 <= to <= width:
        raise DataError(f"to={to!r}: layer {layer} has {width} topics; give a number from 1 to it")
    psi, weight = project(model, layer), topic_weights(model, layer).copy()
    root, groups = np.sqrt(psi), [[k] for k in range(width)]
    overlap = root @ root.T
    alive = np.ones(width, bool)
    for _ in range(width - int(to)):
        both = weight[:, None] + weight
        loss = np.outer(weight, weight) / np.where(both > 0, both, 1.0) * (2 - 2 * overlap)
        loss[~alive] = loss[:, ~alive] = np.inf
        np.fill_diagonal(loss, np.inf)
        k, l = sorted(divmod(int(np.argmin(loss)), width))
        total = weight[k] + weight[l]
        share = weight[k] / total if total > 0 else 0.5
        psi[k] = share * psi[k] + (1 - share) * psi[l]
        weight[k], weight[l], alive[l] = total, 0.0, False
        groups[k] += groups[l]
        root[k] = np.sqrt(psi[k])
        overlap[k] = overlap[:, k] = root @ root[k]
    return [tuple(sorted(group)) for group, here in zip(groups, alive, strict=True) if here]
