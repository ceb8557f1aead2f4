"""An operation of your own for expressions: copy this file, rename, and say what it stands for.

The example is a moving sum: what happens on a day is felt on the days after it, with known weights.
Its nodes are drawn as those of any other expression, since `expand` rewrites it to operations that
pgbn can evaluate, share out and expose. See docs/new-node.md, "An operation of your own".
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.sparse import diags

import pgbn


class Moving(pgbn.Edge):
    """y_t = Σ_s w_s of_{t−s}: a sum over the present and the rows before it along a dim."""

    tag: ClassVar[str] = "example.moving"  # the "edge" in JSON: unique, with your prefix
    positional: ClassVar[tuple[str, ...]] = ("of",)  # what may be given without a keyword

    of: pgbn.Slot  # an expression; a field that is not a Slot is plain, and saved as JSON
    along: str
    size: int  # of the dim: an edge is expanded before data tell it
    weights: tuple[float, ...]

    def expand(self) -> pgbn.Mix:
        # A known linear operation is a constant. Sparse, it costs as much as it has entries.
        shifts = range(len(self.weights))
        band = diags(list(self.weights), [-s for s in shifts], shape=(self.size, self.size))
        before = f"{self.along}_before"  # the dim that is summed over needs a name of its own
        known = pgbn.Constant(band, dims=(self.along, before))
        return known @ self.of.rename(**{self.along: before})


def network(days: int = 5) -> pgbn.Network:
    """Counts of days, each caused by events of up to three days."""
    event = pgbn.Gamma("event", 1.5, pgbn.Gamma("c", 4, 3), dims=("day", "place"))
    felt = Moving(event, along="day", size=days, weights=(0.5, 0.3, 0.2))
    x = pgbn.Poisson("x", pgbn.Gamma("scale", 4, 2, dims="place") * felt, dims=("day", "place"))
    return pgbn.Network(x, sizes={"place": 2})


def is_right(net: pgbn.Network) -> bool:
    """Whether the value of the edge is the moving sum: a sampler can be right for a wrong edge."""
    felt = Moving(net["event"], along="day", size=5, weights=(0.5, 0.3, 0.2))
    data = {"x": np.ones((5, 2), int)}
    draws = net.sample(data, burn_in=1, draws=2, keep={"event": net["event"], "felt": felt},
                       progress=False)  # fmt: skip
    event, found = draws["event"][0, 0], draws["felt"][0, 0]
    wanted = [np.convolve(column, (0.5, 0.3, 0.2))[:5] for column in event.T]
    return bool(np.allclose(found.T, wanted))


if __name__ == "__main__":
    from pgbn.testing import check_conjugacy, geweke

    net = network()
    assert pgbn.Network.from_json(net.to_json()).to_json() == net.to_json()
    print(net, net.schedule, sep="\n\n", end="\n\n")
    algebra = check_conjugacy(net, sizes={"day": 5})
    result = geweke(net, sizes={"day": 5}, replicates=20_000, sweeps=8)
    print(algebra, result, sep="\n\n")
    if not is_right(net) or algebra.failures or result.worst > 4:
        raise SystemExit("the edge is wrong: see docs/new-node.md")
