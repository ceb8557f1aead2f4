"""What a chain offers of the rooms above it. Each verb imports its room when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pgbn.engine.run.chain import Chain
    from pgbn.explain import Explanation

__all__ = ["ChainVerbs"]


class ChainVerbs:
    """The verbs of `pgbn.Chain` that other rooms carry out."""

    def explain(self, format: str = "text", brief: bool = False) -> Explanation:
        """The derivation of this very sampler: the first layer as this chain draws it, missing
        cells as they are imputed. See `Network.explain`."""
        from pgbn.explain import explain_chain

        return explain_chain(cast("Chain", self), format, brief)
