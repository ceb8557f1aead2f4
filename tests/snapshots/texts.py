"""The texts by the name of their file: what each model says of itself, and errors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pgbn as pg
from pgbn import zoo
from tests.same_bits.own_networks import OWN

__all__ = ["TEXTS"]

FEATURES = ((1.0, -0.5), (0.0, 1.0), (-1.0, 0.5), (0.5, 0.0))
LINKS = {"words": "poisson", "tags": "bernoulli", "ratings": "gamma"}

# Together they hold every node type, link, lemma and kind of step.
MODELS: dict[str, Callable[[], pg.Network]] = {
    "pgbn": lambda: zoo.pgbn([12, 8, 5]),
    "multimodal": lambda: zoo.multimodal([12, 8], LINKS),
    "hdp_lda": lambda: zoo.hdp_lda(12),
    "pgds": lambda: zoo.pgds(6),
    "prgds": lambda: zoo.prgds(3),
    "dynamic_topics": lambda: zoo.dynamic_topics(4),
    "covariates": lambda: zoo.covariates(5, FEATURES),
    "dpfa_sbn": lambda: zoo.dpfa_sbn([8, 4]),
    "hidden_markov": lambda: zoo.hidden_markov(3),
    "epm": lambda: zoo.epm(4),
    "product_and_sum": OWN["product_and_sum"],
}
OTHER_FORMS = ("pgbn", "covariates")  # one renderer writes all models: two show its signs


def _schedules(network: pg.Network) -> str:
    """The schedule of every sampler of the first layer, or why there is none."""
    out = []
    for sampler in ("composed", "blocked", "partial", "collapsed"):
        try:
            steps = network.schedule_for(sampler).latex()
        except pg.PgbnError as error:
            steps = str(error)
        out.append(f'sampler="{sampler}"\n{steps}')
    return "\n\n".join(out)


def _augmented(network: pg.Network) -> str:
    graph = network.augmented()
    return "\n".join([*map(str, graph.nodes), *(f"{a} -> {b}" for a, b in graph.edges)])


def _everything(network: pg.Network) -> str:
    """The network, its schedules and its augmented graph, then the derivation."""
    parts = [str(network), _schedules(network), _augmented(network), network.explain("text")]
    return f"\n\n{'=' * 90}\n\n".join(map(str, parts))


def _rules() -> str:
    """The table of rules in a process of its own: here, tests may have added theirs."""
    command = [sys.executable, "-c", "import pgbn, sys; sys.stdout.buffer.write("
               "str(pgbn.rules()).encode())"]  # fmt: skip
    return subprocess.run(command, capture_output=True, check=True).stdout.decode()


def _square() -> pg.Network:
    theta = pg.Gamma("theta", 1, 1, dims="doc")
    return pg.Network(pg.Poisson("x", rate=theta * theta, dims="doc"))


def _stale() -> pg.Network:
    network = zoo.pgbn([4, 3])
    order = [name for name in network.schedule.names if name != "p2"]
    return network.with_order([*order, "p2"])


REJECTED: tuple[Callable[[], object], ...] = (
    _square,
    _stale,
    lambda: zoo.pfa(3).chain({"x": [[1, -1]]}),
    lambda: zoo.pfa(3, link="bernoulli").chain({"x": [[1, 0]]}, sampler="collapsed"),
)


def _error_of(build: Callable[[], object]) -> str:
    try:
        build()
    except pg.PgbnError as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("this had to be rejected")


TEXTS: dict[str, Callable[[], str]] = {
    "rules.txt": _rules,
    "errors.txt": lambda: "\n\n".join(map(_error_of, REJECTED)),
}
for _name, _make in MODELS.items():
    TEXTS[f"{_name}.txt"] = lambda make=_make: _everything(make())
    TEXTS[f"{_name}.json"] = lambda make=_make: make().to_json()
for _name in OTHER_FORMS:
    _make = MODELS[_name]
    TEXTS[f"{_name}.md"] = lambda make=_make: str(make().explain("markdown"))
    TEXTS[f"{_name}.tex"] = lambda make=_make: str(make().explain("latex"))
    TEXTS[f"{_name}.svg"] = lambda make=_make: str(make().plot())
