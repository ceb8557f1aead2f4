"""The report in headless Chromium: opening, clicking, reading.

Tests that import this are skipped, with a message, where Chromium or selenium is missing (Debian:
apt install chromium chromium-driver; pip install selenium). PGBN_SCREENSHOTS=folder keeps pictures.
"""

import os
import shutil
import unicodedata
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

__all__ = ["CONTRAST", "By", "Keys", "WebDriverWait", "choose_option", "click", "content", "look",
           "needs_browser", "open_page", "picture", "readable", "start_browser"]  # fmt: skip

CHROMIUM = next(
    filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None
)
DRIVER = shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="no Chromium with its driver on this machine"
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
]


def start_browser(profile: Path) -> Any:
    """A new browser with a folder of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(DRIVER))


def look(browser, width: int, height: int, scheme: str = "light") -> None:
    """Open the page anew in a window of this size."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},  # the driver clicks while it scrolls
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    open_page(browser, browser.page_address)


def open_page(browser, address: str) -> None:
    """Open a page, and wait until it has drawn itself."""
    browser.get(address)
    ready = "return document.documentElement.dataset.ready === 'yes'"
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(ready))


def picture(browser, name: str) -> None:
    folder = os.environ.get("PGBN_SCREENSHOTS")
    if folder:
        browser.save_screenshot(str(Path(folder) / f"{name}.png"))


def content(browser, selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
    return browser.execute_script(script, selector)


def click(browser, selector: str) -> None:
    element = browser.find_element(By.CSS_SELECTOR, selector)
    browser.execute_script(
        "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element
    )
    element.click()


def choose_option(browser, name: str, value: str) -> None:
    browser.execute_script(
        "const s = document.getElementById(arguments[0]); s.value = arguments[1];"
        "s.dispatchEvent(new Event('change'))", name, value,
    )  # fmt: skip


def readable(word: str) -> str:
    """A word as a page can hold it: half characters, and those that command, are replaced."""
    whole = word.encode("utf-8", "replace").decode("utf-8")
    return "".join("\ufffd" if unicodedata.category(c) == "Cc" else c for c in whole)


CONTRAST = """
const parse = (text) => text.match(/[\\d.]+/g).map((v, i) => Number(v) * (text.startsWith("color(") && i < 3 ? 255 : 1));
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (e) => {
  if (!e) return [255, 255, 255];
  const [r, g, b, alpha = 1] = parse(getComputedStyle(e).backgroundColor);
  if (alpha === 1) return [r, g, b];
  const under = behind(e.parentElement);
  return [r, g, b].map((v, i) => alpha * v + (1 - alpha) * under[i]);
};
return [...document.querySelectorAll('h1,h2,p,a,td,th button,bdi,label,summary,.number')]
  .filter((e) => e.getClientRects().length && e.textContent.trim())
  .map((e) => { const style = getComputedStyle(e), a = light(parse(style.color)), b = light(behind(e));
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.outerHTML.slice(0, 80)]; })
  .filter(([ratio]) => ratio < 4.5);
"""
