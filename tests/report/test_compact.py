"""JSON inside a page."""

import json

from pgbn.report.text import script_json
from tests.helpers.report_models import HOSTILE


def test_script_json_cannot_end_its_element() -> None:
    value = {"words": HOSTILE[:9]}
    text = script_json(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value
