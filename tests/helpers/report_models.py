"""Small trained networks for the tests of the report and the figures."""

import numpy as np

from pgbn.training import LayerwiseTraining
from pgbn.training.trained import TrainedNetwork

# Words that would break a page which pastes them into HTML, a script or a label.
HOSTILE = [
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<!--",
    "&amp;",
    'it\'s "quoted"',
    "\u05e9\u05dc\u05d5\u05dd",
    "\u0645\u0631\u062d\u0628\u0627",
    "日本語",
    "line\u2028separator",
    "\ud800",
    "nul\x00l",
    "${x}`",
    "$x^2$",
    "supercalifragilisticexpialidociousword",
    "e\u0301motion",
    "",
]


def trained(
    widths: tuple[int, ...] = (12, 6, 3), terms: int = 60, documents: int = 80, seed: int = 0
) -> LayerwiseTraining:
    """Random networks of depth 1 … T of these widths, as `train_layerwise` returns them."""
    g = np.random.default_rng(seed)
    phi, theta, below = [], [], terms
    for width in widths:
        phi.append(g.dirichlet(np.full(below, 0.1), size=width))
        theta.append(g.gamma(0.3, size=(documents, width)))
        below = width
    networks = []
    for depth in range(1, len(widths) + 1):
        sweeps = np.arange(2.0, 42.0, 2.0)
        likelihood = -5000.0 + 40 * depth - 900 / sweeps**2 + g.normal(size=sweeps.size)
        networks.append(
            TrainedNetwork.of_topics(
                phi=tuple(phi[:depth]),
                r=g.gamma(1.0, size=widths[depth - 1]),
                c=np.ones(depth),
                eta=(0.05,) * depth,
                weights=tuple(units.sum(axis=0) for units in theta[:depth]),
                traces={"sweep": sweeps, "log_likelihood": likelihood,
                        "width": np.full(sweeps.size, float(widths[depth - 1]))},
                state={f"theta{t}": units for t, units in enumerate(theta[:depth], 1)},
                sweeps=40 * depth,
            )
        )  # fmt: skip
    return LayerwiseTraining(tuple(networks), f"depth {len(widths)} reached")


def vocabulary(terms: int = 60) -> list[str]:
    return [*HOSTILE, *(f"word{v}" for v in range(terms - len(HOSTILE)))]


def titles(documents: int = 80) -> list[str]:
    return [f"Title {j} <b>bold</b> & more" for j in range(documents)]


def texts(documents: int = 80) -> list[str]:
    return [f"Text {j} </script> " + "lorem ipsum " * 40 for j in range(documents)]
