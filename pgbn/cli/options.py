"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pgbn.corpus import FORMATS

Folder = Annotated[Path, typer.Argument(help="The folder of a saved model.", show_default=False)]
Data = Annotated[Path, typer.Argument(
    help="A folder of texts, a .txt (a document a line), .csv, .tsv or .jsonl file, or counts in a "
    ".mtx, .npz or .svmlight file.", show_default=False)]  # fmt: skip
Format = Annotated[str | None, typer.Option(
    help="The kind of data, if the name does not tell: folder, "
    + ", ".join(sorted(set(FORMATS.values()))) + ".")]  # fmt: skip
Column = Annotated[
    str, typer.Option(help="The column (field) of the texts in a CSV or JSONL file.")
]
Label = Annotated[str | None, typer.Option(help="The column (field) that names the documents.")]
Encoding = Annotated[str, typer.Option(help="The encoding of the texts.")]
Terms = Annotated[Path | None, typer.Option(help="A file that names the columns of a matrix.")]
Threads = Annotated[int | None, typer.Option(help="Threads; the results do not depend on them.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]
BurnIn = Annotated[int, typer.Option(help="Sweeps before samples are taken.")]
Samples = Annotated[int, typer.Option(help="Samples for each document.")]
