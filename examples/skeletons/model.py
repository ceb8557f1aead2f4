"""A model of your own: copy this file, rename, and compose nodes, as the models of pgbn.zoo do.

The example is hierarchical Poisson factorisation: how often person u took item i, with an activity
of each person and a popularity of each item. A model is one function that returns a network; its
docstring opens with the generative equations and ends with the reference. At the end it is
tested. A model for pgbn itself becomes a file of pgbn/zoo: see CONTRIBUTING.md.
"""

from __future__ import annotations

import pgbn
from pgbn.zoo.arguments import Prior, check_one_width, check_positive_number, check_prior

__all__ = ["hierarchical_factorisation"]


def hierarchical_factorisation(
    width: int,
    taste: float = 0.3,
    appeal: float = 0.3,
    activity_prior: Prior = (0.3, 0.3),
    popularity_prior: Prior = (0.3, 0.3),
) -> pgbn.Network:
    """x_ui ~ Pois(Σ_k θ_uk β_ik), θ_uk ~ Gam(a, ξ_u), β_ik ~ Gam(c, η_i), ξ_u, η_i ~ Gam.

    Nodes: x, theta, beta, activity (ξ), popularity (η). ``width`` is the number K of factors,
    ``taste`` and ``appeal`` are a and c; the priors are (shape, rate).

    Reference: Gopalan, Hofman & Blei, Scalable recommendation with hierarchical Poisson
    factorization, UAI 2015.
    """
    # Arguments are checked first: an error names the argument, its value and the remedy.
    check_one_width(width)
    a, c = check_positive_number(taste, "taste"), check_positive_number(appeal, "appeal")
    activity = pgbn.Gamma("activity", *check_prior(activity_prior, "activity_prior"), dims="person")
    popularity = pgbn.Gamma(
        "popularity", *check_prior(popularity_prior, "popularity_prior"), dims="item"
    )
    theta = pgbn.Gamma("theta", a, activity, dims=("person", "factor"))
    beta = pgbn.Gamma("beta", c, popularity, dims=("item", "factor"))
    # The product sums over the dims that x does not have. Data bring the sizes of the others.
    x = pgbn.Poisson("x", beta @ theta, dims=("person", "item"))
    return pgbn.Network(x, sizes={"factor": width})


def small() -> pgbn.Network:
    """With priors whose moments exist: heavy tails would drown what the test looks for."""
    return hierarchical_factorisation(2, 1.5, 1.5, (4.0, 4.0), (4.0, 4.0))


if __name__ == "__main__":
    from pgbn.testing import check_conjugacy, geweke

    net = small()
    print(net, net.schedule, sep="\n\n", end="\n\n")
    algebra = check_conjugacy(net, sizes={"person": 3, "item": 3})
    result = geweke(net, sizes={"person": 3, "item": 3}, replicates=20_000, sweeps=8)
    print(algebra, result, sep="\n\n")
    if algebra.failures or result.worst > 4:
        raise SystemExit("the model, or a rule that it uses, is wrong: see docs/new-node.md")
