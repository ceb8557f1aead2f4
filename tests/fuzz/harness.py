"""Coverage-guided fuzzing by atheris (``pip install atheris``), beginning with what was found:

    python -m tests.fuzz.harness corpus tests/fuzz/found/corpus -max_total_time=600

Targets are those of `tests.fuzz.targets`; the other arguments are libFuzzer's. What it finds it
writes to a file crash-…: keep that in tests/fuzz/found.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

__all__ = ["main"]


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["pgbn.storage", "pgbn.network", "pgbn.nodes"]):
        import pgbn
        from tests.fuzz.targets import TARGETS

        _ = pgbn.Network, pgbn.load  # pgbn imports its rooms when they are asked for
    target = TARGETS[sys.argv[1]]
    with tempfile.TemporaryDirectory() as place:
        atheris.Setup([sys.argv[0], *sys.argv[2:]], lambda data: target(data, Path(place)))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
