"""The same texts in every format."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

import pgbn

WORDS = {
    "sea": "ship wave storm sail harbour anchor captain",
    "kitchen": "butter flour oven sugar recipe spoon plate",
    "law": "court judge verdict appeal statute witness jury",
}


def texts(number: int = 60) -> dict[str, str]:
    rng = np.random.default_rng(0)
    themes = list(WORDS.values())
    out = {}
    for n in range(number):
        words = themes[n % 3].split()
        out[f"doc{n}"] = " ".join(rng.choice(words, 30)) + ". Größe naïve"
    return out


def write_corpora(place: Path) -> None:
    """Write the texts, and their counts, to a folder."""
    (place / "texts").mkdir()
    for name, text in texts().items():
        (place / "texts" / f"{name}.txt").write_text(text, "utf-8")
    (place / "texts" / ".hidden").write_bytes(b"\xff\xfe")
    with (place / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "review"])
        writer.writerows(texts().items())
    lines = [json.dumps({"id": name, "review": text}) for name, text in texts().items()]
    with gzip.open(place / "lines.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    (place / "plain.txt").write_text("\n".join(texts().values()), "utf-8")
    corpus = pgbn.Corpus.from_texts(texts())
    scipy.io.mmwrite(place / "counts.mtx", sp.coo_array(corpus.counts))
    sp.save_npz(place / "counts.npz", sp.csr_matrix(corpus.counts))
    np.savez(place / "named.npz", X=corpus.counts.toarray(), vocabulary=np.array(corpus.vocabulary))
    from sklearn.datasets import dump_svmlight_file

    dump_svmlight_file(corpus.counts, np.zeros(60), str(place / "counts.svmlight"))
    (place / "terms.txt").write_text("\n".join(corpus.vocabulary or []), "utf-8")
