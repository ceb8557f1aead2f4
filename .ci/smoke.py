"""A fit, features of new documents, a saved model and a report, with an installed pgbn.

    python smoke.py [oldest.txt]

Run outside the checkout. With a file of pinned versions it first makes sure that these are the
installed ones. The last line is a hash of all that was drawn, which other versions must repeat.
"""

import hashlib
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

import pgbn


def main(pins: str | None = None) -> None:
    place = Path(pgbn.__file__).resolve()
    if "site-packages" not in place.parts:
        raise SystemExit(f"pgbn was imported from {place}, not from an installed wheel")
    for line in Path(pins).read_text().split() if pins else []:
        name, wanted = line.split("==")
        if version(name) != wanted:
            raise SystemExit(f"{name} {version(name)} is installed, not {wanted}")
    X = np.random.default_rng(0).poisson(0.5, (60, 40))
    model = pgbn.PGBN(max_width=6, depth=2, burn_in=6, sweeps=4, random_state=0).fit(X)
    features = model.transform(X[:5])
    if features.shape[0] != 5 or not np.isfinite(features).all():
        raise SystemExit(f"features of new documents: {features}")
    with tempfile.TemporaryDirectory() as folder:
        pgbn.save(model.training_, Path(folder) / "model")
        pgbn.load(Path(folder) / "model")
        page = model.training_.report(Path(folder) / "report.html", X)
        if page.stat().st_size < 10_000:
            raise SystemExit("the report is empty")
    print(
        "a fit, features and a report:", *(f"{n} {version(n)}" for n in ("numpy", "scipy", "numba"))
    )
    composed = pgbn.zoo.pfa(4).sample(
        {"x": X}, burn_in=3, draws=3, seed=0, sampler="composed", progress=False
    )
    deepest = model.training_.deepest
    drawn = [*deepest.phi, deepest.r, features, *(composed[name] for name in sorted(composed))]
    print("bits", hashlib.sha256(b"".join(array.tobytes() for array in drawn)).hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
