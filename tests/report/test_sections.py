"""The table of sections: what stands in it stands in the page."""

import dataclasses
import re

import pytest

from pgbn.report import page, report_data, report_html
from pgbn.report.sections import SECTIONS, Section
from tests.helpers.report_models import trained


def sections_of(html: str) -> list[str]:
    return re.findall(r'<section id="(\w+)"', html)


def test_sections_stand_in_the_order_of_the_table() -> None:
    html = report_html(trained(), classes=["a"] * 80)
    assert sections_of(html) == [section.name for section in SECTIONS]
    assert re.findall(r'<a href="#(\w+)">', html) == sections_of(html)


def test_a_section_without_anything_to_show_is_left_out() -> None:
    data = dataclasses.replace(report_data(trained()), series=(), theta=())
    assert set(sections_of(report_html(trained()))) - set(sections_of(report_html(data))) == {
        "traces",
        "papers",
        "map",
    }
    assert "hierarchy" not in sections_of(report_html(trained((5,))))


def test_a_new_section_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    new = Section("new", "New chart", lambda data: f"<p>{data.depth} layers</p>",
                  lambda data: {"new": [data.depth]})  # fmt: skip
    for module in (page, page):
        monkeypatch.setattr(module, "SECTIONS", (*SECTIONS, new))
    html = report_html(trained())
    assert sections_of(html)[-1] == "new"
    assert '<h2 id="new-title">New chart</h2>\n<p>3 layers</p>' in html
    assert '"new":[3]' in html
