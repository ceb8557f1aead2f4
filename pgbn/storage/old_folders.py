"""Convert manifests of earlier versions to the current form: every converter is here.

Unfinished work has the content {"settings": its arguments, "object": its position}
(`pgbn.storage.runner`). Earlier versions had a form for each kind of work.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

# The earlier names of the settings of each kind of work.
_SETTINGS = {
    "run": "plan", "corpus": "settings", "checkpoint": "arguments", "minibatch": "settings"
}  # fmt: skip


def converted(body: dict[str, Any]) -> dict[str, Any]:
    """A manifest as this version writes it."""
    kind, content = body["kind"], body["content"]
    name, place = _SETTINGS.get(kind), content.get("object")
    if kind in ("run", "corpus"):  # settings were part of the position
        old = place if isinstance(place, dict) and name in place else None
    else:
        old = content if name is not None and place is None else None
    if old is None:
        return body
    place = {key: value for key, value in old.items() if key != name}
    if kind == "checkpoint":  # with entries that the first versions did not write
        place = {"machine": None, "names": None, **place}
        if isinstance(place.get("trace"), dict):
            place["trace"] = {"before_merging": 0, **place["trace"]}
    return {**body, "content": {"settings": old.get(name), "object": place}}


_OF_FEATURES = ("model", "rows", "columns", "terms", "layer", "burn_in", "samples", "seed", "dtype")


def old_features(target: Path, file: Path) -> dict[str, Any] | None:
    """Convert the rows and the note that `pgbn.transform_to` had next to its ``target``: the rows
    move to ``file``, and the note becomes a manifest. Returns None if there are none."""
    rows, note = (target.with_name(f".{target.name}.{end}") for end in ("rows", "json"))
    if rows.is_symlink() or not rows.is_file() or not note.is_file():
        return None
    try:
        found = json.loads(note.read_bytes())
        settings = dict(zip(_OF_FEATURES, found.pop("settings"), strict=True))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    os.replace(rows, file)
    note.unlink()
    return {"kind": "features", "content": {"settings": settings, "object": found}, "groups": {}}
