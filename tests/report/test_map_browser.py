"""The map in headless Chromium: its legend, its points and its labels agree."""

import json

import numpy as np
import pytest

from tests.helpers.browser import choose_option, click, content, look, needs_browser, picture

pytestmark = needs_browser

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
PLACES = SPOTS + "return arguments[0].map(spot)"


def choose_rare(page, data, layer: int = 1) -> tuple[int, np.ndarray]:
    """Choose the first topic that has documents, but no colour; the leading topics are returned."""
    leading = data.theta[layer - 1].argmax(axis=1)
    counts = np.bincount(leading, minlength=data.widths[layer - 1])
    rare = next(k for k in np.argsort(-counts, kind="stable")[8:].tolist() if counts[k])
    choose_option(page, "map-layer", str(layer))
    click(page, "#all-topics")
    click(page, f'.node[data-topic="{layer}/{rare}"]')
    return rare, leading


def choose_in_table(page, layer: int, topic: int) -> None:
    page.execute_script(
        "document.getElementById('search').value = arguments[0];"
        "document.getElementById('layer').value = '0';"
        "document.getElementById('layer').dispatchEvent(new Event('change'));"
        "document.querySelector(`#table-body tr[data-topic='${arguments[0]}'] .open`).click()",
        f"{layer}/{topic}",
    )


def label_of(page) -> tuple[float, float, float]:
    """The middle, the base line and half the width of the only name on the map."""
    (place,) = json.loads(page.find_element("id", "map-canvas").get_attribute("data-places"))
    return tuple(place)


def covers(label: tuple[float, float, float], spot: list[float]) -> bool:
    x, y, half = label
    return abs(spot[0] - x) < half and y - 13 < spot[1] < y + 5


def test_what_is_grey_leaves_out_the_chosen_topic(page, data) -> None:
    rare, leading = choose_rare(page, data)
    shown = [int(text) for text in content(page, "#map-legend .number")]
    assert len(shown) == 9
    assert shown[8] == (leading == rare).sum()
    others = len(set(leading.tolist())) - 9
    told = f"Grey: {data.size - sum(shown)} documents led by {others} other topics."
    assert content(page, "#map-rest") == [told]


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


@pytest.mark.parametrize("width", [390, 1280])
def test_the_label_of_a_chosen_topic_covers_none_of_its_points(page, data, width) -> None:
    look(page, width, 900)
    for layer in (1, 2):
        leading = data.theta[layer - 1].argmax(axis=1)
        counts = np.bincount(leading, minlength=data.widths[layer - 1])
        for topic in np.argsort(-counts, kind="stable")[:10].tolist():
            choose_in_table(page, layer, topic)
            label = label_of(page)
            for spot in page.execute_script(PLACES, np.flatnonzero(leading == topic).tolist()):
                assert not covers(label, spot), (layer, topic)


def test_what_the_pointer_told_of_another_layer_goes(page) -> None:
    page.execute_script(
        SPOTS + "const frame = canvas.getBoundingClientRect(), [x, y] = spot(23);"
        "canvas.dispatchEvent(new PointerEvent('pointermove', {bubbles: true,"
        "clientX: frame.left + x, clientY: frame.top + y}))"
    )
    tip = page.find_element("id", "map-tip")
    assert tip.is_displayed()
    click(page, ".theme h3 button")  # of the layer that the map shows
    assert tip.is_displayed()
    click(page, ".theme .chips button")  # of the layer below
    assert not tip.is_displayed()


def test_the_name_of_a_chosen_topic_leaves_the_open_document_free(page, data) -> None:
    look(page, 390, 900)
    spots = page.execute_script(PLACES, list(range(data.size)))
    seen = 0
    for topic in range(data.widths[1]):
        choose_in_table(page, 2, topic)
        under = [j for j, spot in enumerate(spots) if covers(label_of(page), spot)]
        for number in under[:1]:
            seen += 1
            page.execute_script(
                SPOTS + "const frame = canvas.getBoundingClientRect(), [x, y] = spot(arguments[0]);"
                "canvas.dispatchEvent(new MouseEvent('click', {bubbles: true,"
                "clientX: frame.left + x, clientY: frame.top + y}))", number,
            )  # fmt: skip
            assert not covers(label_of(page), spots[number]), (topic, number)
        if seen == 3:
            break
    assert seen, "no document lies under the name of a topic"
