"""The samplers of the first layer: one posterior, with more or less of it integrated out.

The data are counts x ~ Pois(φ·θ) (or multinomial), with φ ~ Dir(η) and θ a gamma or Dirichlet
layer. The counts may be drawn

- "collapsed": with φ and θ integrated out, token by token;
- "partial":   given φ, with θ integrated out, token by token, documents independent;
- "blocked":   given φ and θ, cell by cell.
"""

from pgbn.engine.first_layer import choice as choice  # registers itself
from pgbn.engine.first_layer.base import FirstLayer
from pgbn.engine.first_layer.choice import register_sampler
from pgbn.engine.first_layer.collapsed import Collapsed
from pgbn.engine.first_layer.fixed_topics import Blocked, Partial

# In the order in which "auto" prefers them: a sampler that integrates more out mixes better.
for _kind in (Collapsed, Partial, Blocked):
    register_sampler(_kind)

__all__ = ["Blocked", "Collapsed", "FirstLayer", "Partial", "register_sampler"]
