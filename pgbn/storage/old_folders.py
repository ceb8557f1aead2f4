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


# The earlier names of arguments, each with the names of others of which one must stand beside it:
# a node of a user may have any name.
_ARGUMENTS = {
    "layer1": ("sampler", {"burn_in", "seed", "transform_burn_in"}),
    "collect": ("sweeps", {"burn_in"}),
    "samples": ("draws", {"burn_in"}),
    "transform_samples": ("transform_draws", {"transform_burn_in"}),
    "local_samples": ("local_draws", {"local_burn_in"}),
    "merge_twins": ("merge_duplicates", {"transform_burn_in"}),
    "column": ("text_column", {"encoding"}),
    "label": ("name_column", {"encoding"}),
}


def renamed(content: Any) -> Any:
    """The content of a manifest with the present names of arguments."""
    if isinstance(content, list):
        return [renamed(each) for each in content]
    if not isinstance(content, dict):
        return content
    found = {}
    for key, value in content.items():
        new, beside = _ARGUMENTS.get(key, (key, set()))
        known = new not in content and not beside.isdisjoint(content)
        found[new if known else key] = value if key == "record" else renamed(value)
    if "batch_size" in found and "collect" in found:  # of minibatches
        found["average"] = found.pop("collect")
    return found


def converted(body: dict[str, Any]) -> dict[str, Any]:
    """A manifest as this version writes it."""
    kind, content = body["kind"], renamed(body["content"])
    body = {**body, "content": content}
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


_OF_FEATURES = ("model", "rows", "columns", "terms", "layer", "burn_in", "draws", "seed", "dtype")


def old_features(target: Path, file: Path) -> dict[str, Any] | None:
    """Convert the rows and the note that `transform_to` of earlier versions had next to its
    ``target``: the rows move to ``file``, and the note becomes a manifest. Returns None if there
    are none."""
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
