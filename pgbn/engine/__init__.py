"""How a network runs: its schedule compiled to functions on arrays, and chains of sweeps."""

from pgbn.engine.compile import completion as completion  # what registers itself
from pgbn.engine.compile import composed as composed
from pgbn.engine.compile import kernels as kernels
from pgbn.engine.compile import linear as linear
from pgbn.engine.data import documents as documents
from pgbn.engine.first_layer.registry import register_sampler
from pgbn.engine.fused import gamma_layers as gamma_layers
from pgbn.engine.fused import hidden_counts as hidden_counts
from pgbn.engine.fused import shared_rows as shared_rows
from pgbn.engine.in_turn import by_rules as by_rules
from pgbn.engine.plan import register_kernel
from pgbn.engine.run import blocks as blocks
from pgbn.engine.run import codec as codec
from pgbn.engine.run import run_store as run_store
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.progress import Event
from pgbn.engine.run.timing import time_samplers
from pgbn.engine.time import scan as scan
from pgbn.engine.time import states as states

__all__ = ["Chain", "Draws", "Event", "register_kernel", "register_sampler", "time_samplers"]
