"""Makers of steps beyond the composed rules: fused gamma layers, shared rows, time, sequences."""
