"""Observed data: checked, kept as cells, imputed where unknown."""
