"""The samplers of the first layer, which networks have one, and which sampler draws it."""

from pgbn.engine.first_layer import choice as choice  # registers its steps
from pgbn.engine.first_layer.samplers import (
    Blocked,
    Collapsed,
    FirstLayer,
    Partial,
    read_state,
    register_sampler,
)

__all__ = ["Blocked", "Collapsed", "FirstLayer", "Partial", "read_state", "register_sampler"]
