"""Sixteen numbers at a time: what the kernels of whole rows are made of."""
