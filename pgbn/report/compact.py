"""Numbers, arrays and JSON in few bytes, as the page holds them."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["base64_array", "script_json", "short_number"]


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
