"""What the script of the page reads."""

import numpy as np
import pytest

from pgbn.evaluation import topics
from pgbn.report import ReportData, Series, report_data, report_html
from pgbn.report.page import payload
from pgbn.report.sections import SECTIONS
from tests.helpers.report_models import trained


def test_the_page_holds_no_infinities() -> None:
    series = Series("odd", np.arange(3.0), np.array([[np.nan, np.inf, 1.0]]))
    data = report_data(trained((3,)))
    odd = ReportData(**{**data.__dict__, "series": (series,)})
    assert payload(odd)["series"][0]["values"] == [[None, None, 1]]
    assert "too few draws" in report_html(odd)


def test_no_section_overwrites_what_another_gives() -> None:
    data = report_data(trained())
    given = [key for section in SECTIONS for key in section.payload(data)]
    assert len(given) == len(set(given))
    whole = payload(data)
    assert list(whole)[-len(given) - 1 :] == [*given, "papers"]
    assert len(whole) == len(given) + 8


@pytest.mark.parametrize("relevance", [0.0, 0.6, 1.0])
def test_the_page_begins_with_the_relevance_that_is_asked_for(relevance) -> None:
    data = report_data(trained(), relevance=relevance)
    whole = payload(data)
    for t, layer in enumerate(whole["layers"], 1):
        assert layer["relevance"] == relevance
        for topic in topics(trained(), t, 10, relevance=relevance):
            columns = [int(term.removeprefix("term")) for term in topic.terms]
            assert data.words(t, topic.index) == [data.vocabulary[v] for v in columns]
            held = {whole["words"][number] for number in layer["topics"][topic.index][0]}
            assert set(data.words(t, topic.index)) <= held
