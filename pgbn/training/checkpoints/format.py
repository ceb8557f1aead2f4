"""What a checkpoint holds: the writer of each field beside its reader.

content   arguments, context, machine, chain, networks, names, PLACE, trace
state     the arrays of the chain, mean/ with the name of a node while means are summed up, and
          kept/0/ with the name of a node, … the draws that are kept
data      the documents; model: the networks that are trained already; columns: what is kept of
          the documents for the report, if anything is
"""

from __future__ import annotations

import platform
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from pydantic import NonNegativeInt

from pgbn.checks import is_finite_number
from pgbn.engine.data.nonzero import Cells
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.chain_files import chain_content, chain_data, chain_state, decode_chain
from pgbn.errors import StorageError
from pgbn.network.layers import layers_above
from pgbn.samplers.executor import Executor
from pgbn.samplers.from_numba import binding, numba
from pgbn.storage.archive import Files, Group, check_form, register_unloadable
from pgbn.storage.arrays import InParts
from pgbn.storage.folders import Kept, check_content
from pgbn.training.averages import Means, Trace
from pgbn.training.growing import Progress
from pgbn.training.training_files import decode_networks, encode_networks
from pgbn.training.value_checks import check_shapes
from pgbn.versions import __version__

# ---- machine ------------------------------------------------------------------------------------
#
# Where a checkpoint was written, and whether the chain goes on there with the same bits.
#
# The kernels draw the same bits on every processor and with every library (see
# `pgbn.samplers.elementary`).
# What else a chain depends on: the version of pgbn, whose laws may be computed otherwise; and sums
# by numpy's einsum in networks without a kernel of their own, which another kind of machine may
# round otherwise.


_DECISIVE = ("pgbn", "machine")


