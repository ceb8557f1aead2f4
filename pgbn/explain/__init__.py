"""Derivations of a network's sampler, in every format, and the augmented graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgbn.checks import check_flag
from pgbn.errors import NetworkError, did_you_mean
from pgbn.explain.augmentation import augmentation
from pgbn.explain.brief import brief_blocks
from pgbn.explain.document import Block, Heading, Paragraph, code
from pgbn.explain.first_layer import token_section
from pgbn.explain.graph import augmented
from pgbn.explain.lemmas import Lemmas, references
from pgbn.explain.model import generative, notation_section
from pgbn.explain.notation import Notation
from pgbn.explain.render import FORMATS, Explanation
from pgbn.explain.sampler import ExplainedSampler, sampler_of, sampler_of_chain
from pgbn.explain.sweep import sweep

if TYPE_CHECKING:
    from pgbn.engine.run.chain import Chain
    from pgbn.network.network import Network

__all__ = ["Explanation", "augmented", "derivation", "explain", "explain_chain"]


def explain(
    network: Network, format: str = "text", sampler: str = "auto", brief: bool = False
) -> Explanation:
    """The model, its augmentation, every conditional in sweep order, and references.

    Parameters
    ----------
    network : Network
        The network.
    format : str
        "text", "markdown", "latex" or "html".
    sampler : str
        The sampler of the first layer that is explained; "auto" is the one that a chain takes.
    brief : bool
        The model and the sweep on two pages, without proofs.

    Returns
    -------
    Explanation
        A string, which a notebook shows as formulas.

    Examples
    --------
    >>> import pgbn
    >>> theta = pgbn.Gamma("theta", 2, 3, dims="doc")
    >>> network = pgbn.Network(pgbn.Poisson("x", theta, dims="doc"))
    >>> "(θⱼ | -) ∼ Gam(2 + xⱼ, 3 + 1)" in pgbn.explain.explain(network)
    True
    """
    _check(format, brief)
    return Explanation(derivation(network, sampler, brief), format)


def explain_chain(chain: Chain, format: str = "text", brief: bool = False) -> Explanation:
    """The explanation of a chain: its sampler, and how its missing cells are drawn.

    Parameters
    ----------
    chain : Chain
        The chain.
    format, brief
        As in `explain`.

    Returns
    -------
    Explanation
        A string, which a notebook shows as formulas.

    Examples
    --------
    >>> import pgbn
    >>> theta = pgbn.Gamma("theta", 2, 3, dims="doc")
    >>> chain = pgbn.Network(pgbn.Poisson("x", theta, dims="doc")).chain({"x": [1, 0]})
    >>> "Gam(2 + xⱼ, 3 + 1)" in pgbn.explain.explain_chain(chain, brief=True)
    True
    """
    _check(format, brief)
    return Explanation(_derive(chain.network, sampler_of_chain(chain), brief), format)


def _check(format: str, brief: bool) -> None:
    check_flag("explain: brief", brief)
    if not isinstance(format, str) or format not in FORMATS:
        allowed = ", ".join(repr(name) for name in FORMATS)
        hint = did_you_mean(str(format), FORMATS)
        raise NetworkError(f"explain(format={format!r}): format must be one of {allowed}.{hint}")


def derivation(network: Network, sampler: str = "auto", brief: bool = False) -> list[Block]:
    """The explanation in blocks, before it is rendered in a format.

    Parameters
    ----------
    network, sampler, brief
        As in `explain`.

    Returns
    -------
    list
        Headings, paragraphs, equations and items.

    Examples
    --------
    >>> import pgbn
    >>> theta = pgbn.Gamma("theta", 2, 3, dims="doc")
    >>> network = pgbn.Network(pgbn.Poisson("x", theta, dims="doc"))
    >>> pgbn.explain.derivation(network)[0].text
    'A network and its Gibbs sampler'
    """
    return _derive(network, sampler_of(network, sampler), brief)


def _derive(network: Network, sampler: ExplainedSampler, brief: bool) -> list[Block]:
    notation, lemmas = Notation(network), Lemmas()
    title = Heading(1, "A network and its Gibbs sampler")
    if brief:
        return [title, *brief_blocks(notation, sampler)]
    # these two cite the lemmas, and so determine which are stated, and in which order
    upward, steps = augmentation(notation, lemmas), sweep(notation, lemmas, sampler)
    observed = ", ".join(map(code, network.observed))
    how = (
        ""
        if not sampler.patterns
        else f" The first layer is drawn by the sampler {code(sampler.name)}."
    )
    return [
        title,
        Paragraph(
            f"A network of {len(network)} nodes, of which {observed} "
            f"{'is' if len(network.observed) == 1 else 'are'} observed. This text was made from "
            "the network itself: the equations are written by the rules that the sampler runs."
            f"{how}"
        ),
        *notation_section(notation),
        *generative(notation),
        *([Heading(2, "The lemmas")] if lemmas.used else []),
        *lemmas.blocks(),
        *upward,
        *token_section(notation, sampler),
        *steps,
        *references(notation, lemmas.references()),
    ]
