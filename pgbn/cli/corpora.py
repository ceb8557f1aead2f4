"""The command of corpora that are larger than memory: ``pgbn corpus build``."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from pgbn.cli.console import cannot_write, interruptible, output, wrong_usage
from pgbn.cli.options import Counting, Reading, Sampling

SECONDS = 5.0  # between two notes of how far it is


def build_command(
    data: Annotated[list[Path], typer.Argument(
        help="A folder of texts, .txt, .csv, .tsv, .jsonl or .parquet files, or counts in a .mtx, "
        ".npz or .svmlight file.", show_default=False)],
    to: Annotated[Path, typer.Option("--to", "-o", help="The folder of the corpus.")],
    reading: Reading,
    counting: Counting,
    block_rows: Annotated[int, typer.Option(min=1, help="Documents of a block.")] = 4096,
    overwrite: Annotated[bool, typer.Option(help="Replace a corpus that is there.")] = False,
) -> None:  # fmt: skip
    """Count the terms of documents that need not fit into memory, and keep them in a folder.

    A build that is stopped or killed goes on when the same command is given again. The folder is
    then given to pgbn fit and to other commands in place of a file.

    Examples:

      pgbn corpus build reviews.jsonl --column review -o reviews --min-df 5

      pgbn corpus build part-*.txt.gz -o pages

      pgbn corpus build counts.mtx --terms vocabulary.txt -o counts
    """
    from pgbn.storage.blocks import Corpus
    from pgbn.storage.count_files import MATRICES
    from pgbn.storage.sources import file_format

    with wrong_usage():
        options = counting.options()
        if file_format(data[0], reading.format) in MATRICES:
            counting.refuse_for_counts(data[0])
            options = {}
    with interruptible():
        corpus = Corpus.build(
            data[0] if len(data) == 1 else data, to, block_rows=block_rows, overwrite=overwrite,
            progress=_Notes(), **asdict(reading), **options,
        )  # fmt: skip
    documents, terms = corpus.shape
    output.result(
        {"corpus": str(to), "documents": documents, "terms": terms, "total": corpus.total,
         "blocks": corpus.block_count},
        lambda: output.say(
            f"{documents} documents, {terms} terms, total count {corpus.total:.10g}, in "
            f"{corpus.block_count} blocks; next: pgbn fit {to} -o model"
        ),
    )  # fmt: skip


def stream_features(
    network: Any, data: Path, to: Path, layer: int | None, sampling: Sampling
) -> None:
    """The features of a corpus in a folder, to a .npy file, block by block."""
    from pgbn.storage.blocks import Corpus
    from pgbn.training.streamed import transform_to

    corpus, notes = Corpus.open(data), _Notes()
    with cannot_write(to), interruptible():
        features = transform_to(network, corpus, to, layer=layer, **vars(sampling),
                                progress=lambda done, total: notes("features", done))  # fmt: skip
    rows, columns = features.shape
    output.result({"output": str(to), "documents": rows, "features": columns},
                  lambda: output.say(f"{to}: {rows} × {columns}"))  # fmt: skip


class _Notes:
    """Says now and then how far a build is."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def __call__(self, what: str, documents: int) -> None:
        if time.monotonic() - self.last >= SECONDS:
            self.last = time.monotonic()
            output.note(f"{what}: {documents} documents")
