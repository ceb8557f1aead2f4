"""20newsgroups, 20 classes: accuracy against depth and width (figure 3, table 3 of the paper).

η = 0.05, C_t = 500, B_t = 1000 (for K1max > 400: B_1 = 1000, B_t = 500 above).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from common import Results, add_stages, arguments, classify_depths, train_depths
from corpora import load_newsgroups

WIDTHS = {2000: [128, 256, 512], 0: [50, 100, 200, 400, 600, 800]}


def main(argv: Sequence[str] | None = None) -> None:
    def more(parser: Any) -> None:
        parser.add_argument("--terms", type=int, default=2000, help="most frequent terms; 0: all")
        add_stages(parser)

    options = arguments(__doc__ or "", [], 5, argv, more)
    results = Results(options.out / "multiclass.json")
    corpus = load_newsgroups(options.data, options.terms, options.quick)
    terms = corpus["train"].shape[1]
    for seed in options.seeds:
        for width in options.widths or WIDTHS.get(options.terms, WIDTHS[0]):
            later = 1000 if width <= 400 else 500
            layers = train_depths(
                corpus["train"], width, options, f"multiclass-V{terms}", seed,
                burn_in=[1000, *[later] * (options.depth - 1)], sweeps=500, eta=0.05,
            )  # fmt: skip
            classify_depths(corpus, layers, f"V={terms} K1max={width}", seed, results, options,
                            terms=terms, max_width=width)  # fmt: skip


if __name__ == "__main__":
    main()
