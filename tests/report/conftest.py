"""One report and one browser for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pgbn.report import report_data, write_report
from pgbn.report.data import ReportData
from tests.helpers.report_models import texts, titles, trained, vocabulary


@pytest.fixture(scope="package")
def data() -> ReportData:
    chains = [trained((45, 12, 5), seed=seed) for seed in (0, 1)]
    return report_data(
        chains,
        vocabulary=vocabulary(),
        names=titles(),
        texts=[f"{text} word{j % 40} Word7 word12" for j, text in enumerate(texts())],
        dates=[None if j == 3 else f"20{10 + j % 12}-05-01" for j in range(80)],
        classes=["<i>odd</i>" if j % 2 else "even" for j in range(80)],
        columns={"date": "pub<lished", "class": "kind"},
        max_width=50,
        title="A <b>report</b> & more",
        settings={
            "seed": 0,
            "max_width": 50,
            "depth": 3,
            "link": "<&>",
            "note": "<script>window.hacked=1</script>",
        },
    )


@pytest.fixture(scope="package")
def browser(data: ReportData, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from tests.helpers.browser import start_browser

    folder = tmp_path_factory.mktemp("browser")
    driver = start_browser(folder / "profile")
    try:
        driver.page_address = write_report(data, folder / "report.html").as_uri()
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """The page anew; a test fails if it wrote to the console, or if a script of a stranger ran."""
    from tests.helpers.browser import look

    look(browser, 1280, 900)
    yield browser
    errors = [entry for entry in browser.get_log("browser") if entry["level"] != "DEBUG"]
    assert errors == []
    assert browser.execute_script("return window.hacked === undefined")
