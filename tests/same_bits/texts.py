"""Texts: derivations, pictures, schedules, JSON and messages. They are the same everywhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pgbn as pg

from .networks import large_zoo, small_zoo
from .own_networks import OWN
from .registry import text

__all__: list[str] = []


def _rules() -> str:
    """The table of rules in a process of its own: here, tests may have added theirs."""
    command = [sys.executable, "-c", "import pgbn, sys; sys.stdout.buffer.write("
               "str(pgbn.rules()).encode())"]  # fmt: skip
    return subprocess.run(command, capture_output=True, check=True).stdout.decode()


def _schedules(network: pg.Network) -> str:
    """The schedule of every sampler of the first layer, or why there is none."""
    out = []
    for layer1 in ("blocked", "partial", "collapsed"):
        try:
            out.append(network.schedule_for(layer1).latex())
        except pg.PgbnError as error:
            out.append(str(error))
    return "\n\n".join(out)


def _again(network: pg.Network) -> str:
    return pg.Network.from_json(network.to_json()).to_json(None)


def _augmented(network: pg.Network) -> str:
    graph = network.augmented()
    return "\n".join([*map(str, graph.nodes), *(f"{a} -> {b}" for a, b in graph.edges)])


def _refusal(build: Callable[[], object]) -> str:
    try:
        build()
    except pg.PgbnError as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("this was to be refused")


def _add(name: str, network: pg.Network) -> None:
    for form in ("text", "markdown", "latex"):
        text(f"explain/{name}/{form}", lambda form=form: network.explain(form))
    text(f"plot/{name}", lambda: network.plot())
    text(f"schedule/{name}", lambda: network.schedule.latex())
    text(f"schedules/{name}", lambda: _schedules(network))
    text(f"augmented/{name}", lambda: _augmented(network))
    text(f"str/{name}", lambda: str(network))
    text(f"json/{name}", lambda: network.to_json())
    text(f"json again/{name}", lambda: _again(network))


def _square() -> pg.Network:
    theta = pg.Gamma("theta", 1, 1, dims="doc")
    return pg.Network(pg.Poisson("x", rate=theta * theta, dims="doc"))


def _stale() -> pg.Network:
    network = pg.zoo.pgbn([4, 3])
    order = [name for name in network.schedule.names if name != "p2"]
    return network.with_order([*order, "p2"])


for _name, _network in small_zoo().items():
    _add(f"small {_name}", _network)
for _name, _network in large_zoo().items():
    _add(f"large {_name}", _network)
for _name, _make in OWN.items():
    _add(f"own {_name}", _make())
text("rules", _rules)
text("refused/square", lambda: _refusal(_square))
text("refused/stale order", lambda: _refusal(_stale))
text("refused/data", lambda: _refusal(lambda: pg.zoo.pfa(3).chain({"x": [[1, -1]]})))
text("refused/layer1", lambda: _refusal(
    lambda: pg.zoo.pfa(3, link="bernoulli").chain({"x": [[1, 0]]}, layer1="collapsed")
))  # fmt: skip
