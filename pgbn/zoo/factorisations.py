"""Matrices, tensors and graphs of counts."""

from __future__ import annotations

from typing import Any

from pgbn.checks import Flag, validated
from pgbn.network.network import Network
from pgbn.nodes import BernoulliPoisson, Categorical, Dirichlet, Gamma, Mix, Poisson, distinct
from pgbn.nodes.expression import Constant, Expression
from pgbn.zoo.arguments import Modes, ModeWidths, Positive, PositiveOrPrior, Prior, Width


# Hierarchical Poisson factorisation: ratings, purchases, counts of genes in cells.
@validated
def hpf(
    width: Width,
    shape: Positive = 0.3,
    activity_prior: Prior = (0.3, 0.3),
    popularity_prior: Prior = (0.3, 0.3),
    size_factors: Any = None,
) -> Network:
    """y_ui ~ Pois(s_u Σ_k θ_uk β_ik), θ_uk ~ Gam(a, ξ_u), β_ik ~ Gam(a, η_i), ξ_u, η_i ~ Gam.

    Users differ in activity, items in popularity, and zeros cost nothing. ``size_factors``, one
    positive number s_u for each row, are the depths of cells in single-cell counts (users are then
    cells, items genes); 1 if left out. Nodes: y (dims user, item), theta, beta, xi, eta. The
    shapes and rates of 0.3 are those of the released hgaprec.

    References: Gopalan, Hofman & Blei, UAI 2015; Levitin et al., scHPF, 2019.
    """
    a = shape
    xi = Gamma("xi", *activity_prior, dims="user")
    eta = Gamma("eta", *popularity_prior, dims="item")
    theta = Gamma("theta", a, xi, dims=("user", "factor"))
    rate: Expression = theta @ Gamma("beta", a, eta, dims=("item", "factor"))
    if size_factors is not None:
        rate = Constant(value=size_factors, dims="user") * rate
    y = Poisson("y", rate, dims=("user", "item"))
    return Network(y, sizes={"factor": width})


# Bayesian Poisson tensor factorisation: counts of any number of modes.
@validated
def bptf(
    width: Width,
    modes: Modes = ("sender", "receiver", "action", "time"),
    alpha: Positive = 0.1,
    beta_prior: Prior = (1.0, 1.0),
) -> Network:
    """y_{i…l} ~ Pois(Σ_k θ¹_ik ⋯ θᴹ_lk), θᵐ_dk ~ Gam(α, α β_m), β_m ~ Gam.

    A component k is a kind of event: who takes part in it, what is done, and when. Data are
    coordinates and values, and every cell that is not named is 0. Nodes: y (dims ``modes``),
    theta_<mode> and beta_<mode> for each mode. α = 0.1 is that of the released code, which sets
    β_m to one over the mean of θᵐ; its prior here is ours.

    Reference: Schein, Paisley, Blei & Wallach, Bayesian Poisson tensor factorization, KDD 2015.
    """
    factors = []
    for mode in modes:
        beta = Gamma(f"beta_{mode}", *beta_prior)
        factors.append(Gamma(f"theta_{mode}", alpha, alpha * beta, dims=(mode, "component")))
    y = Poisson("y", Mix(factors=tuple(factors), over="component"), dims=tuple(modes))
    return Network(y, sizes={"component": width})


# Bayesian Poisson Tucker decomposition: communities of each mode, and a core between them.
@validated
def tucker(
    widths: ModeWidths,
    alpha: Positive = 0.1,
    beta_prior: Prior = (1.0, 1.0),
    core_prior: Prior = (0.1, 1.0),
) -> Network:
    """y_{i…l} ~ Pois(Σ_{c…t} λ_{c…t} θ¹_ic ⋯ θᴹ_lt), θᵐ_dc ~ Gam(α, β_m), β_m and λ ~ Gam.

    Each mode has communities of its own, ``widths={"sender": 8, "action": 4, …}`` of them; the core
    λ says how often they meet. Data are coordinates and values. Nodes: y (dims: the modes), lambda
    (dims <mode>_community), theta_<mode> and beta_<mode> for each mode. The paper ties senders and
    receivers and has a hierarchy above λ; the priors here are ours.

    Reference: Schein, Zhou, Blei & Wallach, Bayesian Poisson Tucker decomposition, ICML 2016.
    """
    own = {mode: f"{mode}_community" for mode in widths}
    core = Gamma("lambda", *core_prior, dims=tuple(own.values()))
    thetas = [
        Gamma(f"theta_{mode}", alpha, Gamma(f"beta_{mode}", *beta_prior), dims=(mode, own[mode]))
        for mode in widths
    ]
    rate = Mix(factors=(core, *thetas), over=tuple(own.values()))
    y = Poisson("y", rate, dims=tuple(widths))
    return Network(y, sizes={own[mode]: width for mode, width in widths.items()})


