"""Links: how a rate λ becomes data. Only this table in the package names links.

    n ~ Pois(λ),   y ~ p(y | n),   y = 0 if and only if n = 0

The models of the zoo, their training, the topic weights of new rows, scores and synthetic documents
all use a `Link`. `register_link` adds one, also from a file outside the package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import validated
from pgbn.errors import NetworkError, did_you_mean
from pgbn.nodes import BernoulliPoisson, Gamma, Poisson, PoissonGamma
from pgbn.nodes.base import Latent, Observed
from pgbn.nodes.expression import Constant, Expression
from pgbn.nodes.rules import find_evidence, find_link, load_plugins

Array = NDArray[Any]


@dataclass(frozen=True)
class Link:
    """A row of the table of links: how a rate λ becomes data.

    Parameters
    ----------
    name : str
        What ``link=`` of models takes.
    takes : str
        The data that it accepts, in a few words.
    node : type or callable
        The type of the data node, or a function that makes it from a name, the rate, a node called
        noise if ``noise``, and ``dims=``. Its rule for the rate must be that of Poisson counts,
        (n, 1).
    latent : str, callable or None
        How the count n behind a datum y > 0 is drawn for new rows. None: the data are the counts.
        "truncated_poisson": given n ≥ 1. "bessel": given y ~ Gam(n, noise). Or a function of (rng,
        value, rate, noise) that numba can compile and that returns an integer. It passes the stream
        ``rng`` to draws of `pgbn.samplers.variates`.
    noise : bool
        Whether the data have a noise.
    whole : bool
        Whether the data are integers.
    suits : callable, optional
        A function of the non-zero values of data. It says whether "auto" of the estimators picks
        the link.
    turn : int
        "auto" tries the links in the order of these numbers.
    any_rate : bool
        Whether synthetic data are made without counts. A rate may then be 2^31 or more.
    generate_by : callable, optional
        Makes synthetic data from (stream, second stream, rate, noise), instead of ``generate`` of
        the node.

    Examples
    --------
    >>> from pgbn import extend
    >>> link = extend.Link("events", "numbers of events", pgbn.Poisson, latent=None, whole=True)
    >>> link.is_counts
    True
    """

    name: str
    takes: str
    node: Callable[..., Observed]
    latent: str | Callable[..., int] | None
    noise: bool = False
    whole: bool = False
    suits: Callable[[Array], bool] | None = None
    turn: int = 0
    any_rate: bool = False
    generate_by: Callable[[Any, Any, Array, float], Array] | None = None

    @property
    def is_counts(self) -> bool:
        """Whether the data are the counts: they have tokens, lengths and a perplexity."""
        return self.latent is None

    def observe(
        self, name: str, rate: Expression, dims: tuple[str, ...], noise: Latent | None = None
    ) -> Observed:
        """A data node with this link.

        Parameters
        ----------
        name : str
            Its name.
        rate : Expression
            The rate λ.
        dims : tuple of str
            Its dims.
        noise : Latent, optional
            The noise, which a link with noise needs.

        Returns
        -------
        Observed
            The node.

        Examples
        --------
        >>> link = pgbn.extend.Link("events", "numbers of events", pgbn.Poisson, latent=None)
        >>> theta = pgbn.Gamma("theta", 2, 3, dims="doc")
        >>> link.observe("x", theta, ("doc",))
        Poisson('x', rate=theta, dims=('doc',))
        """
        slots = (rate, noise) if self.noise else (rate,)
        return self.node(name, *slots, dims=dims)

    def data_node(self, name: str = "X") -> Observed:
        """A data node of documents × terms, which checks the values of data.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        Observed
            The node; its rate is 1.

        Examples
        --------
        >>> link = pgbn.extend.Link("events", "numbers of events", pgbn.Poisson, latent=None)
        >>> link.data_node().axes
        ('doc', 'term')
        """
        noise = Gamma("noise", 1.0, 1.0) if self.noise else None
        return self.observe(name, Constant(value=1.0), ("doc", "term"), noise)

    def generate(self, stream: Any, second: Any, rate: Array, noise: float) -> Array:
        """Synthetic data, given their rates.

        Parameters
        ----------
        stream : Stream
            The random stream; the data have its shape.
        second : Stream
            Another stream, for links that draw twice.
        rate : array
            The rate of each cell.
        noise : float
            The noise, if the link has noise.

        Returns
        -------
        numpy.ndarray
            The data.

        Examples
        --------
        >>> link = pgbn.extend.Link("events", "numbers of events", pgbn.Poisson, latent=None)
        >>> one, other = (pgbn.extend.Stream(key, (1, 1, 2, 3)) for key in (1, 2))
        >>> link.generate(one, other, np.ones((1, 1, 2, 3)), noise=1.0).shape
        (1, 1, 2, 3)
        """
        if self.generate_by is not None:
            return self.generate_by(stream, second, rate, noise)
        return self.data_node().generate(stream, rate=rate, **self._slots(noise))

    def log_density(self, value: Array, rate: Array, noise: float) -> Array:
        """ln p(y | λ, noise) of every cell.

        Parameters
        ----------
        value : array
            The data y.
        rate : array
            The rate λ of each cell.
        noise : float
            The noise, if the link has noise.

        Returns
        -------
        numpy.ndarray
            A number for each cell.

        Examples
        --------
        >>> link = pgbn.extend.Link("events", "numbers of events", pgbn.Poisson, latent=None)
        >>> bool(np.allclose(link.log_density(np.zeros(2), np.array([1.0, 2.0]), 1.0), [-1, -2]))
        True
        """
        return self.data_node().log_density(value, rate=rate, **self._slots(noise))

    def _slots(self, noise: float) -> dict[str, float]:
        return {"noise": noise} if self.noise else {}


_links: dict[str, Link] = {}


@validated
def register_link(link: Link) -> Link:
    """Add a link to the table; it replaces a link of the same name and node type.

    Parameters
    ----------
    link : Link
        The link. Its name is then a value of ``link=`` everywhere.

    Returns
    -------
    Link
        The same.

    Raises
    ------
    NetworkError
        If the rules of its node do not agree with it, or another link has its name.

    Examples
    --------
    >>> from pgbn import extend
    >>> link = extend.Link("events", "numbers of events", pgbn.Poisson, latent=None, whole=True)
    >>> pgbn.zoo.pgbn(3, link=extend.register_link(link).name).observed
    ['x']
    """
    if not isinstance(link, Link):
        raise NetworkError(f"register_link({link!r}): give a pgbn.zoo.links.Link")
    if not isinstance(link.name, str) or not link.name or link.name == "auto":
        raise NetworkError(f"a link with the name {link.name!r}: give a text other than 'auto'")
    node, former = link.data_node(), _links.get(link.name)
    if former is not None and type(former.data_node()).__qualname__ != type(node).__qualname__:
        raise NetworkError(f"link {link.name!r} exists already, for data that are {former.takes}")
    _check_rules(link, node)
    _links[link.name] = link
    return link


def _check_rules(link: Link, node: Observed) -> None:
    """Check that the rules of the node agree with the link, which alone draws new rows."""
    kind, counts = type(node).__name__, find_link(node)
    if counts is None or counts.slot != "rate":
        raise NetworkError(
            f"link {link.name!r}: {kind} has no counts behind its rate; declare them with "
            f"@pgbn.extend.link_rule({kind}, 'rate')"
        )
    if counts.all_cells:
        raise NetworkError(
            f"link {link.name!r}: the link rule of {kind} looks at every cell (all_cells=True), "
            "and new documents are drawn from the cells that are not 0; compose a network with it"
        )
    if (counts.counts is None) != link.is_counts:
        remedy = "latent=None" if counts.counts is None else "how one of them is drawn, latent="
        are = "its data" if counts.counts is None else "drawn by its link rule"
        raise NetworkError(f"link {link.name!r}: the counts of {kind} are {are}; give {remedy}")
    told = find_evidence(node, "rate", Gamma("theta", 1.0, 1.0))
    if told.count != "count" or told.exposure != 1.0:
        raise NetworkError(
            f"link {link.name!r}: the rule of {kind} for its rate must be that of Poisson counts; "
            f"give evidence_rule({kind}, 'rate', relation='given', count='count', exposure=1.0)"
        )


def link_names() -> tuple[str, ...]:
    """The names of all links, those of the package first."""
    return tuple(_links)


def describe_links() -> str:
    """All links with the data they take: 'poisson' (counts), … or 'gamma' (reals ≥ 0)."""
    *others, last = (f"{name!r} ({link.takes})" for name, link in _links.items())
    return f"{', '.join(others)} or {last}"


def get_link(link: Any, argument: str = "link") -> Link:
    """The link of this name; plug-ins are searched for an unknown name."""
    if isinstance(link, str):
        if link not in _links:
            load_plugins()
        if link in _links:
            return _links[link]
    hint = did_you_mean(link, _links) if isinstance(link, str) else ""
    raise NetworkError(f"{argument}={link!r}: must be {describe_links()}.{hint}")


def suitable_link(values: Array) -> str:
    """The link that "auto" chooses, given the non-zero values of data."""
    for name, link in sorted(_links.items(), key=lambda pair: pair[1].turn):
        if link.suits is not None and link.suits(values):
            return name
    raise NetworkError(f"link='auto': no link suits these data; give {describe_links()}")


# ---- the links of the package ---------------------------------------------------------


def _is_whole(values: Array) -> bool:
    return values.dtype.kind in "iu" or bool((values == np.floor(values)).all())


def _generate_bits(stream: Any, second: Any, rate: Array, noise: float) -> Array:
    """b ~ Bernoulli(1 − e^{−λ}), as floats."""
    node = BernoulliPoisson("b", Constant(value=1.0))
    return node.generate(stream, rate=rate).astype(np.float64)


def _generate_reals(stream: Any, second: Any, rate: Array, noise: float) -> Array:
    """y ~ Gam(n, noise), n ~ Pois(λ)."""
    count = Poisson("n", Constant(value=1.0)).generate(stream, rate=rate)
    return Gamma("y", 1.0, 1.0).generate(second, shape=count * 1.0, rate=noise)


COUNTS = register_link(
    Link("poisson", "counts", Poisson, latent=None, whole=True, suits=_is_whole, turn=1)
)
register_link(
    Link(
        "bernoulli",
        "0 and 1",
        BernoulliPoisson,
        latent="truncated_poisson",
        whole=True,
        any_rate=True,
        generate_by=_generate_bits,
    )
)
REALS = register_link(
    Link(
        "gamma",
        "reals ≥ 0",
        PoissonGamma,
        latent="bessel",
        noise=True,
        suits=lambda values: True,
        turn=2,
        generate_by=_generate_reals,
    )
)
