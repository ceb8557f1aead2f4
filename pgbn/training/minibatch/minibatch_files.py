"""Checkpoints of a training on minibatches: the writer of each field, and its reader.

object    steps, kept (how many draws)
state     values/…, counts/… and exposures/… of the learner, sum/… and kept/0/… of what was
          collected, and the perplexities that were noted
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, is_integral
from pgbn.errors import DataError, StorageError
from pgbn.network.network import Network
from pgbn.storage.archive import Files, Group, register_unloadable
from pgbn.storage.folders import read_folder
from pgbn.storage.runner import Runner
from pgbn.training.averages import Means
from pgbn.training.growing import kept_nodes
from pgbn.training.kept_draws import is_kept
from pgbn.training.minibatch.learner import Learner
from pgbn.training.trained import LARGEST, check_shapes
from pgbn.training.training_files import under

KIND = "minibatch"
TABLES = ("values", "counts", "exposures")  # of a learner
Array = NDArray[np.float64]
Rows = list[tuple[float, float]]


def check_same(runner: Runner) -> None:
    """Reject a folder that holds anything but this training, or its result."""
    if runner.body is None or (other := runner.other_setting()) is None:
        return
    raise DataError(
        f"save={str(runner.path)!r}: there is another {runner.body['kind']}"
        + (f", with another {other}" if other else "")
        + "; name another folder, or give the same arguments and data"
    )


def restore(runner: Runner, learner: Learner, columns: int) -> Kept:
    """Put a learner where the last checkpoint was taken, of data with so many ``columns``."""

    def read(body: Mapping[str, Any], files: Files) -> Kept:
        place, settings = runner.resume(), runner.settings
        assert settings is not None
        steps = check_integer("damaged: steps", place["steps"], 1)
        if steps >= settings["steps"]:
            raise StorageError(f"damaged: {steps} of {settings['steps']} steps are done")
        return _read_kept(learner, columns, settings, steps, place["kept"], files("state"))

    found = read_folder(runner.path, read)
    learner.steps = found.steps
    for table, arrays in found.tables.items():
        getattr(learner, table).update(arrays)
    return found


def commit(runner: Runner, learner: Learner, means: Means, rows: Rows) -> None:
    """Write a checkpoint."""
    arrays: dict[str, Any] = {"rows": np.array(rows, np.float64).reshape(-1, 2)}
    for table in TABLES:
        arrays |= {f"{table}/{name}": a for name, a in getattr(learner, table).items()}
    arrays |= {f"sum/{name}": total for name, total in means.sums.items()}
    for number, draw in enumerate(means.draws):
        arrays |= {f"kept/{number}/{name}": value for name, value in draw.items()}
    runner.commit({"steps": learner.steps, "kept": len(means.draws)}, {"state": arrays})


class Kept(NamedTuple):
    """What a checkpoint holds."""

    steps: int
    tables: dict[str, dict[str, Array]]
    sums: dict[str, Array]
    draws: list[dict[str, Array]]
    rows: Rows


def _read_kept(
    learner: Learner,
    columns: int,
    settings: Mapping[str, Any],
    steps: int,
    kept: Any,
    arrays: Group,
) -> Kept:
    """The arrays of a checkpoint, of which nothing is believed: names, shapes and values are those
    that a learner has after so many steps."""
    network, roles = learner.network, learner.roles
    sizes = {network[network.observed[0]].axes[1]: columns}
    tables = {table: under(f"{table}/", arrays) for table in TABLES}
    received, collected = (*roles.proportions, *roles.received), kept_nodes(network)
    _check_values("values", network, tables["values"], roles.shared, sizes)
    _check_values("counts", network, tables["counts"], received, sizes, possible=False)
    exposures = tables["exposures"]  # of proportions, which need none, a 0 without dims
    some = {name: a for name, a in exposures.items() if name in roles.received or np.ndim(a)}
    if set(exposures) != set(received):
        raise StorageError("damaged: the exposures are not those of a checkpoint")
    _check_values("exposures", network, some, roles.received, sizes, possible=False)
    number = steps - (settings["steps"] - settings["collect"])
    sums = under("sum/", arrays)
    means = {name: total / max(number, 1) for name, total in sums.items()}
    _check_values("sums", network, means, collected if number > 0 else (), sizes)
    noted = sum(is_kept(n, settings["collect"], settings["keep_draws"])
                for n in range(1, number + 1))  # fmt: skip
    if not is_integral(kept) or kept != noted:
        raise StorageError(f"damaged: {kept!r:.40} draws after {steps} steps, not {noted}")
    draws = [under(f"kept/{s}/", arrays) for s in range(noted)]
    for draw in draws:
        _check_values("draws", network, draw, collected, sizes)
    table = arrays["rows"]
    if table.ndim != 2 or table.shape[1] != 2 or not np.isfinite(table).all():
        raise StorageError("damaged: the perplexities are not pairs of numbers")
    return Kept(steps, tables, sums, draws, [(float(a), float(b)) for a, b in table])


def _check_values(
    what: str,
    network: Network,
    arrays: Mapping[str, Array],
    names: Sequence[str],
    sizes: Mapping[str, int],
    possible: bool = True,
) -> None:
    """Floats of these nodes and no others, with their dims; their values are ``possible`` ones, or
    at least those of counts."""
    if set(arrays) != set(names):
        raise StorageError(f"damaged: {what} of {sorted(arrays)}, not of {sorted(names)}")
    check_shapes(f"damaged: {what}", network, arrays, sizes)
    for name, array in arrays.items():
        node: Any = network[name]
        complaint = node.refuses(array) if possible else None
        if array.dtype != np.float64 or not ((array >= 0) & (array <= LARGEST)).all() or complaint:
            why = complaint or f"has values that are none, or above {LARGEST:g}"
            raise StorageError(f"damaged: {what}: {name} {why}")


register_unloadable(
    KIND,
    lambda path: (
        "a training on minibatches that has not ended; call pgbn.train_minibatch again with the "
        f"same arguments and save={str(path)!r}: it goes on"
    ),
)