# The edge partition model: overlapping communities of a graph.
@validated
def epm(
    width: Width,
    weighted: Flag = False,
    a_prior: Prior = (0.01, 0.01),
    c_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
    gamma0_prior: Prior = (1.0, 1.0),
) -> Network:
    """b_ij = 1(n_ij ≥ 1), n_ij ~ Pois(Σ_k r_k φ_ik φ_jk) for i < j, φ_ik ~ Gam(a_i, c_i).

    Vertex i belongs to community k by φ_ik, and r_k ~ Gam(γ0/K, c0) says how much community k
    links; a_i, c_i, c0 and γ0 ~ Gam. ``weighted``: the data are the counts n_ij themselves. Give
    each edge once, ``{"x": scipy.sparse.triu(A, 1)}``. Nodes: x (dims i, j), phi (dims vertex,
    community), a, c, r, c0, gamma0. The defaults are those of the released GP_EPM.m.

    Reference: Zhou, Infinite edge partition models for overlapping community detection and link
    prediction, AISTATS 2015.
    """
    gamma0 = Gamma("gamma0", *gamma0_prior)
    c0 = Gamma("c0", *c0_prior)
    r = Gamma("r", gamma0 / width, c0, dims="community")
    a = Gamma("a", *a_prior, dims="vertex")
    c = Gamma("c", *c_prior, dims="vertex")
    phi = Gamma("phi", a, c, dims=("vertex", "community"))
    both = phi.rename(vertex="i") * phi.rename(vertex="j")
    link = Poisson if weighted else BernoulliPoisson
    x = link("x", distinct(r @ both, "i", "j"), dims=("i", "j"))
    return Network(x, sizes={"community": width})


# The edge partition model with links between communities.
@validated
def hgp_epm(
    width: Width,
    weighted: Flag = False,
    gamma0: PositiveOrPrior = 1.0,
    a_prior: Prior = (0.01, 0.01),
    c_prior: Prior = (1.0, 1.0),
    xi_prior: Prior = (0.01, 0.01),
    beta_prior: Prior = (1.0, 1.0),
    c0_prior: Prior = (1.0, 1.0),
) -> Network:
    """b_ij = 1(n_ij ≥ 1), n_ij ~ Pois(Σ_kl φ_ik λ_kl φ_jl) for i < j, φ_ik ~ Gam(a_i, c_i).

    λ_kl = λ_lk says how much communities k and l link: λ_kk ~ Gam(ξ r_k, β) is the node within,
    λ_kl ~ Gam(r_k r_l, β) for k < l the node between; r_k ~ Gam(γ0/K, c0), and a_i, c_i, ξ, β, c0
    ~ Gam. γ0 is a number or, given as a pair (shape, rate), a node gamma0 ~ Gam: the r_k are
    coupled and cannot be integrated out, so that it is drawn by slice sampling given them. Data as
    in `epm`. Nodes: x (dims i, j), phi (dims vertex, community), a, c, within, between (dims
    community, other), r, xi, beta, c0, gamma0. The defaults are those of the released HGP_EPM.m,
    with its first γ0.

    Reference: Zhou, Infinite edge partition models for overlapping community detection and link
    prediction, AISTATS 2015.
    """
    c0 = Gamma("c0", *c0_prior)
    mass = Gamma("gamma0", *gamma0, update="slice") if isinstance(gamma0, tuple) else gamma0
    r = Gamma("r", mass / width, c0, dims="community")
    xi = Gamma("xi", *xi_prior)
    beta = Gamma("beta", *beta_prior)
    within = Gamma("within", xi * r, beta, dims="community")
    pairs = distinct(r * r.rename(community="other"), "community", "other")
    between = Gamma("between", pairs, beta, dims=("community", "other"))
    a = Gamma("a", *a_prior, dims="vertex")
    c = Gamma("c", *c_prior, dims="vertex")
    phi = Gamma("phi", a, c, dims=("vertex", "community"))
    i, j = phi.rename(vertex="i"), phi.rename(vertex="j")
    ways = i * j.rename(community="other") + i.rename(community="other") * j
    over = ("community", "other")
    rate = within @ (i * j) + Mix(factors=(between, ways), over=over)
    link = Poisson if weighted else BernoulliPoisson
    x = link("x", distinct(rate, "i", "j"), dims=("i", "j"))
    return Network(x, sizes={"community": width})


# Finite mixture of Poisson vectors.
@validated
def poisson_mixture(
    components: Width, alpha: Positive = 1.0, rate_prior: Prior = (1.0, 1.0)
) -> Network:
    """x_jv ~ Pois(λ_kv) with k = z_j, z_j ~ Cat(π), π ~ Dir(α, …, α), λ_kv ~ Gam.

    Every row belongs to one component; P(z_j = k | −) ∝ π_k Π_v Pois(x_jv; λ_kv). The defaults are
    ours. Nodes: x, rate, z, pi.

    Reference: McLachlan & Peel, Finite mixture models, 2000; the sampler: Diebolt & Robert,
    Estimation of finite mixture distributions through Bayesian sampling, JRSS B 1994.
    """
    pi = Dirichlet("pi", alpha, over="component")
    z = Categorical("z", pi, over="component", dims="doc")
    rate = Gamma("rate", *rate_prior, dims=("component", "term"))
    return Network(Poisson("x", z @ rate, dims=("doc", "term")), sizes={"component": components})
