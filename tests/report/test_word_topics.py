"""The topics of the words of a text."""

import dataclasses
import re

import numpy as np

from pgbn.report import report_data
from pgbn.report.sections import END, STARTS, TokenFinder, marked_text
from tests.helpers.report_models import trained


def test_each_word_has_its_most_likely_topic() -> None:
    names = [f"word{v}" for v in range(60)]
    data = report_data(trained(), vocabulary=names)
    text = "Word3, word17 & WORD3! unknown word3x word41 " + STARTS[2] + "end" + END
    marked, topics = marked_text(data, 7, text, TokenFinder(data))
    pieces = re.findall("([" + "".join(STARTS) + "])([^" + END + "]*)" + END, marked)
    expected = [int(np.argmax(data.phi[0][:, v] * data.theta[0][7])) for v in (3, 17, 3, 41)]
    assert [word for _, word in pieces] == ["Word3", "word17", "WORD3", "word41"]
    assert [topics[STARTS.index(mark)] for mark, _ in pieces] == expected
    bare = re.sub("[" + "".join(STARTS) + END + "]", "", marked)
    assert bare == "Word3, word17 & WORD3! unknown word3x word41 end"  # foreign marks are gone


def test_rare_topics_share_a_colour() -> None:
    names = [f"word{v}" for v in range(60)]
    data = report_data(trained((30, 4), seed=3), vocabulary=names)
    flat = (np.full_like(data.theta[0], 1 / 30), data.theta[1])
    data = dataclasses.replace(data, theta=flat)
    marked, topics = marked_text(data, 0, " ".join(names), TokenFinder(data))
    assert len(topics) == 7
    assert STARTS[7] in marked


def test_a_pattern_with_a_group() -> None:
    data = report_data(trained(), vocabulary=[f"w{v}" for v in range(60)], token_pattern=r"#(w\d+)")
    assert TokenFinder(data)("w1 #w2") == [(4, 6, 2)]


def test_the_same_word_has_another_topic_in_another_document() -> None:
    """Shares of the document count, not the topics' words alone."""
    names = [f"word{v}" for v in range(60)]
    data = report_data(trained((6, 3)), vocabulary=names)
    found = []
    for document in (0, 1):
        marked, topics = marked_text(data, document, " ".join(names), TokenFinder(data))
        marks = [topics[STARTS.index(c)] for c in marked if c in STARTS]
        best = (data.phi[0] * data.theta[0][document][:, None]).argmax(axis=0)
        assert marks == best.tolist()
        found.append(marks)
    assert found[0] != found[1]
