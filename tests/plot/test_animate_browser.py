"""The page of a sweep in headless Chromium: slider, keys, colours, words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.helpers.browser import By, Keys, needs_browser, picture, start_browser
from tests.plot.test_animate import COUNTS, two_layers, wrong_order

pytestmark = needs_browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("animate") / "sweep.html"
    network = two_layers()
    network.animate(COUNTS, order=wrong_order(network), sweeps=200).save(path)
    driver = start_browser(path.parent / "profile")
    driver.set_window_size(1500, 1500)
    driver.get(path.as_uri())
    yield driver
    driver.quit()


def nodes(page: Any, kind: str, run: int = 1) -> set[str]:
    found = page.find_elements(By.CSS_SELECTOR, f".run:nth-child({run}) .{kind}[data-node]")
    return {group.get_attribute("data-node") for group in found}


def go(page: Any, step: int) -> None:
    slider = page.find_element(By.ID, "step")
    slider.send_keys(Keys.HOME)
    for _ in range(step):
        slider.send_keys(Keys.ARROW_RIGHT)


def test_the_slider_walks_through_the_sweep(page: Any) -> None:
    go(page, 1)
    slider = page.find_element(By.ID, "step")
    assert slider.get_attribute("aria-valuetext") == "step 1, counts(x)"
    assert nodes(page, "is-up") == {"x"}
    assert len(page.find_elements(By.CSS_SELECTOR, ".run:first-child .flows-up")) == 2
    go(page, 10)
    assert nodes(page, "is-down") == {"gamma0"}
    assert nodes(page, "is-stale") == {"r", "theta1", "theta2"}
    told = page.find_element(By.CSS_SELECTOR, ".run .told")
    assert told.get_attribute("aria-live") == "polite"
    assert "gamma0 = " in told.text
    assert page.find_elements(By.CSS_SELECTOR, ".run .told math")
    marks = page.find_elements(By.CSS_SELECTOR, ".run:first-child td.open")
    assert len(marks) == 3 * 10


def test_the_wrong_order_says_why(page: Any) -> None:
    go(page, 11)
    assert nodes(page, "is-fault", 2) == {"theta2"}
    assert "has not been redrawn since" in page.find_element(By.CSS_SELECTOR, "p.fault").text
    assert page.find_elements(By.CSS_SELECTOR, ".run:nth-child(2) td.open.wrong")
    picture(page, "animate")


def test_keys_and_buttons(page: Any) -> None:
    go(page, 0)
    body = page.find_element(By.TAG_NAME, "body")
    page.execute_script("document.activeElement.blur()")
    body.send_keys(Keys.ARROW_RIGHT)
    page.find_element(By.ID, "on").click()
    page.find_element(By.ID, "back").click()
    assert page.find_element(By.ID, "count").text.startswith("1 of ")
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_graph_equation_and_numbers_fit_a_projector(page: Any) -> None:
    screen = {"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    go(page, 12)
    page.execute_script("scrollTo(0, 0)")
    below = """return [...document.querySelectorAll(".told")]
        .map((told) => told.lastElementChild.getBoundingClientRect().bottom)"""
    assert all(bottom <= 720 for bottom in page.execute_script(below))
    cut = """return [...document.querySelectorAll(".scroll")]
        .map((table) => table.scrollWidth - table.clientWidth)"""
    assert page.execute_script(cut) == [0, 0]
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
