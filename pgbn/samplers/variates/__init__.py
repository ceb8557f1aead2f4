"""Random variates, one at a time: scalar kernels, one module each."""
