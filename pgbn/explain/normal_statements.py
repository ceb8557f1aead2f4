"""The lemmas of normal values: joint draws, precisions, and logistic gates."""

from __future__ import annotations

from pgbn.explain.statements import Lemma

__all__ = ["NORMAL_LEMMAS"]

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
