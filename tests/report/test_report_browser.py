"""The report in headless Chromium: what a reader sees, clicks, types and hears."""

import json
from itertools import pairwise

import numpy as np
import pytest

import pgbn
from pgbn.evaluation.projection import with_floor
from tests.helpers.browser import (
    CONTRAST,
    By,
    Keys,
    WebDriverWait,
    choose_option,
    click,
    content,
    look,
    needs_browser,
    open_page,
    picture,
    readable,
)  # fmt: skip
from tests.helpers.report_models import titles

pytestmark = needs_browser


def test_no_request_and_no_error(page) -> None:
    page.get_log("performance")
    look(page, 1280, 900)
    click(page, '.node[data-topic="3/0"]')
    click(page, ".theme [data-open]")
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [
        e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"
    ]
    assert asked, "the log of requests is empty"
    assert {url for url in asked if not url.startswith("data:")} == {page.page_address}
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize(("layer", "topic"), [(3, 0), (3, 4), (2, 7), (1, 3)])
def test_a_click_shows_the_words_and_documents_of_the_model(page, data, layer, topic) -> None:
    click(page, "#all-topics")
    click(page, f'.node[data-topic="{layer}/{topic}"]')
    assert content(page, "#detail h2") == [f"Layer {layer}, topic {topic}"]
    assert content(page, "#words bdi") == [readable(w) for w in data.words(layer, topic, 15)]
    shown = [float(text.strip("<% ")) for text in content(page, "#words .number")]
    expected = 100 * data.project(layer)[topic][data.ranked(layer, 15)[topic]]
    np.testing.assert_allclose(shown, expected, atol=0.51)
    leading = np.argsort(-data.theta[layer - 1][:, topic], kind="stable")[:6]
    assert content(page, "#detail .documents .row bdi") == [titles()[j] for j in leading]
    assert page.execute_script("return document.querySelectorAll('.node.chosen').length") == 1


def test_links_are_those_of_the_model(page, data) -> None:
    click(page, '.node[data-topic="3/2"]')
    child = int(data.phi[2][2].argmax())
    first = page.find_element(By.CSS_SELECTOR, ".near button")
    assert f"Layer 2, topic {child}:" in first.get_attribute("aria-label")
    first.click()
    assert content(page, "#detail h2") == [f"Layer 2, topic {child}"]
    few = page.execute_script("return document.querySelectorAll('.edge').length")
    click(page, "#all-topics")
    click(page, "#all-links")
    every = page.execute_script("return document.querySelectorAll('.edge').length")
    assert every == sum(int((phi >= 0.002).sum()) for phi in data.phi[1:]) > few


def test_the_slider_brings_distinctive_words(page, data) -> None:
    click(page, '.node[data-topic="3/1"]')
    slider = page.find_element(By.ID, "relevance")
    slider.send_keys(Keys.HOME)
    common = data.weights[0] @ data.phi[0]
    psi = data.project(3)[1]
    with np.errstate(divide="ignore"):
        score = np.log(psi) - np.log(with_floor(common, data.length))
    first = data.vocabulary[int(np.argmax(score))]
    assert content(page, "#words bdi")[0] == readable(first)


def test_page_and_library_rank_words_alike(page, data) -> None:
    """Topics of a few tokens, too: their ratios are drawn towards 1 in both."""
    assert data.tokens > 0
    script = "return [...document.querySelectorAll('#words bdi')].map((e) => e.textContent)"
    click(page, "#all-topics")
    for layer in (2, 3):
        for topic in range(data.widths[layer - 1]):
            click(page, f'.node[data-topic="{layer}/{topic}"]')
            expected = [readable(word) for word in data.words(layer, topic, 15)]
            assert page.execute_script(script) == expected, (layer, topic)


def test_search_filters_the_table(page, data) -> None:
    rows = sum(data.widths)
    assert content(page, "#found") == ["5 of 5 topics"], "one layer at a time"
    choose_option(page, "layer", "0")
    assert content(page, "#found") == [f"{rows} of {rows} topics, the first 40 shown"]
    layers = [name.split(" / ")[0] for name in content(page, "#table-body .open")]
    assert layers == sorted(layers, reverse=True), "layers do not mix"
    page.find_element(By.ID, "search").send_keys("WORD7")
    wanted = [
        f"{t}/{k}"
        for t in range(1, 4)
        for k in range(data.widths[t - 1])
        if any("word7" in word for word in data.words(t, k, 15))
    ]
    script = "return [...document.querySelectorAll('#table-body tr')].map((e) => e.dataset.topic)"
    assert 0 < len(wanted) < rows
    assert sorted(page.execute_script(script)) == sorted(wanted)
    assert content(page, "#found") == [f"{len(wanted)} of {rows} topics"]
    page.find_element(By.ID, "search").send_keys(" nothing such")
    assert page.execute_script(script) == []
    picture(page, "search")


