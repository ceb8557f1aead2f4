"""Completion: proportions whose exposure is not the same for all entries.

What φ hears is λ^n e^{−Σ_v q_v φ_v}. With pseudo-counts y_v ~ Pois((q̄ − q_v) φ_v), q̄ = max_v q_v,

    p(φ, y) ∝ ∏_v φ_v^{η_v − 1 + n_v + y_v} · e^{−q̄ Σ_v φ_v},

in which Σ_v φ_v = 1: given y the draw is that of a constant exposure, Dir(η + n + y). The
pseudo-counts are drawn given the present φ and forgotten at once, one for every entry of φ,
whatever the exposure is made of: masks, size factors of terms, gates. What is latent in it is drawn
elsewhere, and never sees them.
"""

from __future__ import annotations

from inspect import signature

import numpy as np

from pgbn.engine.compile.posterior import check_posterior
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw, Run, maker
from pgbn.nodes.base import draw_node
from pgbn.samplers import vectorised
from pgbn.samplers.random import stream_key

__all__ = ["completed_draw"]


@maker("completion", Draw)
def completed_draw(program: Program, task: Draw) -> Run | None:
    """The draw of a node that needs completion; None for others."""
    node, name = task.node, task.node.name
    if name not in program.wiring.completed:
        return None
    posterior = program.wiring.draws[name].posterior
    needed = [each for each in signature(posterior).parameters if each != "count"]
    arguments = {each: program.quantity(node, each).get for each in needed}
    slots = {slot: program.slot(name, slot).get for slot in node.slots()}
    count, exposure = program.heard_count(name), program.exposure(name)
    heard, shape, values = program.heard_from(name), program.shape[name], program.values

    def run(key: int) -> None:
        stream = program.stream(name, key)
        q = np.broadcast_to(np.asarray(exposure.get(), np.float64), stream.shape)
        lacking = q.max(axis=stream.simplex, keepdims=True) - q
        pseudo = program.stream(name, stream_key(key, 1))
        y = vectorised.poisson(pseudo, lacking * values[name].reshape(stream.shape))
        updated = posterior(count=count.get() + y, **{n: get() for n, get in arguments.items()})
        check_posterior(node, updated, heard)
        kept = {slot: get() for slot, get in slots.items() if slot not in updated}
        values[name] = draw_node(node, stream, shape, {**updated, **kept})

    return run
