"""What a network means: the checked graph, the evidence of each node, and the steps of a sweep."""

from pgbn.network import serialise as serialise
from pgbn.network.network import Network
from pgbn.network.schedule import Schedule
from pgbn.network.steps import Step

__all__ = ["Network", "Schedule", "Step"]
