"""The few lemmas from which every conditional follows, each with its proof in a line or two."""

from __future__ import annotations

from dataclasses import dataclass

from pgbn.explain.document import Block, Equations, Heading, Paragraph
from pgbn.nodes.base import Node
from pgbn.nodes.bernoulli import Bernoulli
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.multinomial import Multinomial
from pgbn.nodes.poisson_gamma import PoissonGamma
from pgbn.nodes.rules.types import DrawRule, EvidenceRule

__all__ = ["LEMMAS", "Lemma", "Lemmas", "lemma_of_draw", "lemmas_of_rule"]


@dataclass(frozen=True)
class Lemma:
    """A statement, its equations, the reason and where it comes from."""

    title: str
    statement: str
    equations: tuple[str, ...]
    proof: str
    reference: str = ""


LEMMAS = {
    "split": Lemma(
        "A Poisson count splits",
        r"Let $\ell_k \sim \mathrm{Pois}(\lambda_k)$ be independent, $\ell = \sum_k \ell_k$. Then",
        (
            r"\ell &\sim \mathrm{Pois}\bigl(\textstyle\sum_k \lambda_k\bigr)",
            r"(\ell_k)_k \mid \ell &\sim \mathrm{Mult}\bigl(\ell;\ \lambda_k / "
            r"\textstyle\sum_{k'} \lambda_{k'}\bigr)",
        ),
        r"With $\Lambda = \sum_k \lambda_k$, the joint probability $\prod_k e^{-\lambda_k} "
        r"\lambda_k^{\ell_k} / \ell_k!$ is $e^{-\Lambda} \Lambda^{\ell} / \ell!$ times $\ell! "
        r"\prod_k (\lambda_k / \Lambda)^{\ell_k} / \ell_k!$. So a count whose rate is a sum may be "
        "shared out by a multinomial draw, and its parts are then independent Poisson counts, one "
        "for each term of the sum.",
        "Zhou, Hannah, Dunson & Carin 2012, Lemma 4.1",
    ),
    "gamma": Lemma(
        "A gamma with a Poisson count",
        r"Let $\theta \sim \mathrm{Gam}(a, c)$ and $m \mid \theta \sim \mathrm{Pois}(q\, \theta)$, "
        r"where $q \ge 0$ is the exposure. Then",
        (
            r"\theta \mid m &\sim \mathrm{Gam}(a + m,\ c + q)",
            r"m &\sim \mathrm{NB}\Bigl(a,\ \frac{q}{c + q}\Bigr)",
        ),
        r"The joint density is proportional to $\theta^{a + m - 1} e^{-(c + q) \theta}$, a gamma "
        r"in $\theta$; its integral is $\Gamma(a + m) / (m!\, \Gamma(a))\, p^m (1 - p)^a$ with "
        r"$p = q / (c + q)$.",
        "Zhou & Carin 2015",
    ),
    "crt": Lemma(
        "The tables of a negative binomial count",
        r"Let $m \sim \mathrm{NB}(a, p)$ with $p = q / (c + q)$, and given $m$ draw $\ell \sim "
        r"\mathrm{CRT}(m, a)$, that is $\ell = \sum_{i=1}^{m} b_i$ with $b_i \sim \mathrm{Bern}(a "
        r"/ (a + i - 1))$. Then, as far as $a$ is concerned,",
        (
            r"\ell &\sim \mathrm{Pois}(q' a)",
            r"q' &= -\ln(1 - p) = \ln(1 + q / c)",
        ),
        r"$P(\ell \mid m, a) = |s(m, \ell)|\, a^{\ell}\, \Gamma(a) / \Gamma(a + m)$ with Stirling "
        r"numbers $s$; times the negative binomial probability this is $|s(m, \ell)|\, p^m / m!$ "
        r"times $a^{\ell} e^{-q' a}$. Given $\ell$, the count $m$ is a sum of $\ell$ logarithmic "
        r"variables that say nothing about $a$. A gamma that hears (count $m$, exposure $q$) thus "
        r"tells its shape (count $\ell$, exposure $q'$). Applied layer after layer, this is "
        "Lemma 1 of Zhou, Cong & Chen 2015, and the draws of the split and of the tables are their "
        "Corollary 2.",
        "Zhou & Carin 2015; Zhou, Cong & Chen 2015",
    ),
    "dirichlet": Lemma(
        "A Dirichlet with multinomial counts",
        r"Let $\pi \sim \mathrm{Dir}(a_1, \ldots, a_K)$, $n \mid \pi \sim \mathrm{Mult}(N, \pi)$; "
        r"given $n$, draw $s \sim \mathrm{Beta}(a_{\cdot}, N)$ and $\ell_k \sim "
        r"\mathrm{CRT}(n_k, a_k)$. Then $\pi$ has the conditional below, and with $\pi$ integrated "
        r"out, as far as the $a_k$ are concerned,",
        (
            r"\pi \mid n &\sim \mathrm{Dir}(a_1 + n_1, \ldots, a_K + n_K)",
            r"\ell_k &\sim \mathrm{Pois}(\hat{q}\, a_k)",
            r"\hat{q} &= -\ln s",
        ),
        r"$P(n \mid a)$ is proportional to $\Gamma(a_{\cdot}) / \Gamma(a_{\cdot} + N)$ times "
        r"$\prod_k \Gamma(a_k + n_k) / \Gamma(a_k)$. The first factor is proportional to $\int "
        r"s^{a_{\cdot} - 1} (1 - s)^{N - 1} ds$, so that $s$ leaves $e^{-\hat{q} a_{\cdot}}$; the "
        r"tables leave $a_k^{\ell_k}$. Where $N = 0$ nothing is heard: count 0, exposure 0. An "
        "exposure that is the same for all entries leaves no trace in a Dirichlet, since the "
        "entries sum to one.",
        "Zhou 2018; Zhao et al. 2018",
    ),
    "rate": Lemma(
        "The rate of a gamma",
        r"Let $\theta_i \sim \mathrm{Gam}(a_i, c)$ and $c \sim \mathrm{Gam}(e, f)$. Then",
        (r"c \mid \theta &\sim \mathrm{Gam}\bigl(e + a_{\cdot},\ f + \theta_{\cdot}\bigr)",),
        r"As a function of $c$ the density of $\theta$ is $c^{a_{\cdot}} e^{-c\, \theta_{\cdot}}$: "
        r"a count of $a_{\cdot}$ and an exposure of $\theta_{\cdot}$. The values $\theta_i$ are "
        "held, not integrated out, so they must be current.",
    ),
    "odds": Lemma(
        "The probability of a negative binomial count",
        r"In the lemma of a gamma with a Poisson count let $q = 1$ and $c = (1 - p) / p$ with $p "
        r"\sim \mathrm{Beta}(a_0, b_0)$. Then $q / (c + q) = p$ and",
        (r"p \mid m &\sim \mathrm{Beta}(a_0 + m_{\cdot},\ b_0 + a_{\cdot})",),
        r"The negative binomial probabilities are $p^{m} (1 - p)^{a}$ as functions of $p$. The "
        r"gammas are integrated out. With an exposure other than 1 the form is lost.",
        "Zhou & Carin 2015",
    ),
    "multinomial": Lemma(
        "A multinomial count splits",
        r"Let $x \sim \mathrm{Mult}(N, \pi)$ with $\pi_v = \sum_k \lambda_{vk}$. Its likelihood is "
        r"$\prod_v \pi_v^{x_v}$: counts $x_v$ with exposure 0. Given $x$,",
        (
            r"(x_{vk})_k &\sim \mathrm{Mult}\bigl(x_v;\ \lambda_{vk} / \textstyle\sum_{k'} "
            r"\lambda_{vk'}\bigr)",
        ),
        r"Each of the $N$ draws falls on $(v, k)$ with probability $\lambda_{vk}$; given $v$, on "
        r"$k$ with probability proportional to $\lambda_{vk}$.",
    ),
    "bernoulli-poisson": Lemma(
        "Binary data as thresholded counts",
        r"Let $b = 1(n \ge 1)$ with $n \sim \mathrm{Pois}(\lambda)$. Then $P(b = 1) = 1 - "
        r"e^{-\lambda}$ and",
        (
            r"n \mid b = 0 &= 0",
            r"n \mid b = 1 &\sim \mathrm{Pois}_{+}(\lambda)",
        ),
        r"$\mathrm{Pois}_{+}$ is the Poisson distribution given that it is positive. Only the ones "
        r"of the data are drawn; once $n$ is known, the Poisson likelihood is back.",
        "Zhou 2015",
    ),
    "poisson-gamma": Lemma(
        "Positive reals as randomised gammas",
        r"Let $y \sim \mathrm{Gam}(n, a)$ with $n \sim \mathrm{Pois}(\lambda)$, and $y = 0$ where "
        r"$n = 0$. Then",
        (
            r"n \mid y = 0 &= 0",
            r"n \mid y > 0 &\sim \mathrm{Bessel}_{-1}\bigl(2 \sqrt{a\, y\, \lambda}\bigr)",
        ),
        r"For $y > 0$ the probability of $n$ is proportional to $(a y \lambda)^n / (n!\, "
        r"\Gamma(n))$, which is the Bessel distribution of order $-1$.",
        "Zhou, Cong & Chen 2016",
    ),
    "gate": Lemma(
        "A gate in a shape",
        r"Let $h \sim \mathrm{Bern}(\pi)$ hear a count $m$ and an exposure $q$, both through a "
        r"product in which $h$ is a factor. Then $h = 1$ if $m > 0$, and otherwise",
        (r"P(h = 1 \mid m = 0) &= \frac{\pi e^{-q}}{\pi e^{-q} + 1 - \pi}",),
        r"The likelihood is $h^m e^{-q h}$: for $h = 0$ it is 1 if $m = 0$ and else 0.",
        "Gan et al. 2015",
    ),
    "bernoulli": Lemma(
        "The probability of a gate",
        r"Let $h_i \sim \mathrm{Bern}(\pi)$ and $\pi \sim \mathrm{Beta}(a, b)$. Then",
        (
            r"\pi \mid h &\sim \mathrm{Beta}\bigl(a + h_{\cdot},\ b + \textstyle\sum_i "
            r"(1 - h_i)\bigr)",
        ),
        r"The likelihood is $\pi^{h_i} (1 - \pi)^{1 - h_i}$ for each gate; the gates are held.",
    ),
    "chain": Lemma(
        "A Markov chain of gammas, backward and forward",
        r"Let row $t$ of a chain have a shape that is linear in row $t-1$. From the last row to "
        r"the first, each row is integrated out by the lemmas of the gamma and of the tables, with "
        r"what row $t+1$ passes back added to what it hears itself:",
        (
            r"m_t &= m_t^{\mathrm{own}} + \ell_{t+1}",
            r"q_t &= q_t^{\mathrm{own}} + \zeta_{t+1}",
            r"\ell_t &\sim \mathrm{CRT}(m_t, a_t)",
            r"\zeta_t &= \ln(1 + q_t / c_t)",
        ),
        r"(The entries are spread by the weights of the transition; nothing comes from beyond the "
        r"last row.) Then, from the first row to the last, row $t$ given the new row $t-1$ is a "
        r"gamma with shape $a_t + m_t$ and rate $c_t + q_t$: together one draw of the whole chain.",
        "Acharya, Ghosh & Zhou 2015; Schein, Zhou & Wallach 2016",
    ),
    "sums": Lemma(
        "Sums stay current",
        r"Let $\theta_v \sim \mathrm{Gam}(a_v, c)$ and $m_v \mid \theta_v \sim \mathrm{Pois}(q\, "
        r"\theta_v)$ with the same $c$ and $q$ for all $v$. Then",
        (r"\theta_{\cdot} \mid m &\sim \mathrm{Gam}(a_{\cdot} + m_{\cdot},\ c + q)",),
        r"and $\theta_{\cdot}$ is independent of the proportions $\theta / \theta_{\cdot}$ (gammas "
        r"of one rate). If $a_v = \sum_k \phi_{vk} s_k$ with $\sum_v \phi_{vk} = 1$, then "
        r"$a_{\cdot} = s_{\cdot}$ does not involve $\phi$: a draw of $\phi$ with $\theta$ "
        r"integrated out leaves $\theta_{\cdot}$ current, although $\theta$ itself is stale.",
    ),
}

