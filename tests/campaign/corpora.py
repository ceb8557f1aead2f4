"""Files of counts and texts as a stranger might make them."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

import pgbn
from tests.helpers.saved import counts

__all__ = ["Corpora", "change"]

X = counts(12, 9)
PIECES = (b"\0", b"\xff", b"\n", b"\r", b" ", b"-", b".", b"e", b"9" * 20, b"1e999", b"nan",
          b"\x1b[2J", b'"', b",", b"{", b"[" * 3000, b"%", b":", b"500000000", b"\xed\xa0\x80")  # fmt: skip


def _good_corpora(place: Path) -> Iterator[Path]:
    scipy.io.mmwrite(place / "counts.mtx", sp.coo_array(X))
    scipy.io.mmwrite(place / "real.mtx", sp.coo_array(X * 0.5))
    scipy.io.mmwrite(place / "dense.mtx", X.toarray())
    sp.save_npz(place / "sparse.npz", X)
    np.savez(place / "named.npz", X=X.toarray(), vocabulary=np.array([f"w{v}" for v in range(9)]))
    (place / "t.csv").write_text('id,text\nann,sea ship\nann,ship wave\nbob,"oven, flour"\n')
    (place / "t.jsonl").write_text('{"text": "sea ship", "id": 1}\n{"text": "wave"}\n')
    (place / "t.txt").write_text("sea ship\nwave ship storm\n")
    (place / "c.svmlight").write_text("1 1:2 3:1\n0 2:5\n")
    for name in ("counts.mtx", "t.jsonl", "t.csv", "c.svmlight"):
        (place / f"{name}.gz").write_bytes(gzip.compress((place / name).read_bytes(), mtime=0))
    yield from sorted(place.iterdir())


class Corpora:
    """Files of counts and texts with some bytes changed, cut, doubled or put in."""

    def __init__(self, place: Path) -> None:
        (place / "corpora").mkdir()
        self.place = place
        self.good = {path: path.read_bytes() for path in _good_corpora(place / "corpora")}

    def run(self, number: int) -> None:
        """Case ``number``."""
        choice = random.Random(number)
        path = choice.choice(list(self.good))
        packed = path.suffix == ".gz" and choice.random() < 0.8
        data = gzip.decompress(self.good[path]) if packed else self.good[path]
        for _ in range(choice.choice((1, 1, 2, 4))):
            data = change(choice, data)
        bad = self.place / f"bad{''.join(path.suffixes)}"
        bad.write_bytes(gzip.compress(data, 1) if packed else data)
        options = (
            {"name_column": "id"} if ".csv" in path.suffixes or ".jsonl" in path.suffixes else {}
        )
        try:
            corpus = pgbn.Corpus.read(bad, **options)
        except pgbn.PgbnError as refused:
            if "\x1b" in str(refused):
                raise ValueError("an escape reaches the terminal") from refused
            return
        assert np.isfinite(corpus.counts.data).all()
        assert not corpus.counts.data.size or corpus.counts.data.min() >= 0
        assert len(set(corpus.names)) == len(corpus.names) == corpus.counts.shape[0]


def change(choice: random.Random, data: bytes) -> bytes:
    """Bytes that are cut, left out, doubled, put in or flipped."""
    at = choice.randrange(len(data) + 1)
    end = min(len(data), at + choice.choice((1, 1, 3, 20)))
    return choice.choice((
        lambda: data[:at], lambda: data[:at] + data[end:], lambda: data[at:],
        lambda: data[:at] + bytes([choice.randrange(256)]) + data[at + 1 :],
        lambda: data[:at] + choice.choice(PIECES) + data[at:],
        lambda: data[:at] + data[at:end] * 3 + data[end:],
        lambda: data[:at] + bytes([data[at % len(data)] ^ 1 << choice.randrange(8)]) + data[at + 1 :]
        if data else data,
    ))()  # fmt: skip
