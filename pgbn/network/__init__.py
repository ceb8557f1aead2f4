"""What a network means: the checked graph, who hears what, the steps of a sweep and their order."""

from pgbn.network import serialise as serialise
from pgbn.network.network import Network
from pgbn.network.schedule import Schedule
from pgbn.network.steps import Step

__all__ = ["Network", "Schedule", "Step"]
