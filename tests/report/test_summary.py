"""The summary for notebooks."""

from pgbn.report import summary_html
from tests.helpers.report_models import trained, vocabulary


def test_summary_escapes() -> None:
    html = summary_html(trained(), vocabulary=vocabulary(), title="<x>")
    assert "&lt;x&gt;" in html
    assert "12 – 6 – 3 topics" in html
    assert "<script" not in html
    assert "<img" not in html
