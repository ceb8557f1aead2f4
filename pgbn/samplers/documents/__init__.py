"""Kernels for new documents: all sweeps of one document after the other."""
