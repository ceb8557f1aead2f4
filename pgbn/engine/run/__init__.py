"""Chains: their beginning, their state, their draws, and what is told while they run."""
