"""The commands that write about a model: explain, report."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgbn.cli.console import output, output_file
from pgbn.cli.options import Reading, one_of
from pgbn.errors import DataError, PgbnError, notify

if TYPE_CHECKING:
    from pgbn.cli.models import Model
    from pgbn.report.data import ReportData, Series
    from pgbn.storage.folders import Saved


_SUFFIXES = {".txt": "text", ".md": "markdown", ".tex": "latex", ".html": "html"}


def _formats() -> Iterable[str]:
    from pgbn.explain.render import FORMATS

    return FORMATS


def explain_command(
    model: Annotated[Path, typer.Argument(
        metavar="MODEL", help="A saved model, or a network in a JSON file.", show_default=False)],
    format: Annotated[str | None, typer.Option(
        callback=one_of(table=_formats), metavar="FORMAT", show_default=False,
        help="text, markdown, latex or html. By default the suffix of the file shows it, and text "
        "is printed.")] = None,
    to: Annotated[Path | None, output_file("The file for the derivation", *_SUFFIXES)] = None,
) -> None:  # fmt: skip
    """Write the model and the derivation of its sampler.

    Examples:

      pgbn explain model

      pgbn explain model -o derivation.tex
    """
    from pgbn.cli.models import read_network
    from pgbn.storage.atomic_files import save_text

    network = read_network(model)
    form = format or _SUFFIXES.get("" if to is None else to.suffix.lower(), "text")
    text = network.explain(form)
    if to is None:
        return output.result({"format": form, "text": text}, lambda: output.say(text))
    save_text(to, text, "derivation")
    output.result({"output": str(to), "format": form}, lambda: output.say(to))


def report_command(
    models: Annotated[list[Path], typer.Argument(
        help="The folder of a model or run. Give several to compare chains with different seeds.",
        metavar="MODEL...", show_default=False)],
    to: Annotated[Path, output_file("The page", ".html", ".htm")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(
        metavar="TEXT", help="The title of the page.", show_default=False)] = None,
    held_out: Annotated[Path | None, typer.Option(
        metavar="DATA", show_default=False, help="Other documents: the page shows how well each "
        "number of layers predicts them.")] = None,
    *,
    reading: Reading,
) -> None:  # fmt: skip
    """Write an HTML page about a model or a run.

    The page needs no other file. It shows texts, dates and classes of the documents if pgbn fit
    kept them (--keep-texts, --date-column, --class-column).

    Several chains have the same data and options, and other seeds. The page shows the topics of
    the first, and R-hat and the effective sample size of all.

    Examples:

      pgbn report model -o report.html --held-out new.jsonl

      pgbn fit texts/ -o chain1 --seed 1

      pgbn fit texts/ -o chain2 --seed 2

      pgbn report chain1 chain2

      pgbn report run -o run.html   (of pgbn sample or net.sample, finished or not)
    """
    from pgbn.cli.models import Model, read_for
    from pgbn.report import write_report
    from pgbn.storage.folders import open_saved
    from pgbn.training.trained import is_belief

    saved = [open_saved(model) for model in models]
    topics = all(is_belief(each.object) for each in saved)
    if held_out is None and reading != Reading():
        raise DataError(
            "--input-format, --text-column, --name-column, --encoding and --terms tell how "
            "--held-out is read; omit them, or give it"
        )
    if held_out is not None and not topics:
        raise DataError(f"--held-out {held_out}: only for topic models; omit it")
    if topics:
        opened = [Model(path, each) for path, each in zip(models, saved, strict=True)]
        others = None if held_out is None else read_for(opened[0], held_out, reading)[1]
        data = page_data(opened, title=title, held_out=others)
    else:
        data = _any_network(models, saved, title)
    chains = data.series[0].values.shape[0] if data.series else len(models)
    page = write_report(data, to)
    facts = {
        "report": str(page),
        "bytes": page.stat().st_size,
        "chains": chains,
        "quantities": [
            {"name": series.name, "rhat": series.rhat, "ess": series.ess} for series in data.series
        ],
    }

    def text() -> None:
        for series in data.series if chains > 1 else ():
            output.say(_judgement(series))
        output.say(page)

    output.result(facts, text)


def _any_network(folders: list[Path], saved: list[Saved], title: str | None) -> ReportData:
    """The data of a report about a run, or about a trained network with its own family."""
    from pgbn.cli.models import Model, open_draws
    from pgbn.engine.run.draws import Draws
    from pgbn.report import report_data
    from pgbn.training.trained import TrainedNetwork, unwrapped

    first, network = saved[0].object, unwrapped(saved[0].object)
    if not isinstance(first, Draws) and not isinstance(network, TrainedNetwork):
        Model(folders[0], saved[0])  # raises an error that names the content
    if len(folders) > 1:
        raise DataError(
            f"{', '.join(map(str, folders))}: a report is of one run, which has all its chains "
            "(pgbn sample --chains), or of one training, unless all are topic models; give one "
            "folder"
        )
    if isinstance(first, Draws):
        return report_data(open_draws(folders[0])[0], title=title or "")
    settings = {key: str(value) for key, value in saved[0].record.get("arguments", {}).items()}
    name = title or f"{', '.join(network.network.observed)}: a network of {network.depth} layers"
    return report_data(first, title=name, settings=settings)


def _judgement(series: Series) -> str:
    if not isfinite(series.ess):
        return f"{series.name}: too few sweeps for R-hat; run longer"
    verdict = "" if series.verdict == "mixed" else f"; {series.verdict}"
    return (
        f"{series.name}: R-hat {series.rhat:.3f}, effective sample size {series.ess:.0f}{verdict}"
    )


def page_data(
    models: list[Model],
    texts: list[str] | None = None,
    *,
    title: str | None,
    held_out: Any = None,
) -> ReportData:
    """The data of a report about saved models, which are chains of one model, and what was saved
    with them. ``texts``, if given, replace the saved ones."""
    from pgbn.report import report_data

    first = models[0]
    for other in models[1:]:
        _check_chains(first, other)
    record, kept = dict(first.saved.record), first.saved.columns
    arguments, columns = record.pop("arguments", {}), record.pop("columns", {})
    settings = {key: value for key, value in {**arguments, **record}.items() if value is not None}
    if len(models) > 1:
        settings["seeds of the chains"] = ", ".join(str(_arguments(m).get("seed")) for m in models)
    return report_data(
        [model.result for model in models],
        first.saved.data,
        vocabulary=first.vocabulary,
        texts=kept.get("text") if texts is None else texts,
        names=first.saved.names,
        dates=kept.get("date"),
        classes=kept.get("class"),
        columns=columns if isinstance(columns, dict) else {},
        token_pattern=_pattern_of(record, first.path),
        held_out=held_out,
        max_width=arguments.get("max_width"),
        settings={key: str(value) for key, value in settings.items()},
        title=title or _title(record),
    )


def _pattern_of(record: dict[str, Any], where: Path) -> str | None:
    """The pattern of a term; a page can be read without it."""
    from pgbn.storage.terms import is_quick

    pattern = record.get("vectorizer", {}).get("token_pattern")
    if pattern is None:
        return None
    if is_quick(pattern):
        return str(pattern)
    notify(
        f"{where}: the pattern of its terms, {pattern!r:.60}, may take very long on some texts; "
        "terms are marked as pgbn's own pattern finds them"
    )
    return None


def _title(record: dict[str, Any]) -> str:
    """A title with the name of the data; the page has its own title if the name is unknown."""
    name = Path(str(record.get("data", ""))).name
    return f"Topics in {name}" if name else ""


def _arguments(model: Model) -> dict[str, Any]:
    """The arguments of a training; older versions did not write the defaults."""
    from pgbn.training.settings import Settings

    written = dict(model.saved.record.get("arguments", {}))
    try:
        return Settings.from_content(written).content()
    except (PgbnError, TypeError):  # a record from elsewhere
        return written


def _check_chains(one: Model, two: Model) -> None:
    """Check that chains differ only in their seeds, so that they can be compared."""
    if one.vocabulary != two.vocabulary or one.saved.names != two.saved.names:
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
