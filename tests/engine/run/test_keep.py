"""What is kept of a chain, also in a file."""

from __future__ import annotations

import json

import numpy as np

import pgbn
from pgbn import zoo
from pgbn.engine.run.run_plan import Keep, read_keep
from tests.helpers.small_data import counts


def test_expressions_survive_a_file() -> None:
    net = zoo.pgbn([4, 3])
    theta, phi = net["theta2"], net["phi2"]
    weight = pgbn.Constant([1.0, 2.0, 0.5], dims="topic2")
    asked = {"theta2": theta, "shape": phi @ theta, "sum": weight @ theta}
    keep = read_keep(net, asked)
    again = Keep.from_json(net, keep.names, json.loads(json.dumps(keep.json())))
    chain = net.chain({"x": counts()}, seed=1, threads=1).sweep(2)
    value = chain.select(["phi2"])
    one, two = keep.reader(chain)(), again.reader(chain)()
    assert list(one) == list(two) == list(asked)
    for name in asked:
        np.testing.assert_array_equal(one[name], two[name])
        assert one[name].shape == again.shape(name, chain.program.sizes)
    np.testing.assert_allclose(one["shape"].T, one["theta2"] @ value["phi2"])
    np.testing.assert_allclose(one["sum"], one["theta2"] @ [1.0, 2.0, 0.5])
