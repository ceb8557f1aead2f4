"""Which samplers of the first layer serve a network."""

from __future__ import annotations

from pgbn import Network
from pgbn.engine.first_layer.choice import find_patterns, sampler_named, unsupported

__all__ = ["samplers_of_network"]


def samplers_of_network(network: Network) -> tuple[str, ...]:
    """Those of pgbn, and "composed", which serves all; none integrates topics out that are given."""
    patterns, names = find_patterns(network.wiring), ("collapsed", "partial", "blocked")
    if isinstance(patterns, str):
        return ("composed",)
    kinds = [sampler_named(name) for name in names]
    return (
        *(
            k.name
            for k in kinds
            if not unsupported(k, network.wiring, patterns)
            and (k.name != "collapsed" or not {p.loadings for p in patterns} & set(network.given))
        ),
        "composed",
    )
