"""Published models as compositions of nodes: one short file each."""

from pgbn.zoo.pgbn import pfa, pgbn

__all__ = ["pfa", "pgbn"]
