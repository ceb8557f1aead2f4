"""Bytes from strangers: what every reader does with them, and those that once hurt."""
