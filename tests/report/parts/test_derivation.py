"""The derivation in the report is the one that explain writes."""

import dataclasses

from pgbn.explain import derivation
from pgbn.explain.render import html_body
from pgbn.report import report_data
from pgbn.report.sections import derivation_html
from tests.helpers.report_models import trained


def test_the_report_shows_what_explain_writes() -> None:
    data = report_data(trained())
    assert data.derivation == derivation(trained().deepest.network())
    assert html_body(data.derivation, ("h3", "h3", "h4")) in derivation_html(data.derivation)
    assert "<h3>The generative model</h3>" in derivation_html(data.derivation)
    assert "<h4>Lemma 1. " in derivation_html(data.derivation)


def test_a_report_without_a_derivation_says_so() -> None:
    data = dataclasses.replace(report_data(trained()), derivation=())
    assert "<p>Not given.</p>" in derivation_html(data.derivation)
