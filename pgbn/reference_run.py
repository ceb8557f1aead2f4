"""Chains of the reference sampler: ``net.sample(data, engine="reference")``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program, check_possible
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import (
    bind_indexes,
    check_coords,
    check_fits,
    complete_sizes,
    read_coords,
    read_data,
)
from pgbn.engine.run.chain import check_imputed
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.generate import Given, with_some_given
from pgbn.engine.run.sampling import Keep, RunPlan, read_keep
from pgbn.errors import DataError
from pgbn.nodes.base import Latent
from pgbn.reference import Reference
from pgbn.samplers.plain import PlainVariates

if TYPE_CHECKING:
    from pgbn.network.network import Network


def check_engine(engine: Any, **options: Any) -> None:
    """Reject another engine than the reference, and ``options`` that it has not."""
    if engine != "reference":
        raise DataError(f"engine={engine!r:.60}: must be 'fast' or 'reference'")
    for name, value in options.items():
        if value is not None:
            raise DataError(
                f"{name}={value!r:.60}: engine='reference' runs small data in memory, one chain "
                f"after another, and has no {name}=; leave it out, or take engine='fast'"
            )


def sample_reference(
    network: Network, data: Mapping[str, Any], burn_in: int, draws: int, thin: int, chains: int,
    seed: int, keep: Any, given: Any, coords: Any,
) -> Draws:  # fmt: skip
    """Run chains one after another, and keep their draws; see `pgbn.Network.sample`."""
    network, data = bind_indexes(network, data)
    network, values = with_some_given(network, given, data)
    kept = read_keep(network, keep)
    check_coords(network, coords, network.sizes)
    plan = RunPlan(burn_in, draws, thin, chains, seed, kept.names, 1, kept.json())
    cells, fixed = read_data(network, data), Given(network, values)
    shapes = {name: each.shape for name, each in cells.items()}
    sizes = complete_sizes(network, {}, shapes | fixed.shapes)
    check_fits(network, sizes, data=True)
    program = Program(network, cells, sizes)
    fixed.put(program, 0)
    check_possible(program)
    for name in kept.data:
        check_imputed(program, name, "keep")
    values = {name: np.empty((plan.chains, plan.draws, *kept.shape(name, sizes)))
              for name in kept.names}  # fmt: skip
    for number in range(plan.chains):
        chain = begin(network, cells, sizes, fixed, plan.seed, number)
        _run(chain, fixed, plan, kept, {name: array[number] for name, array in values.items()})
    labels = read_coords(network, data, coords, sizes)
    return Draws(values, **plan.about(network, "reference"), network=network, data=dict(cells),
                 coords=labels, given=dict(fixed.stacks))  # fmt: skip


def _run(
    chain: Reference, given: Given, plan: RunPlan, keep: Keep, out: dict[str, NDArray[np.float64]]
) -> None:
    """All sweeps of a chain; the draws that are kept are the rows of ``out``."""
    read = _reader(keep, chain)
    for sweep in range(1, plan.sweeps + 1):
        _take(chain, given, sweep)
        chain.sweep()
        after = sweep - plan.burn_in
        if after > 0 and after % plan.thin == 0:
            for name, value in read().items():
                out[name][after // plan.thin - 1] = value


def begin(
    network: Network, cells: Mapping[str, Cells], sizes: Mapping[str, int], given: Given,
    seed: int, number: int,
) -> Reference:  # fmt: skip
    """A chain at draws from the prior, as far as nothing is given."""
    arrays = {name: each.dense().astype(np.float64) for name, each in cells.items()}
    missing = {name: each.dense(each.missing).astype(bool) for name, each in cells.items()
               if each.missing is not None}  # fmt: skip
    variates = PlainVariates(np.random.default_rng([seed, number]))
    chain = Reference(network, arrays, sizes, variates, missing)
    _take(chain, given, 1)
    for name in network.free:
        node = network.nodes[name]
        assert isinstance(node, Latent)
        for part in chain.parts(node):
            chain.generate(node, part)
        chain.values[name] = node.begin(chain.values[name])
    return chain


def _take(chain: Reference, given: Given, sweep: int) -> None:
    """The values of given nodes in a sweep, where they change from one to the next."""
    for name, value in given.values(given.number(sweep)).items():
        chain.values[name] = np.array(value, np.float64)[None]


def _reader(keep: Keep, chain: Reference) -> Callable[[], dict[str, NDArray[np.float64]]]:
    """The function that gives what is kept of a chain as it stands."""

    def expression(name: str) -> Any:
        part = keep.expressions[name]
        return sum(chain.sum(part.axes, (np.asarray(term.coefficient), ()),
                             *(chain.read(factor) for factor in term.factors),
                             over=term.contracted) for term in part.terms)  # fmt: skip

    def read() -> dict[str, NDArray[np.float64]]:
        found = {name: chain.behind[name] for name in keep.data}
        found |= {name: chain.values[name] for name in keep.latent}
        found |= {name: expression(name) for name in keep.expressions}
        return {name: found[name][0] for name in keep.names}

    return read
