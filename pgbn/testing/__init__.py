"""Tests of samplers, for ours and for a user's own nodes."""

from pgbn.testing.conjugacy import ConjugacyResult, check_conjugacy
from pgbn.testing.geweke import GewekeResult, geweke
from pgbn.testing.scores import z_counts, z_mean

__all__ = ["ConjugacyResult", "GewekeResult", "check_conjugacy", "geweke", "z_counts", "z_mean"]