_RULE_LEMMAS: dict[tuple[type[Node], str, str], tuple[str, ...]] = {
    (Gamma, "shape", "poisson"): ("gamma", "crt"),
    (Gamma, "rate", "poisson"): ("rate",),
    (Gamma, "rate", "odds"): ("odds",),
    (PoissonGamma, "noise", "poisson"): ("rate",),
    (Dirichlet, "concentration", "poisson"): ("dirichlet",),
    (Bernoulli, "probability", "probability"): ("bernoulli",),
    (Multinomial, "probability", "poisson"): ("multinomial",),
}
_DRAW_LEMMAS: dict[type[Node], str] = {Gamma: "gamma", Dirichlet: "dirichlet", Bernoulli: "gate"}


def lemmas_of_rule(rule: EvidenceRule) -> tuple[str, ...]:
    """The lemmas behind one of our evidence rules; none for a rule of somebody else."""
    return _RULE_LEMMAS.get((rule.child, rule.slot, rule.kind), ())


def lemma_of_draw(rule: DrawRule) -> str | None:
    """The lemma behind one of our draw rules."""
    return _DRAW_LEMMAS.get(rule.node)


class Lemmas:
    """The lemmas that a document uses, numbered in the order of their first use."""

    def __init__(self) -> None:
        self.used: list[str] = []

    def cite(self, *keys: str) -> str:
        """ "Lemma 1", "Lemmas 1 and 2"; they are added to the list if they are new."""
        numbers = []
        for key in dict.fromkeys(keys):
            if key not in self.used:
                self.used.append(key)
            numbers.append(self.used.index(key) + 1)
        joined = " and ".join(map(str, sorted(numbers)))
        return f"Lemma {joined}" if len(numbers) == 1 else f"Lemmas {joined}"

    def blocks(self) -> list[Block]:
        """The statements and their proofs."""
        found: list[Block] = []
        for number, key in enumerate(self.used, 1):
            lemma = LEMMAS[key]
            source = f" ({lemma.reference}.)" if lemma.reference else ""
            found += [
                Heading(3, f"Lemma {number}. {lemma.title}"),
                Paragraph(lemma.statement),
                Equations(lemma.equations),
                Paragraph(f"Why: {lemma.proof}{source}"),
            ]
        return found

    def references(self) -> list[str]:
        """The references of the used lemmas."""
        return [LEMMAS[key].reference for key in self.used if LEMMAS[key].reference]
