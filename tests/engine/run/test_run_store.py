"""Draws in a folder."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.engine.run.run_store import block_group
from pgbn.storage.archive import read_manifest
from tests.helpers.saved import forge
from tests.helpers.saved_kinds import read_body, sign, write_group
from tests.helpers.small_data import counts


@pytest.fixture(scope="module")
def draws() -> pgbn.Draws:
    return zoo.pfa(3).sample({"x": counts()}, 1, 4, chains=2, seed=1)


def test_saved_and_loaded(draws: pgbn.Draws, tmp_path: Path) -> None:
    draws.save(tmp_path / "d")
    again = pgbn.load(tmp_path / "d")
    assert isinstance(again, pgbn.Draws)
    assert list(again) == list(draws)
    assert repr(again) == repr(draws)
    assert (again.dims, again.attributes) == (draws.dims, draws.attributes)
    for name in draws:
        np.testing.assert_array_equal(again[name], draws[name])
        np.testing.assert_array_equal(again.mean(name), draws.mean(name))
    with pytest.raises(pgbn.PgbnError, match="Did you mean 'phi1'"):
        again["phi"]
    with pytest.raises(KeyError):
        again.values["phi"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again))["r"], draws["r"])


def test_a_node_is_read_when_it_is_asked_for(
    draws: pgbn.Draws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also from another folder; a file that is damaged harms its own node only, and is named."""
    monkeypatch.chdir(tmp_path)
    draws.save("d")
    again = pgbn.load("d")
    group = read_manifest("d")["groups"][block_group("theta1", 1, 0)]
    with Path("d", group).open("r+b") as file:
        file.seek(200)
        file.write(b"xxxx")
    os.chdir("/")
    np.testing.assert_array_equal(again["r"], draws["r"])
    with pytest.raises(pgbn.StorageError, match=rf"{group}: damaged"):
        again["theta1"]
    (tmp_path / "d" / group).unlink()
    with pytest.raises(pgbn.StorageError, match=rf"{group}: this file of the model is missing"):
        again["theta1"]
    assert again.values["r"] is again.values["r"]


@pytest.mark.parametrize(("change", "words"), [
    (lambda c: c["shapes"].update(r=[2, 9, 3]), "unequal numbers of draws"),
    (lambda c: c["shapes"].update(r=[2, 0, 3]), "unequal numbers of draws"),
    (lambda c: c["shapes"].update(r=[2, 2**62, 3]), r"r have the shape \(2, 4611686018427387904"),
    (lambda c: c["shapes"].update(r=[2, 4, 7]), r"damaged: \d and \d topic1"),
    (lambda c: c["shapes"].update(r=[1, 4, 3]), "r have dims"),
    (lambda c: c["shapes"].update(r=[2, 4, -3]), "damaged"),
    (lambda c: c["layout"].update(r=[[0], [2]]), "draws"),
    (lambda c: c["layout"].update(r=[[0], []]), "r in chain 1 end at 0: damaged"),
    (lambda c: c["layout"].update(r=[[0], [-5]]), "draws"),
    (lambda c: c["dims"].update(r=["chain"]), "r have dims"),
    (lambda c: c["dims"].update(r=["doc", "draw", "topic1"]), "r have dims"),
    (lambda c: c["shapes"].pop("r"), "r"),
    (lambda c: c["attributes"].update(thin="a"), "damaged: thin is 'a'"),
    (lambda c: c.update(coords={"topic1": ["a", [1, 2], "c"]}), "'topic1' are damaged"),
    (lambda c: c["shapes"]["phi1"].__setitem__(-1, 10), "data of x are damaged: 50 and 10"),
    (lambda c: c["data shapes"].update(x=[[12], 8]), r"damaged: data shapes/x/0 is \[12\]"),
])  # fmt: skip
def test_senseless_manifests(draws: pgbn.Draws, tmp_path: Path, change: object, words: str) -> None:
    """They would fail later, or need more memory than there is."""
    draws.save(tmp_path)
    forge(tmp_path, lambda body: change(body["content"]["object"]))  # type: ignore[operator]
    with pytest.raises(pgbn.StorageError, match=words):
        pgbn.load(tmp_path)["r"]


@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN: damaged"), (-1.0, "has the value -1"),
                                              (np.inf, "has the value inf")])  # fmt: skip
def test_draws_that_no_chain_has(
    draws: pgbn.Draws, tmp_path: Path, value: float, words: str
) -> None:
    """They gave predictions and likelihoods that are NaN."""
    draws.save(tmp_path)
    body = read_body(tmp_path)
    group = block_group("theta1", 1, 0)
    rows = np.array(draws["theta1"][1])
    rows[2].flat[0] = value
    write_group(tmp_path, body, group, {"rows": rows})
    sign(tmp_path, body)
    found = pgbn.load(tmp_path)
    for verb in (found.predict, found.log_likelihood):
        with pytest.raises(pgbn.PgbnError, match=words):
            verb("x")


def test_an_expression_may_be_nan(tmp_path: Path) -> None:
    """What was saved is given back."""
    values = {"half": np.array([[0.5, np.nan]])}
    pgbn.Draws(values, {"half": ("chain", "draw")}).save(tmp_path)
    assert np.isnan(pgbn.load(tmp_path)["half"][0, 1])
