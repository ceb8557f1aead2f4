"""Naming topics, and the map by keyboard, in headless Chromium."""

from dataclasses import replace

from pgbn.report import write_report
from tests.helpers.browser import By, Keys, click, content, needs_browser, open_page, picture

pytestmark = needs_browser

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


def test_a_name_that_is_given_at_the_side_stands_everywhere(page) -> None:
    click(page, ".theme h3 button")
    place = page.find_element(By.CSS_SELECTOR, ".theme h3 button").get_attribute("data-choose")
    layer, topic = place.split("/")
    name = "It's <i>wet</i>"
    page.find_element(By.ID, "own-name").send_keys(name, Keys.ENTER)
    assert content(page, "#detail h2") == [f"Layer {layer}, topic {topic}: {isolated(name)}"]
    assert page.execute_script(FOCUSED) == "own-name", "the focus stays"
    assert content(page, ".theme h3 strong") == [f"{name} "]
    label = page.find_element(By.CSS_SELECTOR, ".theme h3 button").get_attribute("aria-label")
    assert label.startswith(f"Layer {layer}, topic {topic}: {name}, ")
    everywhere = (f'#tree [data-topic="{place}"] bdi', f'.node[data-topic="{place}"] text')
    for where in everywhere:
        assert name[:6] in content(page, where)[0]
    page.execute_script(
        "const s = document.getElementById('layer'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('change'))", layer,
    )  # fmt: skip
    assert content(page, f'#table-body tr[data-topic="{place}"] bdi')[0] == name
    assert content(page, "#name-command") == [
        f"pgbn label MODEL '{layer}/{topic}=It'\\''s <i>wet</i>'"
    ]
    assert page.execute_script("return document.querySelectorAll('i').length") == 0
    picture(page, "name")
    page.find_element(By.ID, "own-name").clear()
    page.find_element(By.ID, "own-name").send_keys(Keys.ENTER)
    assert content(page, "#detail h2") == [f"Layer {layer}, topic {topic}"]
    assert content(page, ".theme h3 strong") == []


def test_the_command_names_the_folder_where_it_is_known(page, data, tmp_path) -> None:
    known = replace(data, folder="my models/it's one")
    open_page(page, write_report(known, tmp_path / "known.html").as_uri())
    click(page, ".theme h3 button")
    page.find_element(By.ID, "own-name").send_keys("rain", Keys.ENTER)
    (command,) = content(page, "#name-command")
    assert command.startswith("pgbn label 'my models/it'\\''s one' '2/")


def test_a_topic_is_named_by_words(page, data) -> None:
    joint = data.weights[0][:, None] * data.phi[0]
    leading = data.phi[0].argmax(axis=1)
    wanted = next(
        k for k, v in enumerate(leading)
        if joint[:, v].argmax() == k and data.vocabulary[v].startswith("word")
    )  # fmt: skip
    word = data.vocabulary[int(leading[wanted])]
    field = page.find_element(By.ID, "name-words")
    field.send_keys(f"rain = {word.upper()}", Keys.ENTER)
    assert content(page, "#detail h2") == [f"Layer 1, topic {wanted}: {isolated('rain')}"]
    assert content(page, "#name-command") == [f"pgbn label MODEL '1/{wanted}=rain'"]
    for text, told in (("rain", "Give a name and words"), ("rain = nosuch", "No topic of layer 1")):
        field.clear()
        field.send_keys(text, Keys.ENTER)
        assert told in content(page, "#name-said")[0]
    assert content(page, "#name-command") == [f"pgbn label MODEL '1/{wanted}=rain'"]


def test_case_matters_where_a_term_is_written_like_the_word(page, data, tmp_path) -> None:
    """As in `pgbn.evaluation.find_topics`."""
    joint = data.weights[0][:, None] * data.phi[0]
    lead = {int(row.argmax()): k for k, row in enumerate(data.phi[0])}
    found = [v for v, k in lead.items() if joint[:, v].argmax() == k]
    small, large = [v for v in found if data.vocabulary[v].startswith("word")][:2]
    words = list(data.vocabulary)
    words[large] = words[small].upper()
    known = replace(data, vocabulary=words)
    open_page(page, write_report(known, tmp_path / "case.html").as_uri())
    for word, column in ((words[small], small), (words[large], large)):
        page.find_element(By.ID, "name-words").clear()
        page.find_element(By.ID, "name-words").send_keys(f"x = {word}", Keys.ENTER)
        assert content(page, "#name-said") == [f"Layer 1, topic {lead[column]}: {isolated('x')}"]
