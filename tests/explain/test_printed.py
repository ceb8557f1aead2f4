"""No wrong equation can be printed: what explain prints is what the steps do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn import testing
from pgbn.engine.first_layer.choice import automatic, find_patterns, plain_pattern, unsupported
from tests.explain import printed
from tests.explain.printed import check_printed
from tests.helpers.first_layer_variants import VARIANT_SIZES, VARIANTS
from tests.helpers.kernel_networks import SLICED, sizes_of
from tests.helpers.wider_models import wider_models
from tests.same_bits.networks import SMALL_SIZES, data_for, small_zoo


def first_layers(network: pg.Network) -> tuple[Any, Any]:
    return network.wiring, find_patterns(network.wiring)


ZOO = {name: net for name, net in small_zoo().items() if "3" not in name}
CASES = [
    (name, sampler)
    for name, network in ZOO.items()
    for sampler in ("composed", "blocked", "partial", "collapsed")
    if sampler == "composed" or not isinstance(plain_pattern(network.wiring), str)
]


def chain_of(network: pg.Network, sampler: str, seed: int = 3) -> pg.Chain:
    data = data_for(network, SMALL_SIZES, 2.0)
    return network.chain(data, seed=seed, sampler=sampler, threads=1)


@pytest.mark.parametrize(("name", "sampler"), CASES)
def test_what_is_printed_is_what_is_done(name: str, sampler: str) -> None:
    chain = chain_of(ZOO[name], sampler)
    assert len(check_printed(chain)) == len(chain.schedule)


WIDER = wider_models()
# What these compile takes ten seconds each; others have the same steps.
SLOW = {"hgp_epm", "epm, weighted", "pgds, shrinkage", "deep_pgds"}


def wider_chain(name: str) -> pg.Chain:
    network, sizes = WIDER[name]
    drawn = network.generate(seed=5, sizes=sizes)
    data = {x: drawn[x] for x in network.observed}
    return network.chain(data, seed=3, sampler="composed", threads=1)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long) if name in SLOW else name for name in WIDER],
)
def test_what_is_printed_of_the_wider_language(name: str) -> None:
    """Entries in turn, categories, hidden choices, several terms; normal values, gates, hidden
    counts, proportions that need completion."""
    chain = wider_chain(name)
    assert len(check_printed(chain)) == len(chain.schedule)


@pytest.mark.parametrize("name", SLICED)
def test_densities_of_kernels(name: str) -> None:
    chain = sliced_chain(name)
    assert len(check_printed(chain)) == len(chain.schedule)


def sliced_chain(name: str) -> pg.Chain:
    network = SLICED[name]()
    network = network.with_sizes(**sizes_of(network))
    return network.chain(
        {"x": network.generate(seed=5)["x"]}, seed=3, sampler="composed", threads=1
    )


WIDE = [
    (name, kind.name)
    for name, build in VARIANTS.items()
    for kind in automatic()
    if kind.name != "blocked" and not unsupported(kind, *first_layers(build()))
    if kind.name == "collapsed" or name in ("background and size", "two kinds of data")
]


@pytest.mark.parametrize(("name", "sampler"), WIDE)
def test_labels_of_wider_first_layers(name: str, sampler: str) -> None:
    """Background, size factors, inferred eta, several kinds of data."""
    network = VARIANTS[name]()
    data = data_for(network, VARIANT_SIZES, 2.0)
    chain = network.chain(data, seed=3, sampler=sampler, threads=1)
    assert chain.sampler == sampler
    assert len(check_printed(chain)) == len(chain.schedule)


def test_missing_cells_are_imputed_as_printed() -> None:
    network = ZOO["pgbn poisson 2"]
    counts = data_for(network, SMALL_SIZES, 2.0)["x"]
    data = np.ma.masked_array(counts, np.eye(*counts.shape, dtype=bool))
    chain = network.chain({"x": data}, seed=3, threads=1)
    assert "where the cell is missing" in chain.explain()
    check_printed(chain)


def broken(name: str, network: pg.Network) -> pg.Chain:
    mutant = testing.mutants(network)[name]
    data = {"x": np.array([[6, 1], [0, 5], [3, 3]])}  # several tokens in a cell
    chain = network.chain(data, seed=0, sampler=mutant.sampler, threads=1)
    check_printed(network.chain(data, seed=0, sampler=mutant.sampler, threads=1))
    mutant(chain)
    return chain


@pytest.mark.parametrize("name", testing.mutants(ZOO["pgbn poisson 2"]))
def test_every_mutant_is_seen(name: str) -> None:
    chain = broken(name, ZOO["pgbn poisson 2"])
    with pytest.raises(AssertionError, match=SEEN[name]):
        check_printed(chain)


SEEN = {
    "CRT off by one": r"counts\(theta1\)",
    "rate for scale": r"gamma0\(\): printed rate",
    "stale order": "stale values",
    "tokens in topic order": r"counts\(x\): labels",
}


def test_a_wrong_equation_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other way round: the text is wrong, and the step is right."""
    from pgbn.explain import notation

    right = notation.Notation.received_exposure
    monkeypatch.setattr(notation.Notation, "received_exposure",
                        lambda self, *arguments: 2 * right(self, *arguments))  # fmt: skip
    with pytest.raises(AssertionError, match="printed rate"):
        check_printed(chain_of(ZOO["pfa"], "composed"))


