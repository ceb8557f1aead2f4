"""The overview, the tree, documents, time and class in headless Chromium."""

import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from pgbn.report import write_report
from pgbn.report.sections import distinct_topics
from tests.helpers.browser import (
    CONTRAST,
    By,
    Keys,
    choose_option,
    click,
    content,
    look,
    needs_browser,
    open_page,
    picture,
)  # fmt: skip
from tests.helpers.report_models import titles

pytestmark = needs_browser


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


def test_lines_do_not_break_before_a_sign(page) -> None:
    """Neither between 100 and %, nor before the dot between two words."""
    unbroken = "return getComputedStyle(document.querySelector('.example .whole')).whiteSpace"
    assert page.execute_script(unbroken) == "nowrap"
    assert content(page, ".example .whole")[0].endswith(" %)")
    dot = "return getComputedStyle(document.querySelector('#table-body .words bdi'), '::after').content"
    assert page.execute_script(dot) == '"\u00a0· "'


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


def test_a_theme_that_holds_no_topic_says_why(page, data, tmp_path) -> None:
    empty = 3
    weights = data.weights[1] * np.where(np.arange(12) == empty, 1e-9, 1.0)
    data = replace(data, weights=(data.weights[0], weights, data.weights[2]))
    open_page(page, write_report(data, tmp_path / "page.html").as_uri())
    full = int(parents(data, 1).argmax(axis=1)[0])
    click(page, "#unfold")
    said = "shares its topics with other themes"
    for topic, expected in ((empty, True), (full, False)):
        line = page.find_element(By.CSS_SELECTOR, f'#tree [data-topic="2/{topic}"]')
        assert (said in line.find_element(By.CSS_SELECTOR, ".row").text) is expected
        assert (said in line.get_attribute("aria-label")) is expected


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


def test_topics_and_colours_stand_above_the_text(page) -> None:
    click(page, ".theme [data-open]")
    script = "return document.querySelector(arguments[0]).getBoundingClientRect().top"
    topics, key, text = (
        page.execute_script(script, f"#detail {name}") for name in (".near", ".legend", ".text")
    )
    assert topics < key < text < 850, "and the text begins in the window"


def test_a_point_of_the_map_is_a_document(page, data) -> None:
    names = json.loads(page.find_element(By.ID, "map-canvas").get_attribute("data-names"))
    assert len(set(names)) == len(names) >= 3
    points = page.execute_script(
        "return JSON.parse(document.getElementById('data').textContent).map.points"
    )
    x, y = np.frombuffer(base64.b64decode(points), "<u2").reshape(-1, 2)[23] / 65535
    page.execute_script(
        "const c = document.getElementById('map-canvas'); c.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const f = c.getBoundingClientRect();"
        "c.dispatchEvent(new MouseEvent('click', {bubbles: true,"
        "clientX: f.left + 14 + arguments[0] * (c.clientWidth - 28),"
        "clientY: f.top + 14 + (1 - arguments[1]) * (c.clientHeight - 28)}))", float(x), float(y),
    )  # fmt: skip
    assert content(page, "#detail h2") == [titles()[23]]
    picture(page, "map")


def test_a_chosen_topic_without_a_colour_is_dark(page, data) -> None:
    """Not in the colour of another topic."""
    counts = np.bincount(data.theta[0].argmax(axis=1), minlength=45)
    rare = next(k for k in np.argsort(-counts, kind="stable")[8:].tolist() if counts[k])
    choose_option(page, "map-layer", "1")
    click(page, "#all-topics")
    click(page, f'.node[data-topic="1/{rare}"]')
    dots = page.execute_script(
        "return [...document.querySelectorAll('#map-legend .dot')].map((e) => e.style.background)"
    )
    assert dots == [f"var(--c{i})" for i in range(8)] + ["var(--ink)"]


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_shadow_of_a_wide_table_is_soft(page, scheme) -> None:
    """Darker than the page, never brighter, and by a little."""
    look(page, 1280, 900, scheme)
    page_colour, shadow = page.execute_script("""
      const pen = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
      const paint = (...colours) => { for (const colour of colours) { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); }
        return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).reduce((a, b) => a + b) / 3; };
      const style = getComputedStyle(document.getElementById('class-place')), page = getComputedStyle(document.body).backgroundColor;
      const shadow = style.backgroundImage.split('-gradient').pop().match(/(rgba?|color)\\([^)]*\\)/)[0];
      return [paint(page), paint(page, shadow)]""")
    assert 0.4 * page_colour < shadow < page_colour
    assert page_colour - shadow < 60


def test_a_document_on_a_phone(page) -> None:
    look(page, 390, 844)
    click(page, ".theme [data-open]")
    place = page.find_element(By.ID, "detail")
    assert place.rect["width"] == 390
    assert place.rect["height"] <= 0.53 * 844
    wide = "return Math.max(document.documentElement.scrollWidth, window.innerWidth)"
    assert page.execute_script(wide) == 390
    picture(page, "phone-document")
    click(page, ".close")
    assert not place.is_displayed()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_coloured_words_can_be_read(page, scheme) -> None:
    look(page, 1280, 900, scheme)
    click(page, ".theme [data-open]")
    assert page.execute_script(CONTRAST.replace("'h1,h2", "'mark,.spark bdi,h1,h2")) == []
