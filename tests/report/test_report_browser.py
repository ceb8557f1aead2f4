"""The report in headless Chromium: what a reader sees, clicks, types and hears."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import pgbn
from pgbn.report.sections import distinct_topics
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
    page.find_element(By.ID, "relevance").send_keys(Keys.HOME)  # distinctive words
    distinctive = replace(data, relevance=0.0).words(3, data.widths[2] - 1, 1)[0]
    assert page.execute_script(script)[0] == readable(distinctive)


def test_search_filters_the_table(page, data) -> None:
    rows = sum(data.widths)
    assert content(page, "#found") == ["5 of 5 topics"], "one layer at a time"
    choose_option(page, "layer", "0")
    assert content(page, "#found") == [f"{rows} of {rows} topics, the first 40 shown"]
    layers = [name.split("_")[0] for name in content(page, "#table-body .open")]
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
    assert "link='<&>'" in content(page, "#settings pre")[0]


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
    click(page, ".theme [data-open]")
    assert page.execute_script(CONTRAST.replace("'h1,h2", "'mark,.spark bdi,h1,h2")) == []
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
    draws.arrays["phi"][:] = 1 / 3
    draws.arrays["theta"][0, 2] = np.nan
    open_page(page, draws.report(tmp_path / "run.html").as_uri())
    paths = page.execute_script(
        "return [...document.querySelectorAll('#trace-place .trace')].map((p) => p.getAttribute('d'))"
    )
    assert sorted(path.count("M") for path in paths) == [1, 1, 1, 2]
    assert not any("NaN" in path for path in paths)
    assert page.find_element(By.CSS_SELECTOR, "#network img").size["height"] > 50
    assert len(content(page, "#network tbody tr")) == 3
    picture(page, "network")


def parents(data, layer: int) -> np.ndarray:
    """(topics of the layer, topics above): the part of a topic that goes into each above."""
    joint = (data.weights[layer][:, None] * data.phi[layer]).T
    return joint / joint.sum(axis=1, keepdims=True)


def test_the_first_screen_says_what_there_is(page, data) -> None:
    themes = distinct_topics(data, 2)
    shown = page.execute_script(
        "return [...document.querySelectorAll('.theme h3 button')].map((e) => e.dataset.choose)"
    )
    assert shown == [f"2/{k}" for k in themes]
    assert page.find_element(By.CSS_SELECTOR, ".theme h3 button").rect["y"] < 900
    click(page, ".theme h3 button")
    assert content(page, "#detail h2") == [f"Layer 2, topic {themes[0]}"]
    click(page, ".theme .chips button")
    assert content(page, "#detail h2")[0].startswith("Layer 1, topic")
    number = int(
        page.find_element(By.CSS_SELECTOR, ".theme [data-open]").get_attribute("data-open")
    )
    click(page, ".theme [data-open]")
    assert content(page, "#detail h2") == [titles()[number]]


def test_where_a_topic_goes_adds_up_to_one(page, data) -> None:
    click(page, "#all-topics")
    click(page, '.node[data-topic="1/3"]')
    expected = np.sort(parents(data, 1)[3])[::-1]
    rows = page.execute_script(
        "const h = [...document.querySelectorAll('#detail h3')].find((e) => e.textContent.startsWith('Goes into'));"
        "return [...h.nextElementSibling.querySelectorAll('.number')].map((e) => e.textContent)"
    )
    shown = [float(text.strip("<% ")) for text in rows]
    np.testing.assert_allclose(shown, 100 * expected[: len(shown)], atol=1.0)
    assert sum(shown) <= 101


def test_the_tree_holds_every_topic_once(page, data) -> None:
    script = (
        "return [...document.querySelectorAll('#tree [role=treeitem]')].map((e) => e.dataset.topic)"
    )
    found = page.execute_script(script)
    assert sorted(found) == sorted(f"{t}/{k}" for t in (1, 2, 3) for k in range(data.widths[t - 1]))
    above = page.execute_script(
        "return [...document.querySelectorAll('#tree [aria-level=\"2\"]')].map((e) =>"
        "[e.dataset.topic, e.parentElement.closest('[role=treeitem]').dataset.topic])"
    )
    best = parents(data, 2).argmax(axis=1)
    assert all(parent == f"3/{best[int(child[2:])]}" for child, parent in above)
    seen = "return [...document.querySelectorAll('#tree [role=treeitem]')].filter((e) => e.getClientRects().length).length"
    click(page, "#fold")
    assert page.execute_script(seen) == 5
    click(page, "#unfold")
    assert page.execute_script(seen) == sum(data.widths)
    picture(page, "tree")


def test_the_tree_by_keyboard_and_by_word(page, data) -> None:
    click(page, "#fold")
    page.find_element(By.ID, "tree-search").send_keys(Keys.TAB)
    focused = "return document.activeElement.dataset.topic"
    first = page.execute_script(focused)
    assert first.startswith("3/")
    active = page.switch_to.active_element
    assert active.get_attribute("aria-expanded") == "false"
    active.send_keys(Keys.ARROW_RIGHT)
    assert active.get_attribute("aria-expanded") == "true"
    active.send_keys(Keys.ARROW_DOWN)
    child = page.execute_script(focused)
    assert child.startswith("2/")
    page.switch_to.active_element.send_keys(Keys.ENTER)
    assert content(page, "#detail h2") == [f"Layer 2, topic {child[2:]}"]
    assert page.switch_to.active_element.get_attribute("aria-selected") == "true"
    page.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    page.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert page.execute_script(focused) == first
    page.find_element(By.ID, "tree-search").send_keys("word7")
    wanted = [
        f"{t}/{k}" for t in (1, 2, 3) for k in range(data.widths[t - 1])
        if any("word7" in word for word in data.words(t, k, 15))
    ]  # fmt: skip
    marked = page.execute_script(
        "return [...document.querySelectorAll('#tree .found')].filter((e) => e.getClientRects().length)"
        ".map((e) => e.dataset.topic)"
    )
    assert sorted(marked) == sorted(wanted)
    assert content(page, "#tree-found") == [f"{len(wanted)} found"]


def test_a_document_is_found_and_read(page, data) -> None:
    assert content(page, "#documents-found") == ["80 of 80 documents"]
    page.find_element(By.ID, "document-search").send_keys("57")
    assert content(page, "#documents-list bdi") == [titles()[57]]
    click(page, "#documents-list button")
    assert content(page, "#detail h2") == [titles()[57]]
    text = content(page, "#document-text")[0]
    assert text.startswith("Text 57 </script> lorem")
    words = content(page, "#document-text mark")
    assert words == ["word17", "Word7", "word12"]
    columns = [data.vocabulary.index(word.lower()) for word in words]
    topics = (data.phi[0][:, columns] * data.theta[0][57][:, None]).argmax(axis=0)
    slots = page.execute_script(
        "return [...document.querySelectorAll('#document-text mark')].map((e) => Number(e.dataset.slot))"
    )
    assert len(set(zip(slots, topics.tolist(), strict=True))) == len(set(slots)) == len(set(topics))
    for layer in (1, 2, 3):
        best = int(data.theta[layer - 1][57].argmax())
        assert page.find_elements(By.CSS_SELECTOR, f'#detail .near [data-choose="{layer}/{best}"]')
    click(page, "#detail .legend button")
    assert page.execute_script(
        "return document.querySelectorAll('mark.lit').length"
    ) == slots.count(0)
    picture(page, "document")
    click(page, "#detail .near button")
    assert content(page, "#detail h2")[0].startswith("Layer 3, topic")
    click(page, "#detail .documents button")
    assert page.find_elements(By.ID, "document-text")
    click(page, "#document-back")
    assert content(page, "#detail h2")[0].startswith("Layer 3, topic")
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert content(page, "#detail h2") == ["No topic chosen"]


def test_topics_over_time_and_by_class(page, data) -> None:
    assert content(page, "#groups h3") == ["Over time: pub<lished", "By class: kind"]
    choose_option(page, "group-layer", "3")
    assert page.execute_script("return document.querySelectorAll('#time-place .spark').length") == 5
    assert content(page, "#class-place thead bdi") == ["<i>odd</i>", "even"]
    order = np.argsort(-data.weights[2], kind="stable")
    shown = [float(text.strip("<% ")) for text in content(page, "#class-place tbody td")]
    means = np.stack([data.theta[2][1::2].mean(axis=0), data.theta[2][::2].mean(axis=0)], axis=1)
    np.testing.assert_allclose(shown, 100 * means[order].ravel(), atol=0.51)
    click(page, "#time-place .spark")
    assert content(page, "#detail h2") == [f"Layer 3, topic {order[0]}"]
    pressed = "return document.querySelectorAll('.spark[aria-pressed=true]').length"
    assert page.execute_script(pressed) == 1
    choose_option(page, "group-layer", "1")
    click(page, "#time-more")
    assert (
        page.execute_script("return document.querySelectorAll('#time-place .spark').length") == 45
    )
    picture(page, "groups")


SPOTS = """
const canvas = document.getElementById('map-canvas');
const map = JSON.parse(document.getElementById('data').textContent).map;
const points = new Uint16Array(Uint8Array.from(atob(map.points), (c) => c.charCodeAt(0)).buffer);
const spot = (i) => [14 + (points[2 * i] / 65535) * (canvas.clientWidth - 28),
                     14 + (1 - points[2 * i + 1] / 65535) * (canvas.clientHeight - 28)];
