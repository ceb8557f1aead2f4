"""How a network runs: its schedule compiled to functions on arrays, and chains of sweeps."""

from pgbn.engine import plan as plan  # it registers itself
from pgbn.engine.compile import density as density
from pgbn.engine.compile import quadratic as quadratic
from pgbn.engine.data import reading as reading
from pgbn.engine.first_layer.choice import register_sampler
from pgbn.engine.plan import register_kernel
from pgbn.engine.run import chain_files as chain_files
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.progress import Event
from pgbn.engine.steps import gamma_layers as gamma_layers
from pgbn.engine.steps import sequential as sequential
from pgbn.engine.steps import shared_rows as shared_rows
from pgbn.engine.steps import time as time

__all__ = ["Chain", "Draws", "Event", "register_kernel", "register_sampler"]
