"""ReportData checks what it is given."""

import numpy as np
import pytest

from pgbn.errors import DataError
from pgbn.report import ReportData, report_data
from tests.helpers.report_models import trained


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"vocabulary": "a string"}, "vocabulary: a string"),
        ({"vocabulary": set(range(60))}, "vocabulary: a set"),
        ({"vocabulary": {f"w{v}": 1 for v in range(60)}}, "vocabulary: a dict must give"),
        ({"titles": set(range(80))}, "titles: a set"),
        ({"titles": ["one"]}, "titles: 1 names, but 80"),
        ({"texts": ["one"]}, "texts: 1 names, but 80"),
        ({"classes": ["one"]}, "classes: 1 entries, but 80 documents"),
        ({"relevance": 2}, "relevance=2 must be a number from 0 to 1"),
        ({"dates": ["2019"]}, "dates: 1 entries, but 80 documents"),
    ],
)
def test_errors_name_the_argument(options, words) -> None:
    with pytest.raises(DataError, match=words):
        report_data(trained(), **options)


def test_a_dict_of_columns_names_the_terms() -> None:
    names = [f"word{v}" for v in range(60)]
    columns = {names[v]: v for v in reversed(range(60))}
    assert report_data(trained(), vocabulary=columns).vocabulary == names
    data = report_data(trained())
    assert ReportData(**{**data.__dict__, "vocabulary": columns}).words(1, 0) == [
        names[v] for v in np.argsort(-data.phi[0][0], kind="stable")[:10]
    ]
