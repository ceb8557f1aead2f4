"""Node types of a user: what they must define, how they run, what is written of them, pickles."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

import pgbn as pg
from pgbn import Network, NetworkError
from pgbn.nodes import base
from pgbn.testing import check_conjugacy
from tests.helpers.own_types import Chosen, Computed, NeverZero, Weighed


class Tuned(pg.Gamma):
    """A gamma with a field that is no slot."""

    tag: ClassVar[str] = "test_own_types.tuned"
    options: dict[str, Any] = {}
    parts: list[str] = []


def test_fields_that_are_no_slots_are_read_back() -> None:
    options = {"node": "x", "edge": [1, {"a": None}]}
    net = Network(pg.Poisson("x", Tuned("g", 1, 1, options=options, parts=["a"])))
    again = Network.from_json(net.to_json())["g"]
    assert (again.options, again.parts) == (options, ["a"])  # type: ignore[attr-defined]


def test_a_type_without_a_tag_is_named_when_it_is_made() -> None:
    with pytest.warns(
        pg.PgbnWarning, match="the node type Untagged has no tag.*my_package"
    ) as told:

        class Untagged(pg.Gamma):
            pass

    assert told[0].filename == __file__


@pytest.mark.parametrize("value", [object(), pg.Gamma("h", 1, 1)])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    class Strange(pg.Gamma):
        tag: ClassVar[str] = "test_own_types.strange"
        thing: Any = None

    with pytest.raises(NetworkError, match="g: thing cannot be written as JSON"):
        Network(pg.Poisson("x", Strange("g", 1, 1, thing=value))).to_json()


def test_a_type_without_generate_is_refused_when_the_network_is_built() -> None:
    class Half(pg.Gamma):
        generate = base.Node.generate

    with pytest.raises(NetworkError, match=r"g: the node type Half does not define generate\(\)"):
        Network(pg.Poisson("x", Half("g", 1, 1)))


def test_only_densities_need_log_density() -> None:
    class Half(pg.Gamma):
        log_density = base.Node.log_density

    chain = Network(pg.Poisson("x", Half("g", 1, 1))).chain({"x": 3}).sweep()
    with pytest.raises(NetworkError, match=r"g: the node type Half does not define log_density"):
        chain.log_joint()


class Fixed(pg.Gamma):
    """A type whose generate gives a plain number."""

    def generate(self, stream: Any, **slots: Any) -> Any:
        return 2.5


def test_a_number_from_generate() -> None:
    net = Network(pg.Poisson("x", Fixed("g", 1, 1)))
    assert net.generate()["g"] == 2.5
    chain = net.chain({"x": 3})
    chain.sweep()
    assert chain.values["g"] == 2.5
    net = Network(pg.Poisson("x", Fixed("g", 1, 1, dims="k"), dims="k"), sizes={"k": 2})
    with pytest.raises(
        NetworkError, match=r"g: Fixed.generate\(\) returned an array of shape \(\)"
    ):
        net.generate()


def test_pickles_and_copies() -> None:
    net = pg.zoo.pgbn([3, 2]).with_sizes(term=4)
    again = pickle.loads(pickle.dumps(net))
    assert again.to_json() == net.to_json()
    assert np.array_equal(
        again.generate(sizes={"doc": 2})["x"], net.generate(sizes={"doc": 2})["x"]
    )
    untagged = Network(pg.Poisson("x", Fixed("g", 1, 1)))
    assert copy.copy(untagged) is copy.deepcopy(untagged) is untagged
    with pytest.raises(NetworkError, match="has no tag, so JSON"):
        pickle.dumps(untagged)


def test_a_type_that_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pg.save(Network(pg.Poisson("x", Tuned("g", 1, 1))), tmp_path / "net")
    monkeypatch.delitem(base._types, Tuned.tag)
    with pytest.raises(pg.StorageError) as caught:
        pg.load(tmp_path / "net")
    assert "import the module that defines it first" in str(caught.value)
    assert "damaged" not in str(caught.value)


# ---- observed types in a chain --------------------------------------------------------------


@pytest.mark.parametrize("by", ["row", "cell"])
def test_the_likelihood_of_a_vector_is_that_of_its_type(by: str) -> None:
    counts = np.array([[4, 0, 0], [1, 2, 1]])
    pi = pg.Dirichlet("pi", 1.0, over="term")
    network = pg.Network(Chosen("x", pi, over="term", dims="doc"))
    draws = network.sample({"x": counts}, 0, 3, chains=1, progress=False)
    expected = [[stats.multinomial(4, p).logpmf(row) for row in counts] for p in draws["pi"][0]]
    np.testing.assert_allclose(draws.log_likelihood("x", by=by)[0], expected)


def test_masked_cells_are_not_checked() -> None:
    data = np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    network = pg.Network(NeverZero("x", pg.Gamma("a", 1, 1, dims="doc"), dims=("doc", "term")))
    assert network.chain({"x": data}).sweep(2).values["a"].shape == (2,)
    with pytest.raises(pg.DataError, match="x: the data have zeros"):
        network.chain({"x": np.ma.masked_array([[1, 0], [3, 4]], mask=[[1, 0], [0, 0]])})


def test_a_slot_with_fewer_dims_than_its_evidence_is_rejected() -> None:
    speed = pg.Gamma("speed", 2, 2, dims="doc")
    with pytest.raises(pg.MissingRuleError, match=r"rule for rate reads value.*dims term; remove"):
        pg.Network(Weighed("y", speed, dims=("doc", "term")))


def test_a_computed_integer_needs_no_probability() -> None:
    a, b = pg.Gamma("a", 2, 2, dims="doc"), pg.Gamma("b", 3, 2)
    network = pg.Network(Computed("x", a + b, dims=("doc", "term")))
    result = check_conjugacy(network, {"doc": 3, "term": 2})
    assert result.worst < 1e-8, result
    assert set(result.errors) == {"a", "b"}
