"""Samplers of the first layer by name."""

from __future__ import annotations

import pytest

from pgbn import NetworkError
from pgbn.engine.first_layer import Blocked, Collapsed, Partial, choice
from pgbn.engine.first_layer.choice import automatic, register_sampler, sampler_named, sampler_names


@pytest.fixture(autouse=True)
def _kinds_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_kinds", dict(choice._kinds))


def test_those_of_pgbn() -> None:
    assert sampler_names() == ("collapsed", "partial", "blocked")
    assert [sampler_named(name) for name in sampler_names()] == [Collapsed, Partial, Blocked]


def test_what_mixes_best_comes_first() -> None:
    assert automatic() == [Collapsed, Partial, Blocked]


def test_a_new_one_has_a_name_and_is_not_automatic_by_itself() -> None:
    class Mine(Blocked):
        name = "mine"
        is_automatic = False

    assert register_sampler(Mine) is Mine
    assert sampler_named("mine") is Mine
    assert sampler_names()[-1] == "mine"
    assert Mine not in automatic()


def test_an_unknown_name() -> None:
    with pytest.raises(NetworkError, match="layer1='x': must be one of collapsed, partial, block"):
        sampler_named("x")


@pytest.mark.parametrize("name", ["", "auto", "composed"])
def test_names_that_mean_something_else(name: str) -> None:
    with pytest.raises(NetworkError, match=f"Other.name={name!r}: give the sampler another name"):
        register_sampler(type("Other", (Blocked,), {"name": name}))
