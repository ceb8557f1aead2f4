"""The start of a training: from nothing, from a trained network, or where another one was
stopped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pgbn.checks import check_path
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import (
    complete_sizes,
    read_array,
    read_corpora,
    read_corpus_cells,
    read_data,
    same_labels,
)
from pgbn.errors import DataError
from pgbn.network.network import Network
from pgbn.nodes.base import Observed
from pgbn.samplers.executor import SERIAL, Executor
from pgbn.storage.corpus import Corpus
from pgbn.training.growing import Progress
from pgbn.training.settings import Family, Settings
from pgbn.training.trained import TrainedNetwork
from pgbn.training.training_result import LayerwiseTraining


def read_training(X: Any, family: Family, executor: Executor = SERIAL) -> dict[str, Cells]:
    """The data to train on, checked: a dict by the names of the observed nodes, or the array of a
    single one, which errors then call X."""
    network = family.example()
    if isinstance(X, Mapping) and not sp.issparse(X):  # of which some are mappings too
        for name in X:
            if name in network.categories:
                raise DataError(
                    f"data: {name!r} are numbers of categories, which the networks of a family "
                    f"hold: family=lambda widths: build(widths).with_indexes({name}=…)"
                )
        cells = read_data(network, read_corpora(network, X, executor))
    elif len(network.observed) > 1:
        names = ", ".join(f"{name!r}: ..." for name in network.observed)
        raise DataError(
            f"X is {type(X).__name__}, but the network has several observed nodes; give their data "
            f"by name: {{{names}}}"
        )
    else:
        node = only_data_node(network)
        read = (
            read_corpus_cells(node, X, executor) if isinstance(X, Corpus) else read_array(node, X)
        )
        cells = {network.observed[0]: read}
    complete_sizes(network, {}, {name: each.shape for name, each in cells.items()})
    return cells


def only_data_node(network: Network) -> Observed:
    """The observed node of a network that has one, under the name X."""
    node: Any = network[network.observed[0]]
    renamed: Observed = node.model_copy(update={"name": "X"})
    return renamed


def find_start(start: Any) -> list[TrainedNetwork]:
    """The networks that ``start_from`` stands for; none by default."""
    if start is None:
        return []
    found = start
    if isinstance(start, (str, Path)):
        from pgbn.storage.folders import load

        found = load(check_path("start_from", start))
    found = getattr(found, "training_", found)  # of an estimator
    networks = list(found) if isinstance(found, LayerwiseTraining) else [found]
    if not isinstance(networks[-1], TrainedNetwork):
        content = "" if found is start else f" holds a {type(found).__name__}"
        raise DataError(
            f"start_from={start!r:.80}{content}: give a trained network, a training, a fitted "
            "estimator, or the folder of one"
        )
    return networks


def check_start(last: TrainedNetwork, data: Mapping[str, Cells], settings: Settings) -> None:
    """Check that the network to continue from fits the data and the settings."""
    if settings.family is None and last.link != settings.link:
        raise DataError(f"start_from: its link is {last.link!r}, not link={settings.link!r}")
    if last.depth > settings.depth:
        raise DataError(
            f"start_from: it has {last.depth} layers, more than depth={settings.depth}; give "
            f"depth={last.depth} to train it further, or start from a network of fewer layers"
        )
    network = last.network
    if settings.family is not None:
        _check_member("start_from", network, last.widths, settings.family)
    if any(name not in last.state for name in network.latent):
        raise DataError(
            "start_from: this network has no state to continue from; train it with "
            "keep_states=True, or start from the deepest network of a training"
        )
    sizes = {
        dim: size
        for name, value in last.state.items()
        for dim, size in zip(network[name].axes, np.shape(value), strict=True)
    }
    for cells in data.values():
        for dim, size in zip(cells.dims, cells.shape, strict=True):
            if sizes.get(dim, size) != size:
                raise DataError(
                    f"start_from: trained on data with {sizes[dim]} entries along {dim!r}, but X "
                    f"has {size}; give the same X"
                )
    if last.vocabulary is not None:
        for cells in data.values():
            names = {cells.dims[-1]: last.vocabulary}
            same_labels("X", cells.labels, names, "the documents of start_from")
    given = settings.max_width
    budgets = (given,) if isinstance(given, int) else given
    for layer, (most, width) in enumerate(zip(budgets, last.widths, strict=False), 1):
        if most < width:
            which = "the first layer" if layer == 1 else f"layer {layer}"
            least = f"max_width={width}" if isinstance(given, int) else f"{width} for it"
            raise DataError(
                f"max_width={given}: {which} of start_from has {width} factors, which stay; "
                f"give {least} or more, or train anew, without start_from"
            )


def _check_member(argument: str, network: Network, widths: tuple[int, ...], family: Family) -> None:
    """Check that a network to continue from is the one that the family has for its widths."""
    if family.network(widths).to_json(None) != network.to_json(None):
        raise DataError(
            f"{argument}: its network is not the one that family= gives for the widths {widths}; "
            "give the family that it was trained with"
        )


def check_resumed(resume: Progress, settings: Settings) -> None:
    """Check that a training to continue is not deeper than its settings, and of their family."""
    if resume.depth > settings.depth:
        raise DataError(
            f"damaged: a training of layer {resume.depth}, with depth={settings.depth} as setting"
        )
    if settings.family is not None:
        network, dims = resume.chain.network, settings.family.layers(resume.depth)
        widths = tuple(network.sizes.get(dim, 1) for dim in dims)
        _check_member("resume", network, widths, settings.family)
