"""What the paper reports, with the place where it stands: the other side of our tables.

Zhou, Cong & Chen, The Poisson gamma belief network, NIPS 2015. Figures 2 to 4 give curves
without numbers; only what is printed as a number is here.
"""

from __future__ import annotations

# Appendix, table 3: accuracy in percent and its deviation, by (V, K1max) and depth T.
FULL = 33420
ACCURACY: dict[tuple[int, int], dict[int, tuple[float, float]]] = {
    (2000, 128): {1: (65.9, 0.4), 5: (67.5, 0.4)},
    (2000, 256): {1: (66.3, 0.4), 5: (68.8, 0.3)},
    (2000, 512): {1: (65.9, 0.4), 5: (69.2, 0.4)},
    (FULL, 200): {1: (74.6, 0.6), 5: (76.4, 0.5)},
    (FULL, 400): {1: (75.3, 0.6), 5: (77.4, 0.6)},
    (FULL, 800): {1: (75.4, 0.4), 5: (77.9, 0.3)},
}

# Appendix, table 1: the same classifier on the words themselves, by V: counts, term frequencies.
WORDS: dict[int, tuple[float, float]] = {2000: (69.8, 70.8), FULL: (78.0, 79.4)}

# Inferred widths in a random trial. Section 3: multi-class (20newsgroups, V = 33,420), binary
# classification, and "qualitative analysis" (NIPS12).
WIDTHS: dict[tuple[str, int], tuple[int, ...]] = {
    ("multiclass", 50): (50, 50, 50, 50, 50),
    ("multiclass", 200): (200, 161, 130, 94, 63),
    ("multiclass", 600): (528, 129, 109, 98, 91),
    ("multiclass", 800): (608, 100, 99, 96, 89),
    ("binary hardware", 800): (512, 154, 75, 54, 47, 37, 34, 29),
    ("binary science", 800): (491, 143, 74, 49, 36, 32, 28, 26),
    ("perplexity", 200): (200, 164, 106, 60, 42),
}

# Section 3: seconds of a training iteration, K1max = 400, V = 33,420, one core of a 2.7 GHz Xeon.
SWEEP_SECONDS: dict[int, float] = {1: 5.6, 3: 6.7, 5: 7.1}
