"""Texts, numbers and tables as HTML shows them."""

from __future__ import annotations

import base64
import json
import math
import platform
import re
from ast import literal_eval
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.data.nonzero import Cells
from pgbn.training.trained import TrainedNetwork
from pgbn.versions import __version__
from pgbn.zoo.links import get_link

_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def clean_text(text: object) -> str:
    """Text that UTF-8 can hold; half characters become question marks, and what would command a
    terminal that shows the file, the sign of an unknown character."""
    return _CONTROL.sub("\ufffd", str(text).encode("utf-8", "replace").decode("utf-8"))


def html_text(value: object) -> str:
    """Any value as text that HTML shows as it is."""
    return escape(clean_text(value))


def grouped(number: int) -> str:
    """12 345, with narrow spaces at which no line is broken."""
    return f"{number:,}".replace(",", "\u202f").replace("-", "\u2212")


def several(number: int, thing: str) -> str:
    """1 topic, 2 topics."""
    return f"{grouped(number)} {thing}{'' if number == 1 else 's'}"


def html_table(
    heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], caption: str
) -> str:
    """A table; the cells are HTML already."""
    kinds = [kind for _, kind in heads]
    head = "".join(f'<th scope="col" class="{kind}">{label}</th>' for label, kind in heads)
    body = "".join(
        "<tr>"
        + "".join(
            cell if cell.startswith("<td") else f'<td class="{kind}">{cell}</td>'
            for cell, kind in zip(row, kinds, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><caption class="hidden">{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


# ---- facts --------------------------------------------------------------------------------------
#
# The settings of a run: what is known of a trained network, and the code that repeats it.


_ARGUMENTS = (
    "max_width", "depth", "eta", "burn_in", "collect", "link", "seed", "layer1", "average",
    "min_width", "min_count", "trace_every",
)  # fmt: skip


def trained_facts(trained: TrainedNetwork, cells: Cells | None) -> dict[str, Any]:
    """Sizes, link and priors of a trained network, by readable names."""
    facts: dict[str, Any] = {
        "layer widths": " – ".join(map(str, trained.widths)),
        "terms": trained.vocabulary_size,
    }
    if cells is not None:
        facts |= {"documents": cells.rows, "tokens": int(cells.values.sum())}
    facts |= {"link": trained.link, "sweeps in all": trained.sweeps}
    if trained.eta:
        facts["eta, by layer"] = ", ".join(f"{eta:g}" for eta in trained.eta)
    for name in type(trained.priors).__annotations__:
        if name != "noise" or get_link(trained.link).noise:
            first, second = getattr(trained.priors, name)
            facts[f"prior of {name}"] = f"({first:g}, {second:g})"
    return facts | used_versions()


def code_to_repeat(settings: Mapping[str, Any]) -> str:
    """The call of `train_layerwise` with these settings, where enough of them are known; and what
    was done after it."""
    if not {"max_width", "depth", "seed"} <= settings.keys():
        return ""
    given = {name: settings[name] for name in _ARGUMENTS if name in settings}
    rows = [f"    {name}={_literal(value)}," for name, value in given.items()]
    merged = "twins were merged" in str(settings.get("training stopped", ""))
    after = ["# then twins were merged, as pgbn fit", "# and pgbn.PGBN do by themselves"]
    return "\n".join(["import pgbn", "", "model = pgbn.train_layerwise(", "    X,", *rows, ")",
                      *(after if merged else [])])  # fmt: skip


def _literal(value: Any) -> str:
    """A value as Python code; text that is code already, such as "[1, 2]", stays."""
    try:
        return repr(literal_eval(value) if isinstance(value, str) else value)
    except (ValueError, SyntaxError):
        return repr(value)


def used_versions() -> dict[str, str]:
    """What the numbers were made with."""
    return {"pgbn": __version__, "numpy": np.__version__, "python": platform.python_version()}


# ---- compact ------------------------------------------------------------------------------------
#
# Numbers, arrays and JSON in few bytes, as the page holds them.


def script_json(value: Any) -> str:
    """JSON that may stand inside <script>: no character in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def short_number(value: float, digits: int = 4) -> float | None:
    """A number with as many digits as the page shows; None if it is not finite."""
    number = float(f"{value:.{digits}g}")
    if not math.isfinite(number):
        return None
    return int(number) if number == int(number) else number


def base64_array(array: NDArray[Any]) -> str:
    """The bytes of an array; the script knows its type."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
