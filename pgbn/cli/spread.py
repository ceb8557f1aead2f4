"""The option --ray: rows on workers of Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pgbn.errors import DataError

if TYPE_CHECKING:
    from pgbn.samplers.on_ray import Ray

__all__ = ["SPREAD", "Spread", "spread_over"]

SPREAD = "partial"  # the sampler of counts whose rows can be spread
Spread = Annotated[str | None, typer.Option(
    "--ray", metavar="N|ADDRESS", show_default=False, help="Work on documents with N processes of "
    "Ray, or with all cores of the cluster at an address (auto: the one this machine is in); of "
    "counts, the first layer is then drawn by 'partial'.")]  # fmt: skip


def spread_over(ray: str | None, threads: int | None) -> Ray | None:
    """The workers that ``--ray`` asks for."""
    if ray is None:
        return None
    from pgbn.samplers.on_ray import Ray

    if threads is not None:
        raise DataError(f"--threads {threads}, --ray {ray}: give one of them")
    return Ray(workers=int(ray)) if ray.isascii() and ray.isdigit() else Ray(address=ray)
