"""The commands of LaTeX that explain writes, with the unicode sign of each: the one table."""

from __future__ import annotations

__all__ = [
    "ACCENTS",
    "ARGUMENTS",
    "FONTS",
    "FRACTIONS",
    "GREEK",
    "LARGE",
    "LETTERS",
    "NAMES",
    "OPERATORS",
    "RELATIONS",
    "SILENT",
    "SIZES",
    "SPACES",
    "WORDS",
]

_LOWER = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau"
_UPPER = "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
_LOWER_SIGNS = "α β γ δ ε ζ η θ ι κ λ μ ν ξ π ρ σ τ"
_UPPER_SIGNS = "Γ Δ Θ Λ Ξ Π Σ Υ Φ Ψ Ω"

# name of a letter → its unicode sign
GREEK = dict(
    zip(
        f"{_LOWER} upsilon phi chi psi omega {_UPPER}".split(),
        f"{_LOWER_SIGNS} υ φ χ ψ ω {_UPPER_SIGNS}".split(),
        strict=True,
    )
)
LETTERS = {"ell": "ℓ", **GREEK}

OPERATORS = {
    "sim": "∼", "cdot": "·", "ldots": "…", "propto": "∝", "mid": "|", "ge": "≥", "le": "≤",
    "infty": "∞", "to": "→", "in": "∈", "times": "×", "int": "∫", "ne": "≠", "lvert": "|",
    "partial": "∂", "rvert": "|", "Longrightarrow": "⟹", "Rightarrow": "⇒", "cdots": "⋯",
    "square": "□", "top": "⊤",
}  # fmt: skip

# signs that stand apart from what they relate
RELATIONS = frozenset({"=", ":=", "∼", "≥", "≤", "∝", "≠", "∈", "→", "⟹", "⇒"})

# as large operators, and in a line of text
LARGE = {"sum": ("∑", "Σ"), "prod": ("∏", "Π")}

WORDS = frozenset({"ln", "log", "exp", "max", "min"})

# spaces and their widths in em
SPACES = {",": 0.17, ":": 0.22, ";": 0.28, " ": 0.3, "quad": 1.0, "qquad": 2.0}

# as a sign above, and as a combining character
ACCENTS = {"hat": ("^", "\u0302"), "tilde": ("~", "\u0303"), "bar": ("¯", "\u0304")}

FONTS = frozenset(
    {"mathrm", "text", "operatorname", "mathit", "mathcal", "mathbf", "mathbb", "texttt"}
)
FRACTIONS = frozenset({"frac", "tfrac", "dfrac"})
SIZES = frozenset({"bigl", "bigr", "Bigl", "Bigr", "big", "Big", "left", "right"})
SILENT = frozenset({"textstyle", "displaystyle", "!"})

# how many arguments a command takes
ARGUMENTS = (
    dict.fromkeys(FRACTIONS, 2)
    | dict.fromkeys([*FONTS, *ACCENTS, *SIZES, "sqrt", "end"], 1)
)  # fmt: skip

# unicode sign → the command that writes it
NAMES = {
    sign: name
    for name, sign in (
        *LETTERS.items(),
        *OPERATORS.items(),
        *((name, signs[0]) for name, signs in LARGE.items()),
    )
    if not sign.isascii()
}
