"""Kernels of the layers above the data: gammas, tables, thinned counts."""
