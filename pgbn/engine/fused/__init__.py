"""Kernels that do several rules at once."""
