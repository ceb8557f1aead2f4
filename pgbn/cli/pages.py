"""The commands that write about a model: explain, report."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgbn.cli.console import check_target, output
from pgbn.cli.options import one_of
from pgbn.errors import DataError, PgbnError

if TYPE_CHECKING:
    from pgbn.cli.models import Model
    from pgbn.report import ReportData, Series

__all__ = ["explain_command", "page_data", "report_command"]


def _formats() -> Iterable[str]:
    from pgbn.explain.render import FORMATS

    return FORMATS


def explain_command(
    model: Annotated[Path, typer.Argument(help="A saved model, or a network in a JSON file.",
                                          show_default=False)],
    format: Annotated[str, typer.Option(callback=one_of(table=_formats),
                                        help="text, markdown, latex or html.")] = "text",
) -> None:  # fmt: skip
    """Print the model and the derivation of its sampler.

    Example:

      pgbn explain model --format latex > derivation.tex
    """
    from pgbn.network.network import Network
    from pgbn.storage.folders import load
    from pgbn.training.trained import unwrapped

    if model.is_file() and model.suffix == ".json" and model.name != "model.json":
        try:
            network = Network.from_json(model.read_text("utf-8"))
        except UnicodeDecodeError:
            raise DataError(f"{model}: not a network in JSON") from None
    else:
        trained = unwrapped(load(model))
        found = trained if isinstance(trained, Network) else getattr(trained, "network", None)
        if found is None:
            raise DataError(f"{model}: an estimator that was not fitted has no network yet")
        network = found if isinstance(found, Network) else found()
    text = network.explain(format)
    output.result({"format": format, "text": text}, lambda: output.say(text))


def report_command(
    models: Annotated[list[Path], typer.Argument(
        help="The folder of a saved model; of several, if they are chains with different seeds.",
        show_default=False)],
    to: Annotated[Path, typer.Option("--output", "-o", help="The HTML file.")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option(help="The title of the page.")] = "Topics by layer",
) -> None:  # fmt: skip
    """Write one self-contained HTML page about a model.

    Of several chains (the same data and options, other seeds) it shows the topics of the first,
    and R-hat and the effective sample size of all.

    Examples:

      pgbn report model -o report.html

      pgbn fit texts/ -o chain1 --seed 1

      pgbn fit texts/ -o chain2 --seed 2

      pgbn report chain1 chain2
    """
    from pgbn.cli.models import open_model
    from pgbn.report import write_report

    check_target(to)
    data = page_data([open_model(model) for model in models], title=title)
    page = write_report(data, to)
    facts = {
        "report": str(page),
        "bytes": page.stat().st_size,
        "chains": len(models),
        "quantities": [
            {"name": series.name, "rhat": series.rhat, "ess": series.ess} for series in data.series
        ],
    }

    def text() -> None:
        for series in data.series if len(models) > 1 else ():
            output.say(_judgement(series))
        output.say(page)

    output.result(facts, text)


def _judgement(series: Series) -> str:
    if not isfinite(series.ess):
        return f"{series.name}: too few sweeps to tell R-hat; run longer"
    verdict = "" if series.rhat <= 1.01 else "; run longer"
    return (
        f"{series.name}: R-hat {series.rhat:.3f}, effective sample size {series.ess:.0f}{verdict}"
    )


def page_data(models: list[Model], texts: list[str] | None = None, *, title: str) -> ReportData:
    """What a report shows of saved models, which are chains of one."""
    from pgbn.report import report_data

    first = models[0]
    for other in models[1:]:
        _check_chains(first, other)
    record = dict(first.saved.record)
    arguments = record.pop("arguments", {})
    settings = {key: value for key, value in {**arguments, **record}.items() if value is not None}
    if len(models) > 1:
        settings["seeds of the chains"] = ", ".join(str(_arguments(m).get("seed")) for m in models)
    return report_data(
        [model.result for model in models],
        first.saved.data,
        vocabulary=first.vocabulary,
        documents=texts,
        titles=first.saved.labels,
        max_width=arguments.get("max_width"),
        settings={key: str(value) for key, value in settings.items()},
        title=title,
    )


def _arguments(model: Model) -> dict[str, Any]:
    """What a model was trained with; older versions did not write down what was left out."""
    from pgbn.training.settings import Settings

    written = dict(model.saved.record.get("arguments", {}))
    try:
        return Settings.from_content(written).content()
    except (PgbnError, TypeError):  # a record that somebody else has written
        return written


def _check_chains(one: Model, two: Model) -> None:
    """Chains can be compared if nothing but their seeds is different."""
    if one.vocabulary != two.vocabulary or one.saved.labels != two.saved.labels:
        raise DataError(f"{two.path}: other terms or documents than {one.path}; chains share them")
    first, second = _arguments(one), _arguments(two)
    for name in {**first, **second}:
        mine, other = first.get(name), second.get(name)
        if name == "seed" and mine == other:
            raise DataError(f"{two.path}: the same chain as {one.path} (seed {mine}); give others")
        if name != "seed" and mine != other:
            raise DataError(
                f"{two.path}: {name}={other!r}, but {name}={mine!r} in {one.path}; chains differ "
                "in their seeds only"
            )
