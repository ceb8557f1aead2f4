"""Manifests of earlier versions in today's form: every converter is here.

Unfinished work has the content {"settings": what was asked for, "object": where it stands}
(`pgbn.storage.runner`). Earlier versions had a form for each kind of work.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def converted(body: dict[str, Any]) -> dict[str, Any]:
    """A manifest as this version writes it."""
    content = body["content"]
    place = content.get("object")
    if body["kind"] == "run" and isinstance(place, dict) and "plan" in place:
        return _with(body, place["plan"], _without(place, "plan"))
    if body["kind"] == "corpus" and isinstance(place, dict) and "settings" in place:
        return _with(body, place["settings"], _without(place, "settings"))
    if body["kind"] == "checkpoint" and place is None:
        return _with(body, content.get("arguments"), _place(_without(content, "arguments")))
    if body["kind"] == "minibatch" and place is None:
        return _with(body, content.get("settings"), _without(content, "settings"))
    return body


def _place(content: dict[str, Any]) -> dict[str, Any]:
    """Where a training stands, with what the first versions did not say."""
    trace = content.get("trace")
    if isinstance(trace, dict):
        content["trace"] = {"before_merging": 0, **trace}
    return {"machine": None, "names": None, **content}


def _with(body: Mapping[str, Any], settings: Any, place: Any) -> dict[str, Any]:
    return {**body, "content": {"settings": settings, "object": place}}


def _without(entries: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in entries.items() if name not in names}


_OF_FEATURES = ("model", "rows", "columns", "terms", "layer", "burn_in", "samples", "seed", "dtype")


def old_features(target: Path, file: Path) -> dict[str, Any] | None:
    """The rows and the note that `pgbn.transform_to` had next to its ``target``: the rows move to
    ``file``, and the note becomes a manifest. None: there are none."""
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
