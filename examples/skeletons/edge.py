"""An operation of your own for expressions: copy this file, rename, and keep one of the two ways.

The example is a moving sum: what happens on a day is felt on the days after it, with weights.

- `Moving` says by `expand` what it stands for, in operations that pgbn can evaluate, share out and
  expose. Begin with this: it is all that there is to write.
- `Echo` does the three itself, with weights that are learnt: for operations that pgbn lacks, or for
  which you know a faster way. `pgbn.testing.check_edge` compares them with its coefficients.

See docs/new-operation.md.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import diags

import pgbn
from pgbn import extend
from pgbn.extend import share_out


class Moving(extend.Edge):
    """y_t = Σ_s w_s of_{t−s}: a sum over the present and the rows before it along a dim."""

    tag: ClassVar[str] = "example.moving"  # the "edge" in JSON: unique, with your prefix

    of: extend.Slot  # an expression; a field that is not a Slot is plain, and saved as JSON
    along: str
    size: int  # of the dim: an edge is expanded before data tell it
    weights: tuple[float, ...]

    def expand(self) -> pgbn.extend.Mix:
        # A known linear operation is a constant. Sparse, it costs as much as it has entries.
        shifts = range(len(self.weights))
        band = diags(list(self.weights), [-s for s in shifts], shape=(self.size, self.size))
        before = f"{self.along}_before"  # the dim that is summed over needs a name of its own
        known = pgbn.Constant(band, dims=(self.along, before))
        return known @ self.of.rename(**{self.along: before})


class Echo(extend.Edge):
    """y_tp = Σ_s w_s of_{t−s,p}: linear in w and in of, with coefficients that are never negative.

    Arrays have the replicates first, then the dims of an operand in its order: w (R, lag) and
    of (R, day, place) here; R may be 1.
    """

    tag: ClassVar[str] = "example.echo"
    positive: ClassVar[bool] = True  # positive wherever its operands are: it may be a shape

    weights: extend.Slot
    of: extend.Slot

    def dims_of(self, weights: tuple[str, ...], of: tuple[str, ...]) -> tuple[str, ...]:
        return of  # without it: the dims of all operands

    def independent_dims(self, weights: tuple[str, ...], of: tuple[str, ...]) -> tuple[str, ...]:
        return of[1:]  # places do not feel each other, days do; without it: net.infer has no rows

    def _summands(self, weights: Any, of: Any) -> list[Any]:
        """w_s of_{t−s,p}, an array for each lag s."""
        found = [weights[:, :1, None] * of]
        for s in range(1, weights.shape[1]):
            late = np.zeros_like(of)
            late[:, s:] = of[:, :-s]
            found.append(weights[:, s, None, None] * late)
        return found

    def evaluate(self, weights: Any, of: Any) -> Any:
        return sum(self._summands(weights, of))

    def split(self, stream: Any, count: Any, weights: Any, of: Any) -> dict[str, Any]:
        # A count of day t that belongs to lag s is one of w_s, and one of the day t − s.
        shares = share_out(stream, count, self._summands(weights, of))
        earlier = np.zeros((len(count), *of.shape[1:]), np.int64)
        for s, share in enumerate(shares):
            earlier[:, : of.shape[1] - s] += share[:, s:]
        return {"weights": np.stack([n.sum(axis=(1, 2)) for n in shares], 1), "of": earlier}

    def expose(self, slot: str, exposure: Any, shape: tuple[int, ...], **others: Any) -> Any:
        received = np.zeros(shape)
        if slot == "of":  # Σ_s w_s q_{t+s,p}
            for s, weight in enumerate(others["weights"].T):
                received[:, : shape[1] - s] += weight[:, None, None] * exposure[:, s:]
        else:  # Σ_tp of_{t−s,p} q_tp
            for s in range(shape[1]):
                early = others["of"][:, : exposure.shape[1] - s]
                received[:, s] = (early * exposure[:, s:]).sum(axis=(1, 2))
        return received


def network(days: int = 5) -> pgbn.Network:
    """Counts of days, each caused by events of up to three days."""
    event = pgbn.Gamma("event", 1.5, pgbn.Gamma("c", 4, 3), dims=("day", "place"))
    felt = Moving(event, along="day", size=days, weights=(0.5, 0.3, 0.2))
    x = pgbn.Poisson("x", pgbn.Gamma("scale", 4, 2, dims="place") * felt, dims=("day", "place"))
    return pgbn.Network(x, sizes={"place": 2})


def echo_network() -> pgbn.Network:
    """The same with weights that are learnt, and an echo of an echo."""
    event = pgbn.Gamma("event", pgbn.Gamma("a", 3, 2, dims="place"), 1.5, dims=("day", "place"))
    first = Echo(pgbn.Gamma("w1", 3, 3, dims="lag"), event)
    felt = pgbn.Gamma("felt", first, pgbn.Gamma("c", 4, 3), dims=("day", "place"))
    second = Echo(pgbn.Gamma("w2", 3, 3, dims="lag"), felt)
    x = pgbn.Poisson("x", second + pgbn.Gamma("noise", 2, 4), dims=("day", "place"))
    return pgbn.Network(x, sizes={"lag": 2, "place": 2})


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
    from pgbn.testing import check_conjugacy, check_edge, geweke

    for net in (network(), echo_network()):
        assert pgbn.Network.from_json(net.to_json()).to_json() == net.to_json()
        print(net, net.schedule, sep="\n\n", end="\n\n")
        algebra = check_conjugacy(net, sizes={"day": 5})
        result = geweke(net, sizes={"day": 5}, replicates=8_000, sweeps=8)
        print(algebra, result, sep="\n\n")
        if algebra.failures or result.worst > 4:
            raise SystemExit("the edge is wrong: see docs/new-operation.md")
    echo = Echo(net["w1"], net["event"])
    own = check_edge(echo, {"lag": 2, "day": 4, "place": 2})
    print(own)
    if own.failures or not is_right(network()):
        raise SystemExit("the edge is wrong: see docs/new-operation.md")
