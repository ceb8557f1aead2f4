"""Rules are declared beside their type, found by it, and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import pgbn
from pgbn.nodes import rules as registry
from pgbn.nodes.rules import find_draw, find_evidence, is_own, is_own_rule


def test_rules_are_checked_when_they_are_declared() -> None:
    class Layer(pgbn.extend.Latent):
        level: pgbn.extend.Slot

    rule = pgbn.extend.evidence_rule
    with pytest.raises(pgbn.NetworkError, match=r"Layer has no slot 'shape'.* Known: level"):
        rule(Layer, "shape", count="value", exposure=1.0)
    with pytest.raises(pgbn.NetworkError, match="must be 'collapsed' or 'given'"):
        rule(Layer, "level", relation="other", count="count", exposure=1.0)
    with pytest.raises(pgbn.NetworkError, match="give exposure="):
        rule(Layer, "level", count="count")
    with pytest.raises(pgbn.NetworkError, match="names 'weight'; it may read"):
        rule(Layer, "level", exposure=1.0)(lambda stream, weight: weight)
    with pytest.raises(pgbn.NetworkError, match="relation='given'"):
        rule(Layer, "level", count="value", exposure=1.0)
    with pytest.raises(pgbn.NetworkError, match="function of the stream"):
        rule(Layer, "level", drawn=lambda node: node.dims)(lambda count: count)
    with pytest.raises(pgbn.NetworkError, match="names 'shape'; it may read"):
        pgbn.extend.draw_rule(Layer)(lambda count, shape: {})


@pytest.mark.parametrize(
    ("register", "words"),
    [
        (lambda: pgbn.extend.evidence_rule("Own", "rate"), r"'Own'\): give a class derived from"),
        (lambda: pgbn.extend.draw_rule(pgbn.Poisson), r"draw_rule\(Poisson\).*extend.Latent; only"),
        (lambda: pgbn.extend.kernel_rule(pgbn.Poisson), r"kernel_rule\(Poisson\).*extend.Latent"),
        (lambda: pgbn.extend.link_rule(pgbn.Gamma, "rate"), r"link_rule\(Gamma\).*extend.Observed"),
        (lambda: pgbn.extend.counts_are_data(pgbn.Poisson, "rat"), "no slot 'rat'. Did you mean"),
        (lambda: pgbn.extend.draw_rule(pgbn.Gamma)(3), "decorates 3; it must decorate a function"),
        (
            lambda: pgbn.extend.draw_rule(pgbn.Gamma)(lambda count: {}),
            "Gamma has a draw rule already",
        ),
        (
            lambda: pgbn.extend.evidence_rule(
                pgbn.Gamma, "rate", relation="given", exposure="value"
            )(lambda value: value),
            "has an evidence rule for 'rate' already.*class MyGamma",
        ),
    ],
)
def test_rules_that_are_surely_wrong_are_rejected(
    register: Callable[[], object], words: str
) -> None:
    before = dict(registry._draws), dict(registry._evidence), dict(registry._links)
    with pytest.raises(pgbn.NetworkError, match=words):
        register()
    assert before == (registry._draws, registry._evidence, registry._links)


def test_missing_rules_of_a_new_type() -> None:
    class Bare(pgbn.extend.Latent):
        level: pgbn.extend.Slot

    class Sensor(pgbn.extend.Observed):
        level: pgbn.extend.Slot

    bare = Bare("bare", level=1.0)
    with pytest.raises(pgbn.MissingRuleError, match=r"Bare\) has no draw rule"):
        pgbn.Network(pgbn.Poisson("x", bare))
    pgbn.extend.draw_rule(Bare)(lambda count, level: {"level": level + count})
    with pytest.raises(pgbn.MissingRuleError, match=r"evidence_rule\(Bare, 'level'\)"):
        pgbn.Network(pgbn.Poisson("x", Bare("bare", level=pgbn.Gamma("g", 1, 1))))
    pgbn.extend.evidence_rule(Sensor, "level", count="count", exposure=1.0)
    with pytest.raises(pgbn.MissingRuleError, match="Sensor has no link to counts"):
        pgbn.Network(Sensor("x", level=pgbn.Gamma("g", 1, 1)))
    with pytest.raises(pgbn.NetworkError, match="bare: the node type Bare does not define gener"):
        pgbn.Network(pgbn.Poisson("x", bare))


def test_rules_are_inherited_and_may_be_replaced(own_rules: None) -> None:
    class Child(pgbn.Gamma):
        pass

    child, parent = Child("c", 1, 1), pgbn.Gamma("p", 1, 1)
    assert find_draw(child) is find_draw(parent)
    assert find_evidence(child, "shape", parent) is find_evidence(parent, "shape", parent)
    pgbn.extend.draw_rule(Child)(lambda count, shape: {"shape": shape + count})
    assert find_draw(child).node is Child
    assert find_draw(parent).node is pgbn.Gamma


def test_ours_are_sealed_and_what_comes_later_is_own(own_rules: None) -> None:
    class Later(pgbn.Gamma):
        pass

    rule = find_evidence(pgbn.Gamma("g", 1, 1), "shape", pgbn.Gamma("r", 1, 1))
    assert not is_own(pgbn.Gamma)
    assert not is_own(rule.count)
    assert not is_own(find_draw(pgbn.Gamma("g", 1, 1)).posterior)
    assert not is_own_rule(rule)
    assert is_own(Later)
    assert is_own_rule(replace(rule, child=Later))
    assert is_own_rule(replace(rule, exposure=lambda exposure, rate: exposure / rate))
    assert not is_own_rule(replace(rule, exposure=2.0))  # a number is no function of a user


@pytest.fixture
def own_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test declares is forgotten after it."""
    for room, name in (registry, "_evidence"), (registry, "_draws"), (registry, "_links"):
        monkeypatch.setattr(room, name, dict(getattr(room, name)))
