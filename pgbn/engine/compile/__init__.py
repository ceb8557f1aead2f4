"""A schedule compiled, for given sizes, to functions on arrays."""
