"""The names of dims."""

import pytest

import pgbn
from pgbn.errors import NetworkError

ESCAPE = "\x1b]0;title\x07"


@pytest.mark.parametrize("dim", [ESCAPE, "a\nb", "\u202eterm"])
def test_dims_that_would_command_a_terminal_are_refused(dim: str) -> None:
    scores = pgbn.Gamma("scores", 1, 1, dims="topic")
    topics = pgbn.Dirichlet("topics", 1, over=dim, dims="topic")
    for node in (
        pgbn.Poisson("x", pgbn.Gamma("rate", 1, 1, dims=dim), dims=dim),
        pgbn.Poisson("x", topics @ scores, dims=dim),
    ):
        with pytest.raises(NetworkError, match="holds control characters") as told:
            pgbn.Network(node)
        assert dim not in str(told.value)


def test_other_alphabets_are_names() -> None:
    net = pgbn.Network(pgbn.Poisson("x", pgbn.Gamma("rate", 1, 1, dims="слово"), dims="слово"))
    assert "слово" in str(net)