def test_the_table_sorts(page, data) -> None:
    script = "return [...document.querySelectorAll('#table-body tr')].map((e) => e.dataset.topic)"
    choose_option(page, "layer", "2")
    by_weight = [f"2/{k}" for k in np.argsort(-data.weights[1], kind="stable")]
    assert page.execute_script(script) == by_weight
    click(page, 'th[data-by="weight"] button')
    assert page.execute_script(script) == by_weight[::-1]
    click(page, 'th[data-by="topic"] button')
    assert page.execute_script(script) == [f"2/{k}" for k in range(12)]
    head = page.find_element(By.CSS_SELECTOR, 'th[data-by="topic"]')
    assert head.get_attribute("aria-sort") == "ascending"
    click(page, '#table-body tr[data-topic="2/5"] button')
    assert content(page, "#words bdi") == [readable(w) for w in data.words(2, 5, 15)]


def test_the_keyboard_is_enough(page, data) -> None:
    focused = "return document.activeElement.dataset.topic || document.activeElement.id"
    page.execute_script("document.getElementById('distinct').focus()")
    page.switch_to.active_element.send_keys(Keys.TAB)
    start = page.execute_script(focused)
    assert start.startswith("3/")
    page.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    layer, topic = map(int, page.execute_script(focused).split("/"))
    assert (layer, topic) != tuple(map(int, start.split("/")))
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    below = page.execute_script(focused)
    assert below.startswith("2/")
    page.switch_to.active_element.send_keys(Keys.ENTER)
    assert content(page, "#detail h2") == [f"Layer 2, topic {below[2:]}"]
    assert page.execute_script(focused) == below, "the focus stays where it was"
    stroke = page.execute_script(
        "return getComputedStyle(document.activeElement.querySelector('.box')).strokeWidth"
    )
    assert float(stroke.removesuffix("px")) >= 2, "the focus can be seen"
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert content(page, "#detail h2") == ["No topic chosen"]
    # One stop of the Tab key for the whole graph.
    stops = "return document.querySelectorAll('.node[tabindex=\"0\"]').length"
    assert page.execute_script(stops) == 1


def test_everything_has_a_name_for_a_screen_reader(page) -> None:
    click(page, '.node[data-topic="2/1"]')
    nodes = page.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"button", "link", "checkbox", "slider", "combobox", "searchbox", "image", "region"}
    counted = set()
    for node in nodes:
        role = node.get("role", {}).get("value")
        if role in roles and not node.get("ignored"):
            counted.add(role)
            assert node.get("name", {}).get("value", "").strip(), node
    assert {"button", "link", "checkbox", "slider", "combobox", "searchbox"} <= counted
    assert len(content(page, "table caption")) == len(content(page, "table"))
    assert "Layer 2, topic 1 chosen" in content(page, "#live")[0]


def test_texts_stay_texts(page, data) -> None:
    assert page.execute_script("return document.querySelectorAll('script').length") == 2
    assert (
        page.execute_script(
            "return document.querySelectorAll('b, img:not([alt^=\"The graph\"])').length"
        )
        == 0
    )
    assert content(page, "h1") == ["A <b>report</b> & more"]
    assert "# <&>" in content(page, "#settings pre")[0]


def test_the_map_follows(page, data) -> None:
    choose_option(page, "map-layer", "3")
    leading = data.theta[2].argmax(axis=1)
    counts = np.bincount(leading, minlength=5)
    first = int(np.argsort(-counts, kind="stable")[0])
    assert content(page, "#map-legend .number")[0] == str(counts[first])
    click(page, "#map-legend button")
    assert content(page, "#detail h2") == [f"Layer 3, topic {first}"]
    drawn = page.execute_script(
        "const c = document.getElementById('map-canvas');"
        "return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0)"
    )
    assert drawn


