"""What training asks of rooms above: the report, a summary in Jupyter, perplexity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["Reportable", "completion_of"]


def completion_of(model: Any, X: Any, sweeps: int = 50) -> float:
    """The perplexity of one half of the tokens of each document, given the other half."""
    from pgbn.evaluation import completion_perplexity

    return completion_perplexity(model, X, burn_in=sweeps, samples=sweeps).perplexity()


class Reportable:
    """Adds `report` and the HTML that Jupyter shows."""

    def report(self, path: str | Path = "report.html", X: Any = None, **options: Any) -> Path:
        """Write the HTML report; with documents ``X`` it has a map of them. The options are
        those of `pgbn.report.report_data`, among them ``vocabulary``, ``titles``, ``texts``,
        ``dates``, ``classes``, ``held_out`` and ``relevance``; of a network of a family of its own,
        those of `pgbn.report.run_data_from_grown`."""
        from pgbn.plot import plot
        from pgbn.report import write_report
        from pgbn.training.grown import GrownNetwork
        from pgbn.training.trained import unwrapped

        network = unwrapped(self)
        if isinstance(network, GrownNetwork):
            options.setdefault("picture", str(plot(network.network())))
        return write_report(self, path, X, **options)

    def to_arviz(self) -> Any:
        """The draws that training kept (``keep_draws``), as ArviZ takes them, with the names of the
        terms as coords (needs the extra ``pgbn[arviz]``)."""
        from pgbn.evaluation.inference_data import kept_data

        return kept_data(self)

    def _repr_html_(self) -> str | None:
        from pgbn.report import summary_html
        from pgbn.training.trained import TrainedNetwork, unwrapped

        # Of other networks a notebook shows what `repr` says.
        return summary_html(self) if isinstance(unwrapped(self), TrainedNetwork) else None
