"""Networks as JSON in a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pgbn.network.network import Network
from pgbn.storage.codecs import Files, Parts, register_codec

__all__: list[str] = []


def _encode(network: Network) -> Parts:
    return Parts({"network": json.loads(network.to_json())})


def _decode(
    content: Mapping[str, Any],
    files: Files,
    /,
    *,
    threads: int | None = None,
    names: Sequence[str] | None = None,
) -> Network:
    return Network.from_json(json.dumps(content["network"]))


register_codec("network", Network, _encode, _decode)
