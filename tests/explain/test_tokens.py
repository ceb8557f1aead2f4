"""The probabilities of labels beside further terms of the rate, and of several kinds of data."""

from __future__ import annotations

from pgbn.explain.first_layer import token_lines
from pgbn.explain.notation import Notation
from pgbn.explain.sampler import way_of
from tests.helpers.first_layer_variants import VARIANTS


def lines_of(name: str) -> list[list[str]]:
    network = VARIANTS[name]()
    way, notation = way_of(network), Notation(network)
    return [token_lines(notation, way, step) for step in way.schedule if way.labels(step)]


def test_further_terms_have_labels_of_their_own() -> None:
    ((topics, words, known, *counts),) = lines_of("background and size")
    assert topics == (
        r"P(z_{j i} = k \mid -) &\propto s_{j}\, \frac{0.5 + x^{[1]-}_{v \cdot k}}{V / 2 + "
        r"x^{[1]-}_{\cdot \cdot k}}\, \left(r_{k} + x^{[1]-}_{\cdot j k}\right) / "
        r"(c_{j} + q^{(\theta)}_{j})"
    )
    assert words == r"P(z_{j i} = (2) \mid -) &\propto b_{v}"
    assert known == r"P(z_{j i} = (3) \mid -) &\propto 0.1"
    assert counts[1] == r"x^{[2]}_{v j} &= \sum_{i} 1(v_{j i} = v,\ z_{j i} = (2))"


def test_the_entries_of_a_summed_term_are_labels() -> None:
    ((_, other, *_),) = lines_of("two mixtures")
    assert other == r"P(z_{j i} = (2, t) \mid -) &\propto \psi_{v t}\, w_{t j}"


def test_data_that_share_scores_are_heard_together() -> None:
    (tags, *_), (words, *_) = lines_of("two kinds of data")
    assert r"r_{k} + y^{-}_{\cdot j k} + x_{\cdot j k}" in tags
    assert r"r_{k} + x^{-}_{\cdot j k} + y_{\cdot j k}" in words


def test_the_counts_of_a_row_are_shared_out_among_sets() -> None:
    (lines,) = lines_of("size of groups")
    assert lines[0].startswith(r"P(z_{j i} = k \mid -)")
    assert "s_{g}" not in lines[0]  # the same for all topics
    assert r"\mathrm{Mult}\left(x_{\cdot j \cdot \cdot};\ \propto" in lines[-1]


def test_rows_that_share_scores_are_heard_together() -> None:
    (tags, *_), (words, *_) = lines_of("scores of authors, tags of authors")
    of_group = r"\sum_{j : \mathrm{group}(j) = t} x_{\cdot j k}"
    assert rf"r_{{k}} + y^{{-}}_{{\cdot t k}} + {of_group}" in tags
    own = r"\mathrm{group}(j)"
    of_group = rf"\sum_{{j' : \mathrm{{group}}(j') = {own}}} x^{{-}}_{{\cdot j' k}}"
    assert rf"r_{{k}} + {of_group} + y_{{\cdot, {own}, k}}" in words
