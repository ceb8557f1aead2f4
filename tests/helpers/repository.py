"""Where the files of the repository are."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DOCS", "ROOT", "doc_pages"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def doc_pages() -> list[Path]:
    """The pages of the documentation, without those that `make docs` has built."""
    return sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
