"""Nodes that depend on their own row before: scanned backward and forward along a dim."""
