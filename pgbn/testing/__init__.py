"""Tests of samplers, for the nodes of pgbn and of users, and samplers broken on purpose."""

from pgbn.testing.calibration import CalibrationResult, sbc
from pgbn.testing.conjugacy import ConjugacyResult, check_conjugacy
from pgbn.testing.edges import CheckResult, check_edge, z_counts, z_mean
from pgbn.testing.geweke import GewekeResult, geweke
from pgbn.testing.kernels import compare_kernel
from pgbn.testing.mutants import Mutant, MutantTable, mutant_table, mutants

__all__ = [
    "CalibrationResult",
    "CheckResult",
    "ConjugacyResult",
    "GewekeResult",
    "Mutant",
    "MutantTable",
    "check_conjugacy",
    "check_edge",
    "compare_kernel",
    "geweke",
    "mutant_table",
    "mutants",
    "sbc",
    "z_counts",
    "z_mean",
]
