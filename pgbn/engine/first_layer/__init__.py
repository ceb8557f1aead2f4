"""The samplers of the first layer, which networks have one, and which sampler draws it."""

from pgbn.engine.first_layer.choice import register_sampler
from pgbn.engine.first_layer.samplers import Blocked, Collapsed, FirstLayer, Partial, read_state

# In the order in which "auto" prefers them: a sampler that integrates more out mixes better.
for _kind in (Collapsed, Partial, Blocked):
    register_sampler(_kind)

__all__ = ["Blocked", "Collapsed", "FirstLayer", "Partial", "read_state", "register_sampler"]
