"""Kernels of the first layer: labels of tokens, splits of cells, topics given counts."""