@cache
def this_machine() -> Mapping[str, str]:
    """Versions, kind of machine, processor and C library, as a checkpoint records them.

    They are those that run: files that tell them may be replaced, or gone, before training ends.
    """
    return {
        "pgbn": __version__,
        "machine": platform.machine(),
        "processor": binding.get_host_cpu_name(),
        "libc": " ".join(platform.libc_ver()),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def another_machine(recorded: Any) -> str:
    """How this machine differs from the recorded one in what may change bits, in words; empty if
    it does not, or if nothing was recorded."""
    if not isinstance(recorded, Mapping):
        return ""
    here = this_machine()
    return ", ".join(
        f"{name} was {recorded[name]!r:.40} and is {here[name]!r}"
        for name in _DECISIVE
        if recorded.get(name, here[name]) != here[name]
    )


# ---- format -------------------------------------------------------------------------------------


KIND = "checkpoint"
STATE, DATA, MODEL, COLUMNS = "state", "data", "model", "columns"  # groups of arrays, a file each
MEAN, KEPT = "mean/", "kept/"  # before the names of sums, and of draws
PLACE = ("depth", "phase", "sweep", "sweeps", "done", "total")  # where the training stands
_FORM: dict[str, Any] = {
    "arguments": dict[str, Any], "context": dict[str, Any], "networks": list[dict[str, Any]],
    "trace": dict[str, Any], **dict.fromkeys(PLACE, NonNegativeInt), "phase": str,
}  # fmt: skip
_OF_TRACE: dict[str, Any] = {"every": NonNegativeInt, "sweep": NonNegativeInt,
                             "rows": Sequence[Sequence[float]]}  # fmt: skip


@dataclass(frozen=True)
class Checkpoint:
    """A training that was stopped: its data, its arguments, and where it stands."""

    data: Any
    arguments: dict[str, Any]
    progress: Progress
    context: dict[str, Any]
    machine: Any = None  # see `this_machine`; None in older checkpoints
    columns: Kept = field(default_factory=dict)


def encode_checkpoint(
    progress: Progress,
    arguments: Mapping[str, Any],
    context: Mapping[str, Any],
    kept: Container[str] = (),
) -> tuple[dict[str, Any], dict[str, Group | InParts]]:
    """The content and the arrays of a checkpoint, but for the groups whose files are ``kept``."""
    networks, model = encode_networks(progress.networks)
    content = {
        "arguments": dict(arguments),
        "context": dict(context),
        "machine": dict(this_machine()),
        "chain": chain_content(progress.chain),
        "networks": networks,
        "names": getattr(progress.networks[-1], "vocabulary", None) if progress.networks else None,
        **{name: getattr(progress, name) for name in PLACE},
        "trace": asdict(progress.trace),
    }
    arrays: dict[str, Group | InParts] = {
        STATE: _with(chain_state(progress.chain), _encode_means(progress.means))
    }
    if DATA not in kept:
        arrays[DATA] = chain_data(progress.chain)
    if MODEL not in kept:
        arrays[MODEL] = model
    return content, arrays


def decode_checkpoint(
    content: Mapping[str, Any],
    files: Files,
    threads: int | None = None,
    executor: Executor | None = None,
) -> Checkpoint:
    """The checkpoint again; its chain runs on ``threads``, or by an ``executor``."""
    check_form(content, _FORM, {"names": list[str] | None})
    check_form(content["trace"], _OF_TRACE, {"before_merging": NonNegativeInt})
    state = files(STATE)
    means = {name: state.pop(name) for name in list(state) if name.startswith((MEAN, KEPT))}
    chain = decode_chain(
        content["chain"],
        lambda group: state if group == STATE else files(group),
        threads=threads,
        executor=executor,
    )
    trace, context = content["trace"], content["context"]
    _check_place(content["phase"], trace, context)
    progress = Progress(
        chain=chain,
        **{name: content[name] for name in PLACE},
        seconds=0.0,
        sweep_seconds=0.0,
        networks=decode_networks(content["networks"], files(MODEL), content.get("names")),
        trace=Trace(
            trace["every"],
            trace["sweep"],
            [tuple(row) for row in trace["rows"]],
            trace.get("before_merging", 0),
        ),
        means=_decode_means(means, chain),
    )
    data = {name: _matrix(cells) for name, cells in chain.program.cells.items()}
    return Checkpoint(
        data[chain.network.observed[0]] if len(data) == 1 else data,
        dict(content["arguments"]),
        progress,
        dict(content["context"]),
        content.get("machine"),
    )


def _check_place(phase: Any, trace: Any, context: Any) -> None:
    """What a resumed training would meet only after its sweeps, refused before them."""
    rows = np.asarray(trace["rows"], float).reshape(-1, 3)
    if phase not in ("burn_in", "collect") or rows.ndim != 2:
        raise StorageError(f"damaged: the phase {phase!r:.40} is not 'burn_in' or 'collect'")
    names = {name: context.get(name) for name in ("vocabulary", "labels")}
    check_content({**names, "record": context.get("record", {}), "object": {}})
    if not is_finite_number(context.get("seconds", 0.0)):
        raise StorageError("damaged: the seconds of the training are not a number")


def _with(state: Group | InParts, means: Group) -> Group | InParts:
    if not isinstance(state, InParts):
        return {**state, **means}
    whole = state.whole
    return replace(state, here={**state.here, **means}, whole=lambda: {**whole(), **means})


def checkpoint_facts(content: Mapping[str, Any]) -> dict[str, Any]:
    """Where a training stands, from the content alone: no array is read."""
    return {name: content[name] for name in (*PLACE, "arguments")}


def _encode_means(means: Means) -> Group:
    sums = {f"{MEAN}{name}": np.asarray(total) for name, total in means.sums.items()}
    kept = {f"{KEPT}{s}/{n}": value for s, draw in enumerate(means.draws)
            for n, value in draw.items()}  # fmt: skip
    return {**sums, **kept}


def _decode_means(arrays: Group, chain: Chain) -> Means:
    """The sums by the names of nodes. Older versions wrote the number of the layer for loadings."""
    network = chain.network
    layers = layers_above(network, network.observed[0])
    numbered = {str(t): layer.loadings for t, layer in enumerate(layers)}
    means = Means()
    for path, array in arrays.items():
        kind, *number, name = path.split("/")
        if f"{kind}/" == MEAN:
            means.sums[numbered.get(name, name)] = array
            continue
        place = int(number[0])
        if not 0 <= place < len(arrays):  # each of the draws before it has arrays, too
            raise StorageError(f"damaged: {path!r:.60} is no draw of {len(arrays)}")
        means.draws += [{} for _ in range(place + 1 - len(means.draws))]
        means.draws[place][name] = array
    absent = [layer.loadings for layer in layers if layer.loadings not in means.sums]
    if means.sums and absent:
        raise StorageError(f"damaged: the means of the training lack {absent[0]}")
    for each in (means.sums, *means.draws):
        check_shapes("damaged: means or draws", network, each, chain.program.sizes)
    if any(each.keys() != means.draws[0].keys() for each in means.draws):
        raise StorageError("damaged: draws of the training that are not of the same nodes")
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise StorageError("damaged: means or draws of the training that are no finite numbers")
    return means


def _matrix(cells: Cells) -> Any:
    """The data as they were given: sparse, or masked where cells are missing."""
    if cells.missing is not None:
        unknown = cells.dense(cells.missing)[0]
        return np.ma.masked_array(cells.dense()[0], mask=unknown)
    if len(cells.shape) != 2:
        return cells.dense()[0]
    return sp.csr_array((cells.values, cells.indices, cells.indptr), shape=cells.shape)


register_unloadable(
    KIND,
    lambda path: (
        "a training that has not come to its end; go on with "
        f"pgbn.resume({str(path)!r}) or the command pgbn resume {path}"
    ),
)