# model, step, what is printed, and what would be wrong
WRONG = [
    ("covariates", "beta", r"\mathrm{mean} + \hat{b}", r"\mathrm{mean} - \hat{b}"),
    ("covariates", "beta", r"\cdot I + \hat{A}", r"\cdot I + 2 \hat{A}"),
    ("covariates", "beta", r"\mathrm{const}_{r' j}", r"\mathrm{const}_{r j}"),
    ("covariates", "bias", r" - \mathrm{noise}\, ", r" + \mathrm{noise}\, "),
    ("covariates", "a", "} / a", "}"),
    ("covariates", "a", r"\mathrm{exposure} = \ln(1", r"\mathrm{exposure} = \ln(2"),
    ("cpgbn", "phi", r"\max_{s, v}", r"\sum_{s}"),
    ("cpgbn", "phi", r" + y^{(\phi)}_{v s k}", ""),
    ("dpfa_sbn", "counts(h1)", r"\mathrm{PG}(1,", r"\mathrm{PG}(2,"),
    ("dpfa_sbn", "counts(h1)", " + b^{(1)}_{k}", ""),
    ("dpfa_sbn", "counts(h1)", r"h - \tfrac{1}{2}", "h"),
    ("dpfa_sbn", "w1", r"\kappa^{(1)}_{k j} - ", r"\kappa^{(1)}_{k j} + "),
    ("dpfa_sbn", "b1", r"\sum_{j} \omega^{(1)}_{k j}", r"2 \sum_{j} \omega^{(1)}_{k j}"),
    ("dpfa_sbn", "h1", r" - \ln(1 + q", r" + \ln(1 + q"),
    ("dpfa_sbn", "h2", r"- \tfrac{1}{2} \hat{A}", r"+ \tfrac{1}{2} \hat{A}"),
    ("dpfa_sbn", "h2", r"\hat{A}_{d d'} h_{d'}", r"\hat{A}_{d d'}"),
    ("prgds", "counts(theta)", r"\mathrm{offset} - 1", r"\mathrm{offset}"),
    ("prgds", "counts(nu)", r"2\sqrt", r"\sqrt"),
    ("prgds", "nu", r"\mathrm{noise} + \mathrm{exposure}),", r"\mathrm{noise}),"),
    ("prgds", "theta", r"\right)^{h}", r"\right)^{2 h}"),
    ("twice", "a", r"2\, a", "a"),
    ("concentrations", "e", r"\mathrm{Gam}(2,", r"\mathrm{Gam}(3,"),
]


@pytest.mark.parametrize(("name", "step", "right", "wrong"), WRONG)
def test_a_wrong_law_is_seen(
    monkeypatch: pytest.MonkeyPatch, name: str, step: str, right: str, wrong: str
) -> None:
    steps = printed.printed_steps

    def altered(text: str) -> dict[str, list[str]]:
        found = steps(text)
        assert any(right in line for line in found[step])
        return found | {step: [line.replace(right, wrong) for line in found[step]]}

    monkeypatch.setattr(printed, "printed_steps", altered)
    with pytest.raises(AssertionError, match=rf"^{re.escape(step)}.*(printed|z = )"):
        check_printed((sliced_chain if name in SLICED else wider_chain)(name), draws=60)