"""

# The middle of a point, and whether it has a colour other than grey.
HUES = (
    SPOTS
    + """
const copy = document.createElement('canvas');
[copy.width, copy.height] = [canvas.width, canvas.height];
const pen = copy.getContext('2d', {willReadFrequently: true});
pen.drawImage(canvas, 0, 0);
return arguments[0].map((i) => { const [x, y] = spot(i).map(Math.round);
  const [r, g, b] = pen.getImageData(x, y, 1, 1).data; return Math.max(r, g, b) - Math.min(r, g, b); });
"""
)


def choose_rare(page, data, layer: int = 1) -> tuple[int, np.ndarray]:
    """Choose the first topic that has documents, but no colour; the leading topics are returned."""
    leading = data.theta[layer - 1].argmax(axis=1)
    counts = np.bincount(leading, minlength=data.widths[layer - 1])
    rare = next(k for k in np.argsort(-counts, kind="stable")[8:].tolist() if counts[k])
    choose_option(page, "map-layer", str(layer))
    click(page, "#all-topics")
    click(page, f'.node[data-topic="{layer}/{rare}"]')
    return rare, leading


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_points_have_the_colours_of_the_legend(page, data, scheme) -> None:
    """Also while a topic is chosen; the others are paler then, in the legend as on the map."""
    look(page, 1280, 900, scheme)
    _, leading = choose_rare(page, data)
    order = np.argsort(-np.bincount(leading, minlength=45), kind="stable")
    coloured = np.flatnonzero(leading == order[0]).tolist()
    assert np.median(page.execute_script(HUES, coloured)) > 20
    pale = "return [...document.querySelectorAll('#map-legend .dot')].map((e) => getComputedStyle(e).opacity)"
    seen = page.execute_script(pale)
    assert seen[-1] == "1"
    assert len(set(seen[:-1])) == 1
    assert float(seen[0]) < 0.7
    picture(page, f"map-chosen-{scheme}")
    click(page, '#map-legend button[aria-pressed="true"]')
    assert set(page.execute_script(pale)) == {"1"}


def test_a_point_of_the_map_is_a_document(page) -> None:
    page.execute_script(
        SPOTS + "canvas.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const frame = canvas.getBoundingClientRect(), [x, y] = spot(23);"
        "canvas.dispatchEvent(new MouseEvent('click', {bubbles: true,"
        "clientX: frame.left + x, clientY: frame.top + y}))"
    )  # fmt: skip
    assert content(page, "#detail h2") == [titles()[23]]
    picture(page, "map")


FOCUSED = "return document.activeElement.id"
OPEN, CLOSE = "\u2068", "\u2069"  # around a word that keeps its own direction of writing


def isolated(text: str) -> str:
    return f"{OPEN}{text}{CLOSE}"


def test_the_map_goes_by_keyboard(page) -> None:
    page.execute_script("document.getElementById('map-layer').focus()")
    page.switch_to.active_element.send_keys(Keys.TAB)
    assert page.execute_script(FOCUSED) == "map-canvas"
    tip = page.find_element(By.ID, "map-tip")
    assert tip.is_displayed()
    seen, spots = {tip.text}, {tip.get_attribute("style")}
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_LEFT, Keys.ARROW_UP):
        page.switch_to.active_element.send_keys(key)
        seen.add(tip.text)
        spots.add(tip.get_attribute("style"))
    assert len(seen) >= 3, "arrows go from document to document"
    assert len(spots) >= 3, "and the words go with them"
    told = content(page, "#map-tip")[0]
    assert content(page, "#live") == [told]
    picture(page, "map-keyboard")
    page.switch_to.active_element.send_keys(Keys.ENTER)
    (title,) = content(page, "#detail h2")
    assert told.startswith(isolated(title))
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert content(page, "#detail h2") == ["No topic chosen"]
    assert page.execute_script(FOCUSED) == "map-canvas"
    page.switch_to.active_element.send_keys(Keys.TAB)
    assert not tip.is_displayed()
