"""The frame of a page: sections, links to them, and a policy that lets nothing else in."""

import base64
import hashlib
import re

from pgbn.report.run_page import html_page


def test_sections_are_linked_and_the_title_is_text():
    page = html_page("A & B", "two parts", [("one", "First", "<p>1</p>"), ("two", "Second", "2")])
    assert "<title>A &amp; B</title>" in page
    assert re.findall(r'<a href="#(\w+)">(\w+)</a>', page) == [("one", "First"), ("two", "Second")]
    assert '<h2 id="one-title">First</h2>\n<p>1</p>' in page
    assert "layout plain" in page
    assert "<script" not in page


def test_only_the_script_of_the_page_may_run():
    page = html_page("T", "", [], aside="<aside></aside>", payload="{}", script="run();")
    digest = base64.b64encode(hashlib.sha256(b"run();").digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page
    assert '<script type="application/json" id="data">{}</script>' in page
    assert "scripts are off" in page
