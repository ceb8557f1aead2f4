"""Tests of samplers, for ours and for a user's own nodes."""

from pgbn.testing.geweke import GewekeResult, geweke

__all__ = ["GewekeResult", "geweke"]
