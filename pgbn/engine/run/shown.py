"""How chains, draws and new rows are shown: as text in a terminal, as a table in a notebook."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import printable


@dataclass(frozen=True)
class Summary:
    """A heading, the name, dims and shape of each array, and further facts by name."""

    heading: str
    arrays: Sequence[tuple[str, Sequence[str], Sequence[int]]]
    facts: Mapping[str, str]

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The facts that say something."""
        return [(name, text) for name, text in self.facts.items() if text]

    def text(self) -> str:
        """One line for each array and fact."""
        arrays = [
            f"  {name}[{', '.join(dims)}] {tuple(shape)}" for name, dims, shape in self.arrays
        ]
        facts = [f"  {name}: {value}" for name, value in self.lines]
        return "\n".join(printable(line, one_line=True) for line in (self.heading, *arrays, *facts))

    def html(self) -> str:
        """A table of the arrays, and the facts below it; names are escaped."""

        def cells(kind: str, *entries: str) -> str:
            return "".join(f"<{kind}>{escape(printable(each))}</{kind}>" for each in entries)

        rows = "".join(
            f"<tr>{cells('td', name, ', '.join(dims), ' × '.join(map(str, shape)))}</tr>"
            for name, dims, shape in self.arrays
        )
        facts = "".join(f"<li>{escape(printable(f'{n}: {v}'))}</li>" for n, v in self.lines)
        return (
            f"<div><strong>{escape(printable(self.heading))}</strong>"
            f"<table><thead><tr>{cells('th', 'name', 'dims', 'shape')}</tr></thead>"
            f"<tbody>{rows}</tbody></table><ul>{facts}</ul></div>"
        )


class Shown:
    """What is shown by its `Summary`."""

    def _summary(self) -> Summary:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._summary().text()

    def _repr_html_(self) -> str:
        return self._summary().html()


class NamedArrays(Shown):
    """Arrays by name, read like a dict."""

    @property
    def _named(self) -> Mapping[str, NDArray[np.float64]]:
        """The arrays."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._named

    def __len__(self) -> int:
        return len(self._named)

    def keys(self) -> KeysView[str]:
        """The names, in order.

        Examples
        --------
        >>> import pgbn as pg
        >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1]]}, 1, 4, keep=["r", "theta1"])
        >>> list(draws.keys())
        ['r', 'theta1']
        """
        return self._named.keys()

    def values(self) -> ValuesView[NDArray[np.float64]]:
        """The arrays, in the order of their names.

        Examples
        --------
        >>> import pgbn as pg
        >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1]]}, 1, 4, keep=["r", "theta1"])
        >>> [array.shape for array in draws.values()]
        [(1, 4, 2), (1, 4, 1, 2)]
        """
        return self._named.values()

    def items(self) -> ItemsView[str, NDArray[np.float64]]:
        """Pairs of a name and its array.

        Examples
        --------
        >>> import pgbn as pg
        >>> draws = pg.zoo.pfa(2).sample({"x": [[2, 0, 1]]}, 1, 4, keep=["r", "theta1"])
        >>> {name: array.shape for name, array in draws.items()}
        {'r': (1, 4, 2), 'theta1': (1, 4, 1, 2)}
        """
        return self._named.items()
