"""The lemmas that a document cites, numbered in the order of their first use; its references."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pgbn.explain.document import Block, Equations, Heading, Items, Paragraph
from pgbn.explain.notation import Notation
from pgbn.nodes.base import Node
from pgbn.nodes.bernoulli import Bernoulli
from pgbn.nodes.dirichlet import Dirichlet
from pgbn.nodes.gamma import Gamma
from pgbn.nodes.log_normal import LogNormal
from pgbn.nodes.logit_bernoulli import LogitBernoulli
from pgbn.nodes.multinomial import Multinomial
from pgbn.nodes.normal import Normal
from pgbn.nodes.observed_normal import ObservedNormal
from pgbn.nodes.poisson_gamma import PoissonGamma
from pgbn.nodes.randomised_gamma import RandomisedGamma
from pgbn.nodes.rules.registry import find_link
from pgbn.nodes.rules.types import QUADRATIC, DrawRule, EvidenceRule

# ---- statements ---------------------------------------------------------------------------------
#
# The few lemmas from which every conditional follows, each with its proof in a line or two.


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
        r"tells its shape (count $\ell$, exposure $q'$).",
        "Zhou & Carin 2015; Zhou, Cong & Chen 2015",
    ),
    "dirichlet": Lemma(
        "A Dirichlet with multinomial counts",
        r"Let $\pi \sim \mathrm{Dir}(a_1, \ldots, a_K)$, $n \mid \pi \sim \mathrm{Mult}(N, \pi)$; "
        r"given $n$, draw $s \sim \mathrm{Beta}(a_{\cdot}, N)$ and $\ell_k \sim "
        r"\mathrm{CRT}(n_k, a_k)$. Then $\pi$ has the conditional below, and with $\pi$ integrated "
        r"out, as functions of the $a_k$,",
        (
            r"\pi \mid n &\sim \mathrm{Dir}(a_1 + n_1, \ldots, a_K + n_K)",
            r"p(n, s, \ell \mid a) &\propto \prod_k a_k^{\ell_k} e^{-\hat{q}\, a_k} \propto "
            r"\prod_k \mathrm{Pois}(\ell_k;\ \hat{q}\, a_k)",
            r"\hat{q} &= -\ln s",
        ),
        r"$P(n \mid a)$ is proportional to $\Gamma(a_{\cdot}) / \Gamma(a_{\cdot} + N)$ times "
        r"$\prod_k \Gamma(a_k + n_k) / \Gamma(a_k)$. The first factor is proportional to $\int "
        r"s^{a_{\cdot} - 1} (1 - s)^{N - 1} ds$, so that $s$ leaves $e^{-\hat{q} a_{\cdot}}$; the "
        r"tables leave $a_k^{\ell_k}$. Only as functions of $a$: as a distribution $\ell_k$ is not "
        r"Poisson (of one customer, $\ell = 1$). Where $N = 0$ nothing is heard: count 0, "
        "exposure 0.",
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
        r"Let $x \sim \mathrm{Mult}(N, \pi)$ with $\pi_v = \sum_k \lambda_{v k}$. "
        r"Its likelihood is "
        r"$\prod_v \pi_v^{x_v}$: counts $x_v$ with exposure 0. Given $x$,",
        (
            r"(x_{v k})_k &\sim \mathrm{Mult}\bigl(x_v;\ \lambda_{v k} / \textstyle\sum_{k'} "
            r"\lambda_{v k'}\bigr)",
        ),
        r"Each of the $N$ draws falls on $(v, k)$ with probability $\lambda_{v k}$; given $v$, on "
        r"$k$ with probability proportional to $\lambda_{v k}$.",
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
    "proportions": Lemma(
        "A Markov chain of Dirichlets, backward and forward",
        r"Let row $t$ of a chain be $\phi_t \sim \mathrm{Dir}(a_t)$ with $a_t$ linear in "
        r"$\phi_{t-1}$ and with the same weights for all entries. From the last row to the first, "
        r"each row is integrated out by the lemma of the Dirichlet, with what row $t+1$ passes "
        r"back added to what it hears itself:",
        (
            r"n_t &= n_t^{\mathrm{own}} + \ell_{t+1}",
            r"\ell_t &\sim \mathrm{CRT}(n_t, a_t)",
            r"\hat{q}_t &= -\ln s_t,\quad s_t \sim \mathrm{Beta}(a_{t \cdot}, n_{t \cdot})",
        ),
        r"As a function of $a_t$ the row leaves $\prod_v a_{tv}^{\ell_{tv}} e^{-\hat{q}_t "
        r"a_{tv}}$: for $\phi_{t-1}$ that is $\prod_v \phi_{t-1,v}^{\ell_{tv}}$ times "
        r"$e^{-\hat{q}_t w}$ with a weight $w$ that is the same for all entries, as these sum to "
        r"one. Then, from the first row to the last, row $t$ given the new row $t-1$ is "
        r"$\mathrm{Dir}(a_t + n_t)$: together one draw of the whole chain. The weights "
        r"hear the tables with the exposures $\hat{q}_t$.",
    ),
    "hidden": Lemma(
        "A Markov chain of gammas through hidden counts",
        r"Let row $t$ of a chain be $\theta_t \sim \mathrm{Gam}(a + h_t, c)$ with $h_t \sim "
        r"\mathrm{Pois}(\lambda_t)$ and $\lambda_t$ linear in row $t-1$. Given all rows, the "
        r"hidden counts are independent, and row $t$ hears those of row $t+1$ as its own:",
        (
            r"P(h_t \mid \theta_t, \theta_{t-1}) &\propto "
            r"\frac{(\lambda_t c\, \theta_t)^{h_t}}{h_t!\, \Gamma(a + h_t)}",
            r"m_t &= m_t^{\mathrm{own}} + h_{t+1},\quad q_t = q_t^{\mathrm{own}} + 1",
        ),
        r"(The counts are shared out by the weights of the transition, whose sums are the exposure "
        r"of row $t$; from beyond the last row nothing comes.) Then, from the first row to the "
        r"last, each row is drawn together with its own hidden count, given the new row $t-1$ and "
        r"$h_{t+1}$: $h_t$ with $\theta_t$ integrated out, and $\theta_t$ given $h_t$. So a row "
        r"that is 0 need not stay so.",
        "Schein et al. 2019",
    ),
    "sums": Lemma(
        "Sums stay current",
        r"Let $\theta_v \sim \mathrm{Gam}(a_v, c)$ and $m_v \mid \theta_v \sim \mathrm{Pois}(q\, "
        r"\theta_v)$ with the same $c$ and $q$ for all $v = 1, \ldots, V$. Write $\theta_v = s\, "
        r"u_v$ with $s = \theta_{\cdot}$ and $\sum_v u_v = 1$. Then",
        (
            r"p(\theta \mid m) \propto \prod_v \theta_v^{a_v + m_v - 1} e^{-(c + q)\, \theta_v} &= "
            r"s^{a_{\cdot} + m_{\cdot} - V} e^{-(c + q)\, s} \prod_v u_v^{a_v + m_v - 1}",
            r"p(s, u \mid m) &\propto \bigl(s^{a_{\cdot} + m_{\cdot} - 1} e^{-(c + q)\, s}\bigr) "
            r"\cdot \prod_v u_v^{a_v + m_v - 1}",
        ),
        r"The second line is the first times $s^{V - 1}$, the Jacobian of $(s, u)$: $\mathrm{Gam}("
        r"a_{\cdot} + m_{\cdot}, c + q)$ for $s$ times $\mathrm{Dir}(a + m)$ for $u$. So "
        r"the sum is "
        r"independent of the proportions and depends on the shapes through $a_{\cdot}$ alone. If "
        r"$a_v = \sum_k \phi_{v k} s_k$ with $\sum_v \phi_{v k} = 1$, then $a_{\cdot} = \sum_k s_k "
        r"\sum_v \phi_{v k} = s_{\cdot}$ does not involve $\phi$: a draw of $\phi$ with $\theta$ "
        r"integrated out leaves $\theta_{\cdot}$ current, although $\theta$ itself is stale.",
    ),
    "simplex": Lemma(
        "What a Dirichlet hears is multinomial",
        r"Let $n_{v j} \sim \mathrm{Pois}(q_j\, \phi_v\, s_j)$ be independent, with $\sum_v \phi_v "
        r"= 1$ and an exposure $q_j$ that is the same for all $v$. Then, as a function of $\phi$,",
        (
            r"p(n \mid \phi) &\propto \prod_{v, j} \phi_v^{n_{v j}} e^{-q_j \phi_v s_j} = "
            r"\Bigl(\prod_v \phi_v^{n_{v \cdot}}\Bigr)\, e^{-\sum_j q_j s_j}",
            r"(n_{v \cdot})_v \mid n_{\cdot \cdot} &\sim \mathrm{Mult}(n_{\cdot \cdot},\ \phi)",
        ),
        r"The exponents add up to $\sum_j q_j s_j \sum_v \phi_v = \sum_j q_j s_j$, in which $\phi$ "
        r"does not occur: an exposure that is the same for all entries leaves no trace. Poisson "
        r"counts given their sum are multinomial, with probabilities proportional to their rates. "
        r"If the exposure varied with $v$, a factor $e^{-\sum_v q_v \phi_v}$ would remain, and the "
        r"conditional would be no Dirichlet.",
    ),
    "completion": Lemma(
        "Pseudo-counts complete an exposure",
        r"Let $n_v \sim \mathrm{Pois}(q_v\, \phi_v)$ be independent, with $\phi \sim "
        r"\mathrm{Dir}(\eta)$, and draw $y_v \sim \mathrm{Pois}((\bar{q} - q_v)\, \phi_v)$ with "
        r"$\bar{q} = \max_v q_v$. Then",
        (
            r"p(\phi \mid n) &\propto \prod_v \phi_v^{\eta_v + n_v - 1} e^{-q_v \phi_v}",
            r"p(\phi, y \mid n) &\propto \prod_v \frac{(\bar{q} - q_v)^{y_v}}{y_v!}\, "
            r"\phi_v^{\eta_v + n_v + y_v - 1} \cdot e^{-\bar{q} \sum_v \phi_v}",
            r"\phi \mid n, y &\sim \mathrm{Dir}(\eta + n + y)",
        ),
        r"Where the exposure varies, the factor $e^{-\sum_v q_v \phi_v}$ keeps the conditional of "
        r"$\phi$ from being a Dirichlet. With $y$ the exponents add up to $\bar{q} \sum_v \phi_v = "
        r"\bar{q}$. Summed over $y$ the second line is the first: to draw $y$ given $\phi$, then "
        r"$\phi$ given $y$, leaves the conditional of $\phi$ invariant, and $y$ can be forgotten "
        r"at once. Nothing else is drawn given $y$; it reads the old value of $\phi$, which "
        r"must be current.",
    ),
    "layers": Lemma(
        "Every layer hears Poisson counts",
        r"Let $\theta_i \sim \mathrm{Gam}(a_i, c_i)$ be a layer with $a_i = \sum_k w_{i k} s_k$, "
        r"and let what it hears be independent counts $m_i \mid \theta_i \sim \mathrm{Pois}(q_i\, "
        r"\theta_i)$. With $\theta$ integrated out, with $\ell_i \sim "
        r"\mathrm{CRT}(m_i, a_i)$ shared "
        r"out as $\ell_{i k}$ in proportion to $w_{i k} s_k$, the layer above hears",
        (
            r"m'_k &= \ell_{\cdot k} \mid s_k \sim \mathrm{Pois}(q'_k\, s_k)",
            r"q'_k &= \sum_i w_{i k} \ln(1 + q_i / c_i)",
        ),
        r"By induction from the data up. Of the data, or the counts behind them, the claim is the "
        r"model. If it holds for a layer, its $m_i$ are negative binomial, its tables are $\ell_i "
        r"\sim \mathrm{Pois}(\ln(1 + q_i / c_i)\, a_i)$, and their parts are "
        r"independent $\ell_{i k} "
        r"\sim \mathrm{Pois}(\ln(1 + q_i / c_i)\, w_{i k}\, s_k)$ (the lemmas of the gamma, of the "
        r"tables and of the split); sums of independent Poisson counts are Poisson. That is the "
        r"claim for the layer above, given $s$. Where the columns of $w$ sum to one and "
        r"$q_i / c_i$ "
        r"is the same for all $i$, $q' = \ln(1 + q / c)$. (Lemma 1 of Zhou, Cong & Chen 2015; the "
        r"draws are their Corollary 2.)",
        "Zhou, Cong & Chen 2015",
    ),
}


# ---- normal statements --------------------------------------------------------------------------
#
# The lemmas of normal values: joint draws, precisions, and logistic gates.


NORMAL_LEMMAS = {
    "form": Lemma(
        "What stands in a linear predictor hears a quadratic form",
        r"Let a cell $c$ have the predictor $\psi_c = \sum_d g_{c d}\, x_d + s_c$ and tell "
        r"$e^{\kappa_c \psi_c - \omega_c \psi_c^2 / 2}$ about it. Then, as a function of $x$,",
        (
            r"p(- \mid x) &\propto e^{b^{\top} x - x^{\top} A\, x / 2}",
            r"A_{d d'} &= \sum_c \omega_c\, g_{c d}\, g_{c d'}",
            r"b_d &= \sum_c (\kappa_c - \omega_c s_c)\, g_{c d}",
            r"x \mid - &\sim \mathrm{N}\bigl(S (T \mu + b),\ S\bigr),\ S = (T + A)^{-1}"
            r"\quad\text{where } x \sim \mathrm{N}(\mu,\ T^{-1})",
            r"P(x_d = 1 \mid -) &= \sigma\bigl(\lambda_d + b_d - A_{d d} / 2 - "
            r"\textstyle\sum_{d' \ne d} A_{d d'} x_{d'}\bigr)"
            r"\quad\text{where } x_d \in \{0, 1\}\text{ has the log odds } \lambda_d",
        ),
        r"Put $\psi_c$ into the exponent and order by powers of $x$: what is left does not depend "
        r"on $x$. A normal prior adds $T$ to $A$ and $T \mu$ to $b$, and $e^{u^{\top} x - x^{\top} "
        r"V x / 2}$ is a normal density of mean $V^{-1} u$ and covariance $V^{-1}$; a bit has two "
        r"values, whose densities differ by the factor in brackets. Entries that no cell has "
        r"together are independent; the others are drawn jointly, by a Cholesky factor, or bit "
        r"by bit.",
    ),
    "precision": Lemma(
        "The precision of a normal",
        r"Let $x_i \sim \mathrm{N}(\mu_i,\ 1 / \tau)$, $i = 1, \ldots, n$, and $\tau \sim "
        r"\mathrm{Gam}(e, f)$. Then",
        (
            r"\tau \mid x &\sim \mathrm{Gam}\bigl(e + n / 2,\ f + \textstyle\sum_i (x_i - "
            r"\mu_i)^2 / 2\bigr)",
        ),
        r"As a function of $\tau$ each density is $\tau^{1/2} e^{-\tau (x_i - \mu_i)^2 / 2}$: a "
        r"count of one half and an exposure of half the square. Of a log-normal, $x_i$ is the "
        r"logarithm. The values are held.",
    ),
    "polya": Lemma(
        "A logistic likelihood is normal given a Pólya-gamma variable",
        r"Let $h \sim \mathrm{Bern}(\sigma(\psi))$ and draw $\omega \sim \mathrm{PG}(1, \psi)$. "
        r"Then, as a function of $\psi$,",
        (
            r"p(h, \omega \mid \psi) &\propto e^{\kappa \psi - \omega \psi^2 / 2}",
            r"\kappa &= h - \tfrac{1}{2}",
        ),
        r"$p(h \mid \psi) = e^{h \psi} / (1 + e^{\psi}) = e^{\kappa \psi} / (2 \cosh(\psi / 2))$, "
        r"and the density of $\mathrm{PG}(1, \psi)$ is $\cosh(\psi / 2)\, e^{-\omega \psi^2 / 2}$ "
        r"times a function of $\omega$ alone: the factor $\cosh$ cancels. So a gate tells its "
        r"predictor what a normal variable of precision $\omega$ would.",
        "Polson, Scott & Windle 2013",
    ),
    "log-rate": Lemma(
        "A log-normal with a Poisson count",
        r"Let $\ln a \sim \mathrm{N}(\mu,\ 1 / \tau)$ hear a count $m$ and an exposure $q$. Then",
        (r"p(\ln a \mid -) &\propto e^{m \ln a - q a - \tau (\ln a - \mu)^2 / 2}",),
        r"The likelihood is $a^m e^{-q a}$. The exponent is concave in $\ln a$, so that a hat of "
        r"a flat piece and two tangents lies above it: points under the hat are drawn until one "
        r"is under the density. Such a draw is exact.",
        "Devroye 1986",
    ),
}


# ---- lemmas -------------------------------------------------------------------------------------


_RULE_LEMMAS: dict[tuple[type[Node], str, str], tuple[str, ...]] = {
    (Gamma, "shape", "poisson"): ("gamma", "crt"),
    (Gamma, "rate", "poisson"): ("rate",),
    (Gamma, "rate", "odds"): ("odds",),
    (PoissonGamma, "noise", "poisson"): ("rate",),
    (Dirichlet, "concentration", "poisson"): ("dirichlet",),
    (Bernoulli, "probability", "probability"): ("bernoulli",),
    (Multinomial, "probability", "poisson"): ("multinomial",),
    (Normal, "precision", "poisson"): ("precision",),
    (ObservedNormal, "precision", "poisson"): ("precision",),
    (LogNormal, "precision", "poisson"): ("precision",),
    (LogitBernoulli, "logit", QUADRATIC): ("polya",),
}
_DRAW_LEMMAS: dict[type[Node], str] = {
    Gamma: "gamma",
    Dirichlet: "dirichlet",
    Bernoulli: "gate",
    LogitBernoulli: "gate",
    LogNormal: "log-rate",
}
_EVERY = LEMMAS | NORMAL_LEMMAS


def lemmas_of_rule(rule: EvidenceRule) -> tuple[str, ...]:
    """The lemmas behind one of our evidence rules; none for a rule of somebody else."""
    return _RULE_LEMMAS.get((rule.child, rule.slot, rule.kind), ())


def lemma_of_draw(rule: DrawRule) -> str | None:
    """The lemma behind one of our draw rules."""
    if rule.kind == QUADRATIC:
        return "form"
    return _DRAW_LEMMAS.get(rule.node)


def chain_lemma(node: Node) -> str:
    """The lemma behind a node that depends on its own row before."""
    if isinstance(node, RandomisedGamma):
        return "hidden"
    return "proportions" if isinstance(node, Dirichlet) else "chain"


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
            lemma = _EVERY[key]
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
        return [_EVERY[key].reference for key in self.used if _EVERY[key].reference]


# ---- references ---------------------------------------------------------------------------------


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
