"""Hidden Markov model of counts."""

from __future__ import annotations

from pgbn.checks import validated
from pgbn.network.network import Network
from pgbn.nodes import Categorical, Dirichlet, Gamma, Poisson, Self, Shift
from pgbn.zoo.arguments import Positive, Prior, Width


@validated
def hidden_markov(
    states: Width, alpha: Positive = 1.0, move_alpha: Positive = 1.0, rate_prior: Prior = (1.0, 1.0)
) -> Network:
    """x_tv ~ Pois(λ_kv) with k = z_t, z_t ~ Cat(P_l) with l = z_{t−1}, z_1 ~ Cat(π).

    π ~ Dir(α, …, α), P_l ~ Dir(β, …, β), λ_kv ~ Gam. All states are drawn together, by forward
    filtering and backward sampling. The defaults are those of pgbn. Nodes: x, rate, z, move (P),
    first (π).

    Reference: Zucchini & MacDonald, Hidden Markov models for time series, 2009; the sampler: Chib,
    Calculating posterior distributions and modal estimates in Markov mixture models, 1996.

    Parameters
    ----------
    states : int
        The number of hidden states.
    alpha : float
        The concentration α.
    move_alpha : float
        The concentration β of the rows of P.
    rate_prior : (float, float)
        (shape, rate) of the gamma prior of the λ_kv.

    Returns
    -------
    Network
        The model, which data complete.

    Examples
    --------
    >>> net = pgbn.zoo.hidden_markov(4)
    >>> net.latent
    ['move', 'first', 'z', 'rate']
    """
    first = Dirichlet("first", alpha, over="state")
    move = Dirichlet("move", move_alpha, over="state", dims="previous")
    chain = Shift(move @ Self(state="previous"), along="time", initial=first)
    z = Categorical("z", chain, over="state", dims="time")
    rate = Gamma("rate", *rate_prior, dims=("state", "term"))
    sizes = {"state": states, "previous": states}
    return Network(Poisson("x", z @ rate, dims=("time", "term")), sizes=sizes)
