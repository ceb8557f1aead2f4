"""Part four: the references of all rules and lemmas that a network uses."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pgbn.explain.document import Block, Heading, Items
from pgbn.explain.notation import Notation
from pgbn.nodes.rules.registry import find_link

_BIBLIOGRAPHY = {
    "Acharya, Ghosh & Zhou 2015": "Acharya, A., Ghosh, J., Zhou, M. (2015). Nonparametric Bayesian "
    "factor analysis for dynamic count matrices. AISTATS.",
    "Gan et al. 2015": "Gan, Z., Chen, C., Henao, R., Carlson, D., Carin, L. (2015). Scalable deep "
    "Poisson factor analysis for topic modeling. ICML.",
    "Schein et al. 2019": "Schein, A., Linderman, S., Zhou, M., Blei, D., Wallach, H. (2019). "
    "Poisson-randomized gamma dynamical systems. NeurIPS.",
    "Devroye 1986": "Devroye, L. (1986). Non-uniform random variate generation. Springer, chapter "
    "VII.",
    "Polson, Scott & Windle 2013": "Polson, N. G., Scott, J. G., Windle, J. (2013). Bayesian "
    "inference for logistic models using Pólya–gamma latent variables. Journal of the American "
    "Statistical Association 108, 1339–1349.",
    "Schein, Zhou & Wallach 2016": "Schein, A., Zhou, M., Wallach, H. (2016). Poisson–gamma "
    "dynamical systems. NIPS.",
    "van Dyk & Park 2008": "van Dyk, D. A., Park, T. (2008). Partially collapsed Gibbs samplers: "
    "theory and methods. Journal of the American Statistical Association 103, 790–796.",
    "Zhao et al. 2018": "Zhao, H., Du, L., Buntine, W., Zhou, M. (2018). Dirichlet belief networks "
    "for topic structure learning. NeurIPS.",
    "Zhou & Carin 2015": "Zhou, M., Carin, L. (2015). Negative binomial process count and mixture "
    "modeling. IEEE Transactions on Pattern Analysis and Machine Intelligence 37, 307–320.",
    "Zhou 2015": "Zhou, M. (2015). Infinite edge partition models for overlapping community "
    "detection and link prediction. AISTATS.",
    "Zhou 2018": "Zhou, M. (2018). Nonparametric Bayesian negative binomial factor analysis. "
    "Bayesian Analysis 13, 1065–1093.",
    "Zhou, Cong & Chen 2015": "Zhou, M., Cong, Y., Chen, B. (2015). The Poisson gamma belief "
    "network. NIPS.",
    "Zhou, Cong & Chen 2016": "Zhou, M., Cong, Y., Chen, B. (2016). Augmentable gamma belief "
    "networks. Journal of Machine Learning Research 17(163), 1–44.",
    "Zhou, Hannah, Dunson & Carin 2012": "Zhou, M., Hannah, L., Dunson, D., Carin, L. (2012). "
    "Beta-negative binomial process and Poisson factor analysis. AISTATS.",
}


def references(notation: Notation, lemmas: Iterable[str]) -> list[Block]:
    """Full entries where they are known, else the reference that a rule carries."""
    wiring = notation.wiring
    cited = ["van Dyk & Park 2008", *lemmas]
    cited += [rule.reference for rule in wiring.rules.values()]
    cited += [rule.reference for rule in wiring.draws.values()]
    links = (find_link(node) for node in notation.network)
    cited += [link.reference for link in links if link is not None]
    entries: set[str] = set()
    for text in (part.strip() for whole in cited for part in whole.split(";")):
        known = [entry for key, entry in _BIBLIOGRAPHY.items() if text.startswith(key)]
        if known:
            entries |= set(known)
        elif re.search(r"\b(1[89]|20)\d\d\b", text):
            entries.add(text)
    return [Heading(2, "References"), Items(tuple(sorted(entries, key=str.casefold)))]
