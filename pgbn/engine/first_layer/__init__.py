"""The samplers of the first layer: one posterior, with more or less of it integrated out."""
