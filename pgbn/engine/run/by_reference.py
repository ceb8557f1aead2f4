"""Chains of the reference sampler: ``net.sample(data, engine="reference")``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.engine.compile.sizes import check_fits, complete_sizes
from pgbn.engine.data.cells import Cells, read_data
from pgbn.engine.data.coords import read_coords
from pgbn.engine.data.imputed import check_imputed
from pgbn.engine.data.possible import check_possible
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.given import Given
from pgbn.engine.run.keep import Keep
from pgbn.engine.run.run_plan import RunPlan, about_draws
from pgbn.errors import DataError
from pgbn.nodes.base import Latent
from pgbn.reference import Reference
from pgbn.samplers.plain import PlainVariates

if TYPE_CHECKING:
    from pgbn.network.network import Network


def check_engine(engine: Any, **options: Any) -> bool:
    """Whether it is the reference sampler, which has none of these ``options``."""
    if engine not in ("fast", "reference"):
        raise DataError(f"engine={engine!r:.60}: must be 'fast' or 'reference'")
    for name, value in options.items() if engine == "reference" else ():
        if value not in (None, "auto") and (name, value) != ("parallel", 1):
            raise DataError(
                f"{name}={value!r:.60}: engine='reference' runs small data in memory, one chain "
                f"after another, and has no {name}=; leave it out, or take engine='fast'"
            )
    return bool(engine == "reference")


def sample_reference(
    network: Network, data: Mapping[str, Any], plan: RunPlan, held: Any, coords: Any
) -> Draws:
    """Run chains one after another, and keep their draws."""
    cells, given = read_data(network, data), Given(network, held)
    shapes = {name: each.shape for name, each in cells.items()}
    sizes = complete_sizes(network, {}, shapes | given.shapes)
    check_fits(network, sizes, data=True)
    program = Program(network, cells, sizes)
    given.put(program, 0)
    check_possible(program)
    keep = plan.kept(network)
    for name in keep.data:
        check_imputed(program, name, "keep")
    values = {name: np.empty((plan.chains, plan.draws, *keep.shape(name, sizes)))
              for name in plan.keep}  # fmt: skip
    for number in range(plan.chains):
        chain = begin(network, cells, sizes, given, plan.seed, number)
        read = _reader(keep, chain)
        for sweep in range(1, plan.sweeps + 1):
            _take(chain, given, sweep)
            chain.sweep()
            after = sweep - plan.burn_in
            if after > 0 and after % plan.thin == 0:
                for name, value in read().items():
                    values[name][number, after // plan.thin - 1] = value
    labels = read_coords(network, data, coords, sizes)
    about = about_draws(SimpleNamespace(network=network, layer1="reference"), plan, labels)  # type: ignore[arg-type]
    dims = {name: tuple(each) for name, each in about["dims"].items()}
    return Draws(values, dims, about["attributes"], network=network, data=dict(cells),
                 coords=labels, given=dict(given.stacks))  # fmt: skip


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
