"""How long the samplers of the first layer take on given data."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pgbn.checks import check_integer
from pgbn.engine.first_layer.choice import sampler_names
from pgbn.engine.run.chain import Chain
from pgbn.errors import NetworkError, StaleReadError

if TYPE_CHECKING:
    from pgbn.network.network import Network


def time_samplers(
    network: Network,
    data: Mapping[str, Any],
    *,
    burn_in: int = 20,
    sweeps: int = 5,
    threads: int | None = None,
) -> dict[str, float]:
    """Seconds of a sweep with each sampler of the first layer that the network has, the quickest
    first: the least of ``sweeps``, after ``burn_in``, on ``threads``.

    ``layer1="auto"`` goes by the sizes of the data and never looks at a clock, since the same seed
    must give the same chain everywhere. Where time matters more, choose by hand:
    ``network.chain(data, layer1=…)``.
    """
    check_integer("burn_in", burn_in, 0)
    check_integer("sweeps", sweeps, 1)
    found = {}
    for name in sampler_names():
        try:
            chain = Chain.of_data(network, data, layer1=name, threads=threads)
        except (NetworkError, StaleReadError):  # not for this network, or this order of steps
            continue
        chain.sweep(burn_in)
        each = []
        for _ in range(sweeps):
            start = perf_counter()
            chain.sweep()
            each.append(perf_counter() - start)
        found[chain.layer1] = min(each)
    return dict(sorted(found.items(), key=lambda pair: pair[1]))
