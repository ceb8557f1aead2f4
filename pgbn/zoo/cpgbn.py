"""Convolutional Poisson gamma belief network: topics that are short phrases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pgbn.checks import check_integer, numbers, validated
from pgbn.errors import DataError
from pgbn.network.network import Network
from pgbn.nodes import Categories, Dirichlet, Gamma, Poisson
from pgbn.zoo.arguments import Positive, Prior, Width


@validated
def cpgbn(
    width: Width,
    phrase: Width = 3,
    eta: Positive = 0.05,
    r_prior: Prior = (1.0, 1.0),
    c_prior: Prior = (1.0, 1.0),
) -> Network:
    """x_iv ~ Pois(Σ_k Σ_s φ_ksv θ_{window(i, s) k}), φ_k ~ Dir(η) over all shifts s and terms v.

    Word i of a text is caused by the s-th word of a phrase that began s words before it, at the
    place window(i, s). θ_lk ~ Gam(u_{text(l) k}, c_{text(l)}), u_jk ~ Gam(r_k, 1), r_k, c_j ~ Gam:
    the units u_j of a text say how often it has each phrase. `phrase_windows` makes the data of
    texts. Nodes: x (dims position, term), phi (dims topic, shift, term), theta (dims place, topic),
    u (dims doc, topic), r, c. The priors are those of pgbn. Unlike in the paper, a phrase may begin
    before a text.

    Reference: Wang, Chen, Xiao & Zhou, Convolutional Poisson gamma belief network, ICML 2019.

    Parameters
    ----------
    width : int
        The number of phrases: K.
    phrase : int
        The number of words of a phrase.
    eta : float
        The concentration η of the topics. Smaller values give topics of fewer words.
    r_prior : (float, float)
        (shape, rate) of the gamma prior of the r.
    c_prior : (float, float)
        (shape, rate) of the gamma prior of the rates c.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.cpgbn(4)
    >>> net.latent
    ['phi', 'r', 'u', 'c', 'theta']
    """
    sizes = {"topic": width, "shift": phrase}
    window = Categories("window", dims=("position", "shift"), of="place")
    text = Categories("text", dims="place", of="doc")
    r = Gamma("r", *r_prior, dims="topic")
    c = Gamma("c", *c_prior, dims="doc")
    u = Gamma("u", r, 1.0, dims=("doc", "topic"))
    theta = Gamma("theta", u[text], c[text], dims=("place", "topic"))
    phi = Dirichlet("phi", eta, over=("shift", "term"), dims="topic")
    return Network(Poisson("x", phi @ theta[window], dims=("position", "term")), sizes=sizes)


@validated
def phrase_windows(
    texts: Iterable[Sequence[int]], phrase: Width = 3, terms: int | None = None
) -> dict[str, Any]:
    """The data of `cpgbn`: texts, as the numbers of their words in order, one after another.

    A text of n words has n positions and n + phrase − 1 places at which a phrase may begin.

    Parameters
    ----------
    texts : iterable of sequences of int
        The numbers of the words of each text, in order.
    phrase : int
        The number of words of a phrase.
    terms : int, optional
        The number of terms. By default it is the largest number of a word plus 1.

    Returns
    -------
    dict
        The data of the network.

    Examples
    --------
    >>> data = pgbn.zoo.phrase_windows([[0, 1, 1], [2, 0]], phrase=2)
    >>> sorted(data)
    ['text', 'window', 'x']
    """
    words = [_word_numbers(text) for text in texts] if np.iterable(texts) else []
    if not words:
        raise DataError("texts: give the numbers of the words of at least one")
    every = np.concatenate(words)
    lengths = np.array([each.size for each in words])
    doc = np.repeat(np.arange(lengths.size), lengths)
    first = np.arange(every.size) + doc * (phrase - 1)  # each text has phrase - 1 more places
    size = int(every.max()) + 1 if terms is None else check_integer("terms", terms, 1)
    if size <= every.max():
        raise DataError(f"terms={terms!r}: a word has the number {every.max()}")
    x = csr_array((np.ones(every.size, np.int64), every, np.arange(every.size + 1)),
                  shape=(every.size, size))  # fmt: skip
    text = np.repeat(np.arange(lengths.size), lengths + phrase - 1)
    return {"x": x, "window": first[:, None] + np.arange(phrase - 1, -1, -1), "text": text}


def _word_numbers(text: Any) -> NDArray[np.int64]:
    """The words of a text: whole numbers from 0 on, at least one."""
    found = numbers("texts: a text", text)
    whole = found.dtype.kind in "iu" or bool((np.mod(found, 1) == 0).all())
    if (
        found.ndim != 1
        or not found.size
        or not whole
        or not 0 <= found.min() <= found.max() < 2**31
    ):
        raise DataError(
            f"texts: {text!r:.60}: give the numbers, from 0 on, of the words of each, at least one"
        )
    return found.astype(np.int64)
