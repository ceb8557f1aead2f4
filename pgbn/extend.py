"""Everything that an extension of pgbn imports: node types, rules, links, kernels, executors.

    from pgbn import extend

    class Waiting(extend.Observed):
        tag: ClassVar[str] = "my_package.waiting"
        rate: extend.Slot

An extension is a file of its own, and needs no other module of pgbn. `docs/new-node.md` explains
every part, and `examples/skeletons` has a file to copy for each kind of extension:

| to add | begin with |
|---|---|
| a node type | `Latent` or `Observed`, `Slot`, `evidence_rule`, `draw_rule`, `vectorised` |
| another way to draw a node | `kernel_rule` |
| data with counts behind them | `link_rule` or `counts_are_data` |
| a link of the models of the zoo | `Link`, `register_link` |
| an operation for expressions | `Edge`, `share_out` |
| a fused kernel | `register_kernel` with `Draw` or `SlotCounts`, `njit`, `restart` |
| a sampler of the first layer | `FirstLayer`, `register_sampler` |
| a place where rows are computed | `Executor`; `WorkerPool` for a cluster |
| a type that `pgbn.save` takes | `register_codec`, `Parts` |
"""

from typing import TYPE_CHECKING, Any

from pgbn.engine import register_kernel, register_sampler
from pgbn.engine.first_layer import FirstLayer
from pgbn.engine.first_layer.samplers import read_state
from pgbn.engine.plan import Draw, SlotCounts
from pgbn.errors import missing_name
from pgbn.nodes import (
    Edge,
    Index,
    Latent,
    Mix,
    Node,
    Observed,
    Product,
    Self,
    Slot,
    Sum,
    log_pmf,
)
from pgbn.nodes.base import Array, check_positive, check_probability
from pgbn.nodes.expression import Expression
from pgbn.nodes.poisson import check_counts
from pgbn.nodes.rules import (
    Evidence,
    counts_are_data,
    draw_rule,
    evidence_rule,
    kernel_rule,
    link_rule,
)
from pgbn.samplers import Executor, Stream, share_out, vectorised
from pgbn.samplers.compiled import njit
from pgbn.samplers.random import restart
from pgbn.samplers.worker_pool import WorkerPool
from pgbn.storage.archive import Parts, register_codec
from pgbn.zoo.links import Link, register_link

__all__ = [
    "Array",
    "Draw",
    "Edge",
    "Evidence",
    "Executor",
    "Expression",
    "FirstLayer",
    "Index",
    "Latent",
    "Link",
    "Mix",
    "Node",
    "Observed",
    "Parts",
    "Product",
    "Self",
    "Slot",
    "SlotCounts",
    "Stream",
    "Sum",
    "WorkerPool",
    "check_counts",
    "check_positive",
    "check_probability",
    "counts_are_data",
    "draw_rule",
    "evidence_rule",
    "kernel_rule",
    "link_rule",
    "log_pmf",
    "njit",
    "read_state",
    "register_codec",
    "register_kernel",
    "register_link",
    "register_sampler",
    "restart",
    "share_out",
    "vectorised",
]


if not TYPE_CHECKING:  # it would hide unknown names from type checkers

    def __getattr__(name: str) -> Any:
        """No such name: an error with a similar one."""
        raise missing_name("pgbn.extend", name, __all__)
