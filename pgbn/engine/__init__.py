"""How a network runs: its schedule compiled to functions on arrays, and chains of sweeps."""

from pgbn.engine.data import documents as documents
from pgbn.engine.run import codec as codec
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.progress import Event

__all__ = ["Chain", "Draws", "Event"]
