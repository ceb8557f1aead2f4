"""Derivations of a network's sampler, in every format, and the augmented graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgbn.errors import NetworkError, did_you_mean
from pgbn.explain.augmentation import augmentation
from pgbn.explain.document import Block, Heading, Paragraph, code
from pgbn.explain.graph import augmented
from pgbn.explain.lemmas import Lemmas
from pgbn.explain.model import generative, notation_section
from pgbn.explain.notation import Notation
from pgbn.explain.references import references
from pgbn.explain.render import FORMATS
from pgbn.explain.sweep import sweep

if TYPE_CHECKING:
    from pgbn.network.network import Network

__all__ = ["augmented", "derivation", "explain"]


def explain(network: Network, format: str = "text") -> str:
    """The model, its augmentation, every conditional in sweep order, and references."""
    if not isinstance(format, str) or format not in FORMATS:
        allowed = ", ".join(repr(name) for name in FORMATS)
        hint = did_you_mean(str(format), FORMATS)
        raise NetworkError(f"explain(format={format!r}): format must be one of {allowed}.{hint}")
    return FORMATS[format](derivation(network))


def derivation(network: Network) -> list[Block]:
    """The explanation in blocks, before it takes a format."""
    notation, lemmas = Notation(network), Lemmas()
    # these two cite the lemmas, and so decide which are stated, and in which order
    upward, steps = augmentation(notation, lemmas), sweep(notation, lemmas)
    observed = ", ".join(map(code, network.observed))
    return [
        Heading(1, "A network and its Gibbs sampler"),
        Paragraph(
            f"A network of {len(network)} nodes, of which {observed} "
            f"{'is' if len(network.observed) == 1 else 'are'} observed. This text was made from "
            "the network itself: the equations are written by the rules that the sampler runs."
        ),
        *notation_section(notation),
        *generative(notation),
        *([Heading(2, "The lemmas")] if lemmas.used else []),
        *lemmas.blocks(),
        *upward,
        *steps,
        *references(notation, lemmas.references()),
    ]
