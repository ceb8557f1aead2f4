"""Records of documents: which are kept, and in how many bytes."""

import base64
import json
import re
import time
import zlib
from dataclasses import replace

import numpy as np
import pytest

from pgbn.report import report_data
from pgbn.report.sections import _spread, examples, papers_payload
from tests.helpers.report_models import trained


def records(found: dict) -> list:
    raw = zlib.decompress(base64.b64decode(found["papers"]["data"]))
    return [json.loads(line) for line in raw.decode().splitlines()]


def data_of(documents: int, length: int):
    g = np.random.default_rng(0)
    names = [f"word{v}" for v in range(60)]
    texts = [" ".join(g.choice(names, length)) for _ in range(documents)]
    return report_data(trained((12, 6), documents=documents), vocabulary=names, texts=texts)


def test_all_documents_if_there_is_room() -> None:
    data = data_of(80, 20)
    found = papers_payload(data, 100_000)
    rows = records(found)
    assert found["papers"]["kept"] == 80
    assert sorted(row[0] for row in rows) == list(range(80))
    shown = list(examples(data).values())
    numbers = [row[0] for row in rows]
    assert numbers[: len(shown)] == shown, "the examples of the overview come first"
    rest = [j for j in data.leading(2, 1)[:, 0] if j not in shown]
    assert numbers[len(shown)] == rest[0], "then those that lead"
    for number, _, shares, _, topics, cut in rows[:20]:
        for theta, flat in zip(data.theta, shares, strict=True):
            best = np.argsort(-theta[number], kind="stable")[: len(flat) // 2]
            assert flat[::2] == best.tolist()
            np.testing.assert_allclose(flat[1::2], 1000 * theta[number][best], rtol=5e-3)
        assert topics
        assert not cut


@pytest.mark.parametrize("room", [6_000, 30_000])
def test_never_more_bytes_than_room(room: int) -> None:
    found = papers_payload(data_of(500, 300), room)
    rows = records(found)
    assert len(found["papers"]["data"]) <= room
    assert 0 < len(rows) == found["papers"]["kept"] < 500
    assert all(row[5] for row in rows), "long texts are cut, and it is said"


def test_without_texts_the_topics_are_told() -> None:
    found = papers_payload(report_data(trained()), 50_000)
    assert not found["papers"]["texts"]
    assert {len(row) for row in records(found)} == {3}


def test_the_others_are_spread_evenly() -> None:
    for size in (1, 10, 7919, 20_000):
        assert sorted(_spread(size, {0})) == list(range(1, size))
    first = np.fromiter(_spread(20_000, set()), np.int64)[:500]
    assert np.histogram(first, bins=10, range=(0, 20_000))[0].min() > 25


def test_space_takes_linear_time_and_paragraphs_stay() -> None:
    """A run of n spaces once took n² steps: for these 400,000, minutes."""
    data = data_of(5, 3)
    texts = ["word1 \n \n\n word2\nword3" + " " * 400_000 + "word4", *data.texts[1:]]
    before = time.process_time()
    rows = {row[0]: row for row in records(papers_payload(replace(data, texts=texts), 100_000))}
    assert time.process_time() - before < 10
    bare = re.sub("[\ue000-\ue0ff]", "", rows[0][3])
    assert bare.startswith("word1\n\nword2")
