"""Benchmarks: each measures all sides in one run. Not part of the package."""
