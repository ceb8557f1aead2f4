"""Chains: their beginning, their state, their draws, and their progress reports."""
