"""Nodes whose entries are drawn one after another, each given the others."""
