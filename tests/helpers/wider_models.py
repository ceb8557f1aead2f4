"""The zoo of the wider language (graphs, tensors, indexes, hidden states) with mild priors, and tiny
sizes for what a network does not fix itself."""

from __future__ import annotations

from functools import cache

from pgbn import Network, zoo
from tests.helpers.graphs import graphs
from tests.helpers.models import MILD

__all__ = ["wider_models"]

FEATURES = ((1.0, -0.5), (0.0, 1.0), (-1.0, 0.5), (0.5, 0.0))
WINDOWS = zoo.phrase_windows([[0, 1, 2], [2, 0]], 2, terms=3)


@cache
def wider_models() -> dict[str, tuple[Network, dict[str, int]]]:
    """Every model of the zoo that `tests.helpers.models` leaves out."""
    edges = {
        name: graphs()[name] for name in ("epm", "epm, weighted", "hgp_epm", "pgds, shrinkage")
    }
    author = zoo.author_topic(2, 0.8, 0.8, MILD).with_indexes(author=[0, 2, 0])
    return edges | {
        "author_topic": (author, {"writer": 3, "term": 3}),
        "bptf": (zoo.bptf(2, ("a", "b", "c"), 1.5, MILD), {"a": 2, "b": 3, "c": 2}),
        "covariates": (
            zoo.covariates(2, FEATURES, 1.0, MILD, (8.0, 4.0), MILD),
            {"doc": 4, "term": 3},
        ),
        "cpgbn": (
            zoo.cpgbn(2, 2, 0.8, (3.0, 3.0), MILD).with_indexes(
                window=WINDOWS["window"], text=WINDOWS["text"]
            ),
            {"term": 3, "doc": 2},
        ),
        "deep_pgds": (
            zoo.deep_pgds([2, 2], 0.5, 0.5, 1.5, 4.0, MILD, MILD),
            {"time": 3, "term": 3, "previous1": 2, "previous2": 2},
        ),
        "dirbn": (
            zoo.dirbn([2, 2], 1.0, MILD, MILD, MILD, MILD, (6.0, 4.0)),
            {"doc": 2, "term": 3},
        ),
        "dpfa_sbn": (
            zoo.dpfa_sbn([2, 2], 1.0, (2.0, 2.0), MILD, (2.0, 4.0), MILD, MILD),
            {"doc": 3, "term": 3},
        ),
        "dynamic_topics": (
            zoo.dynamic_topics(2, 1.0, (8, 2), (8, 8), (6, 4), period=[0, 1, 1, 2]),
            {"term": 3, "time": 3},
        ),
        "hidden_markov": (zoo.hidden_markov(2, 2.0, 2.0, (2.0, 1.0)), {"time": 4, "term": 2}),
        "hpf": (zoo.hpf(2, 1.5, MILD, MILD), {"user": 3, "item": 2}),
        "nbfa": (zoo.nbfa(2, 0.5, (2.0, 4.0), MILD, MILD, MILD), {"doc": 2, "term": 3}),
        "poisson_mixture": (zoo.poisson_mixture(2, 2.0, (2.0, 1.0)), {"doc": 4, "term": 2}),
        "prgds": (
            zoo.prgds(2, 0.7, eta=0.7, tau=1.5, gamma0_prior=(6.0, 2.0), delta_prior=(3.0, 3.0)),
            {"time": 3, "term": 3, "previous": 2},
        ),
        "tucker": (zoo.tucker({"a": 2, "b": 2, "c": 2}, 1.5, MILD, MILD), {"a": 2, "b": 3, "c": 2}),
    }
