"""LayerwiseTraining: the networks of a training, from one layer to the deepest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import DataError
from pgbn.training.topic_methods import TopicMethods

# ---- methods of folders above -------------------------------------------------------------------
#
# Functions of folders above that training uses: the report, a summary in Jupyter, perplexity.


def completion_of(model: Any, X: Any, sweeps: int = 50) -> float:
    """The perplexity of one half of the tokens of each document, given the other half."""
    from pgbn.evaluation import HeldOut

    return HeldOut.of_model(model, X, burn_in=sweeps, draws=sweeps).perplexity()


class Reportable:
    """Adds `report` and the HTML that Jupyter shows."""

    def report(self, path: str | Path = "report.html", X: Any = None, **options: Any) -> Path:
        """Write the HTML report; with documents ``X`` it has a map of them. The options are
        those of `pgbn.report.report_data`, among them ``vocabulary``, ``names``, ``texts``,
        ``dates``, ``classes``, ``held_out``, ``relevance`` and ``coords``."""
        from pgbn.report import write_report

        return write_report(self, path, X, **options)

    def to_arviz(self) -> Any:
        """The draws that training kept (``keep_draws``), as ArviZ takes them, with the names of the
        terms as coords (needs the extra ``pgbn[arviz]``)."""
        from pgbn.evaluation.inference_data import kept_data

        return kept_data(self)

    def _repr_html_(self) -> str | None:
        from pgbn.report.page import summary_html
        from pgbn.training.trained import is_belief

        # A notebook shows the `repr` of other networks.
        return summary_html(self) if is_belief(self) else None


# ---- training result ----------------------------------------------------------------------------


@dataclass(frozen=True)
class LayerwiseTraining(TopicMethods, Reportable):
    """The networks of depth 1, 2, …, each a `TrainedNetwork`, and why training stopped.

    ``training[2]`` is the network of two layers; ``for network in training`` goes through all.
    """

    models: tuple[Any, ...]
    stopped: str

    @property
    def deepest(self) -> Any:
        """The network with the most layers, which was trained last. Only it can be trained further,
        unless ``keep_states`` was given."""
        return self.models[-1]

    @property
    def widths(self) -> tuple[int, ...]:
        """(K_1, …, K_T) of the deepest network."""
        return tuple(self.deepest.widths)

    @property
    def traces(self) -> Mapping[str, NDArray[np.float64]]:
        """The traces of the deepest network, from the start of its top layer: arrays "sweep",
        "log_likelihood" and "width", the units of that layer with counts."""
        return dict(self.deepest.traces)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.models)

    def __len__(self) -> int:
        return len(self.models)

    def __getitem__(self, depth: int) -> Any:
        """The network of ``depth`` layers."""
        for network in self.models:
            if network.depth == depth:
                return network
        known = [network.depth for network in self.models]
        raise DataError(f"there is no network of depth {depth!r}; trained depths: {known}")

    def with_vocabulary(self, names: Sequence[str] | None) -> LayerwiseTraining:
        """The same with names of the terms; None changes nothing."""
        if names is None:
            return self
        named = (replace(network, vocabulary=names) for network in self.models)
        return replace(self, models=tuple(named))

    def __repr__(self) -> str:
        return f"LayerwiseTraining(widths={self.widths}, stopped={self.stopped!r})"
