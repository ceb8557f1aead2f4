"""Networks with sparse constants: weighted sets, known exposures, loadings that sum to one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

import pgbn as pg

# the shares of three authors in four documents; every row sums to one
SHARES = csr_array(np.array([[0.9, 0.1, 0], [0.9, 0.1, 0], [0, 0.1, 0.9], [1, 0, 0]]))
# known exposures of the cells of four documents × three terms
EXPOSURES = csr_array(np.array([[1, 2, 0], [0, 1, 1], [0.5, 0, 1], [1, 1, 0]]))


def _whole(matrix: Any, sparse: bool) -> Any:
    return matrix if sparse else matrix.toarray()


def several_authors(sparse: bool = True) -> pg.Network:
    """x_jv ~ Pois(Σ_k φ_vk Σ_a w_ja θ_ak)."""
    w = pg.Constant(_whole(SHARES, sparse), dims=("doc", "author"))
    r = pg.Gamma("r", 2.0, 2.0, dims="topic")
    theta = pg.Gamma("theta", shape=r, rate=2.0, dims=("author", "topic"))
    phi = pg.Dirichlet("phi", 0.8, over="term", dims="topic")
    x = pg.Poisson("x", rate=phi @ (w @ theta), dims=("doc", "term"))
    return pg.Network(x, sizes={"topic": 2, "term": 3})


def author_sizes(sparse: bool = True) -> pg.Network:
    """Σ_a w_ja λ_a θ_ak, with the matrix the other way round, and a further term."""
    w = pg.Constant(_whole(SHARES.T.tocsr(), sparse), dims=("author", "doc"))
    size = pg.Gamma("size", 2.0, 2.0, dims="author")
    theta = pg.Gamma("theta", 1.5, 2.0, dims=("author", "topic"))
    phi = pg.Gamma("phi", 1.5, 2.0, dims=("topic", "term"))
    noise = pg.Gamma("noise", 2.0, 4.0, dims="term")
    rate = pg.extend.Mix(factors=(w, theta * size, phi), over=("author", "topic")) + noise
    return pg.Network(pg.Poisson("x", rate=rate, dims=("doc", "term")),
                      sizes={"topic": 2, "term": 3})  # fmt: skip


def mixed_shares(sparse: bool = True) -> pg.Network:
    """Multinomial data: mixtures of authors' proportions, which sum to one as the shares do."""
    w = pg.Constant(_whole(SHARES, sparse), dims=("doc", "author"))
    theta = pg.Dirichlet("theta", 0.7, over="topic", dims="author")
    phi = pg.Dirichlet("phi", 0.8, over="term", dims="topic")
    x = pg.Multinomial("x", total=6, probability=phi @ (w @ theta), over="term",
                       dims="doc")  # fmt: skip
    return pg.Network(x, sizes={"topic": 2, "term": 3, "doc": 4})


def known_exposures(sparse: bool = True) -> pg.Network:
    """x_jv ~ Pois(e_jv Σ_k φ_kv θ_jk), where most e_jv may be 0."""
    exposure = pg.Constant(_whole(EXPOSURES, sparse), dims=("doc", "term"))
    theta = pg.Gamma("theta", 1.5, 2.0, dims=("doc", "topic"))
    phi = pg.Gamma("phi", 1.5, 2.0, dims=("topic", "term"))
    x = pg.Poisson("x", rate=exposure * (phi @ theta), dims=("doc", "term"))
    return pg.Network(x, sizes={"topic": 2})


def mixed_shapes(sparse: bool = True) -> pg.Network:
    """θ_jk ~ Gam(Σ_a w_ja g_ak, c_j): the sets stand one layer up."""
    w = pg.Constant(_whole(SHARES, sparse), dims=("doc", "author"))
    g = pg.Gamma("g", 2.0, 2.0, dims=("author", "topic"))
    c = pg.Gamma("c", 3.0, 2.0, dims="doc")
    theta = pg.Gamma("theta", shape=w @ g, rate=c, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.8, over="term", dims="topic")
    x = pg.Poisson("x", rate=phi @ theta, dims=("doc", "term"))
    return pg.Network(x, sizes={"topic": 2, "term": 3})


def known_loadings(sparse: bool = True) -> pg.Network:
    """x_jv ~ Pois(Σ_k w_vk θ_jk) with Σ_v w_vk = 1, below a beta prior, which needs that sum."""
    loadings = csr_array(np.array([[0.5, 0], [0.5, 0.25], [0, 0.75]]))
    w = pg.Constant(_whole(loadings, sparse), dims=("term", "topic"))
    p = pg.BetaOdds("p", 4.0, 4.0, dims="doc")
    theta = pg.Gamma("theta", 1.5, p, dims=("doc", "topic"))
    return pg.Network(pg.Poisson("x", rate=w @ theta, dims=("doc", "term")), sizes={"doc": 4})


NETWORKS = (several_authors, author_sizes, mixed_shares, known_exposures, mixed_shapes,
            known_loadings)  # fmt: skip