def test_traces_and_widths(page, data) -> None:
    assert (
        page.execute_script("return document.querySelectorAll('#trace-place figure').length") == 2
    )
    assert (
        page.execute_script("return document.querySelectorAll('#trace-place .trace').length") == 4
    )
    # The last tick is inside its picture, and lines go on where nothing is missing.
    cut = """return [...document.querySelectorAll('#trace-place > figure > div > svg')].flatMap((svg) =>
      [...svg.querySelectorAll('text')].filter((text) => text.getBoundingClientRect().right >
        svg.getBoundingClientRect().right + 1)).length"""
    assert page.execute_script(cut) == 0
    paths = "return [...document.querySelectorAll('#trace-place .trace')].map((p) => p.getAttribute('d'))"
    assert {path.count("M") for path in page.execute_script(paths)} == {1}, (
        "one line through all layers"
    )
    cells = content(page, "#traces tbody td")
    assert cells[0] == "log likelihood"
    assert cells[3] == f"{data.series[0].ess:.0f}"
    assert cells[4] == f"{data.series[0].rhat:.3f}"
    assert content(page, "#widths tbody td")[-5:-3] == ["45", "50"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(page, scheme) -> None:
    look(page, 1280, 900, scheme)
    click(page, '.node[data-topic="3/2"]')
    assert page.execute_script(CONTRAST) == []
    picture(page, scheme)


@pytest.mark.parametrize("width", [320, 390, 768])
def test_small_screens(page, width) -> None:
    look(page, width, 844)
    page.execute_script("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    wide = "return Math.max(document.documentElement.scrollWidth, window.innerWidth)"
    assert page.execute_script(wide) == width, "nothing sticks out at the side"
    overlapping = """
      return [...document.querySelectorAll('.node')].filter((node) => {
        const text = node.querySelector('text').getBBox(), box = node.querySelector('.box').getBBox();
        return text.width > box.width - 8 || text.height > box.height + 2; }).length"""
    assert page.execute_script(overlapping) == 0, "labels stay inside their boxes"
    broken = """
      return [...document.querySelectorAll('.settings td:first-child')].filter((cell) => {
        const words = cell.textContent.trim().split(/\\s+/), line = parseFloat(getComputedStyle(cell).lineHeight);
        const inner = cell.clientHeight - parseFloat(getComputedStyle(cell).paddingTop) * 2;
        return cell.parentElement.clientHeight === cell.clientHeight && inner > (words.length + 0.5) * line; }).length"""
    assert page.execute_script(broken) == 0, "names of settings are not broken within words"
    ticks = """return [...document.querySelectorAll('#trace-place > figure > div > svg')].map((svg) =>
      [...svg.querySelectorAll(':scope > text')].filter((text) => text.getAttribute('y') == svg.getAttribute('height') - 6)
        .map((text) => text.getBoundingClientRect()))"""
    for line in page.execute_script(ticks):
        assert len(line) >= 2, "sweeps can be read off"
        assert all(a["right"] + 8 < b["left"] for a, b in pairwise(line)), "and their numbers too"
    picture(page, f"phone-{width}")
    click(page, '.node[data-topic="3/1"]')
    place = page.find_element(By.ID, "detail").rect
    assert place["width"] == width
    assert place["height"] <= 0.53 * 844, "the sheet leaves the graph in sight"
    covered = """const sheet = document.getElementById('detail').getBoundingClientRect();
      return document.querySelector('.node.chosen').getBoundingClientRect().bottom > sheet.top"""
    WebDriverWait(page, 5).until(lambda driver: not driver.execute_script(covered))
    picture(page, f"phone-{width}-topic")
    click(page, ".close")
    assert not page.find_element(By.ID, "detail").is_displayed()


def test_a_page_of_a_network_without_topics(page, tmp_path) -> None:
    """Its traces are drawn, also constant ones and gaps; no script looks for topics."""
    draws = pgbn.zoo.lda(2).sample({"x": np.ones((3, 3), int)}, 0, 5, chains=2, progress=False)
    draws.values["phi"][:] = 1 / 3
    draws.values["theta"][0, 2] = np.nan
    open_page(page, draws.report(tmp_path / "run.html").as_uri())
    paths = page.execute_script(
        "return [...document.querySelectorAll('#trace-place .trace')].map((p) => p.getAttribute('d'))"
    )
    assert sorted(path.count("M") for path in paths) == [1, 1, 1, 2]
    assert not any("NaN" in path for path in paths)
    assert page.find_element(By.CSS_SELECTOR, "#network img").size["height"] > 50
    assert len(content(page, "#network tbody tr")) == 3
    picture(page, "network")
