"""Pages in a real browser, wide and narrow, light and dark: they are drawn, fit, can be read, and used by keyboard."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from isolane.conformance.checkers import judge
from isolane.conformance.report import comparing, page, run_page
from isolane.conformance.report.page import Page
from isolane.conformance.result import ScenarioRun
from isolane.conformance.selftest.browser import CHROMIUM, browser
from isolane.conformance.selftest.conformance.builders import isolated
from isolane.conformance.selftest.conformance.results import STARVED, result
from isolane.conformance.stored import StoredRun

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
    pytest.mark.parametrize("scheme", ["light", "dark"]),
    pytest.mark.parametrize("width", [390, 1280]),
    pytest.mark.parametrize("kind", ["run", "comparison"]),
]

DRAWN = "[...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('.xaxislayer-above'))"

LOOK = """
(() => {
  const all = [...document.querySelectorAll("body *")];
  const isLine = (path) => path.getBBox().width > 20 && getComputedStyle(path).stroke.startsWith("rgb");
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (part) => part <= 10.31 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const ground = (each) => {
    for (; each; each = each.parentElement) {
      const found = numbers(getComputedStyle(each).backgroundColor);
      if (found[3] !== 0) return found;
    }
    return [255, 255, 255];
  };
  const contrast = (each) => {
    const { color, fill } = getComputedStyle(each);
    const ink = luminance(numbers(each instanceof SVGElement ? fill : color));
    const paper = luminance(ground(each));
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  };
  const isText = (each) => !each.matches("script, style, noscript, noscript *")
    && each.getBoundingClientRect().width > 0
    && [...each.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
  return {
    lines: [...document.querySelectorAll(".plot")].map(
      (plot) => [...plot.querySelectorAll(".js-line")].filter(isLine).length),
    sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    beyond: all
      .filter((each) => each.getBoundingClientRect().right > innerWidth && !each.closest(".scroll, pre, .plot"))
      .map((each) => each.outerHTML.slice(0, 120)),
    pale: all
      .filter((each) => isText(each) && (contrast(each) < 4.5 || parseFloat(getComputedStyle(each).fontSize) < 12))
      .map((each) => `${each.outerHTML.slice(0, 120)}: ${contrast(each).toFixed(2)}`),
  };
})()
"""
"""What is drawn in each plot, how far the page scrolls sideways, what leaves the window, and text too pale or small."""

FOCUS = """
(() => {
  const { activeElement: here } = document;
  const { outlineStyle, outlineWidth } = getComputedStyle(here);
  const { left, top, right, bottom } = here.getBoundingClientRect();
  const inside = left >= 0 && right <= innerWidth + 1 && bottom > 0 && top < innerHeight;
  return {
    tag: here.tagName,
    text: here.textContent.trim().slice(0, 40),
    visible: inside && outlineStyle !== "none" && outlineWidth !== "0px",
  };
})()
"""
"""Where the keyboard is, and whether that can be seen."""

MOST_STOPS = 200


@dataclass(frozen=True)
class Seen:
    """What a browser made of a page: what it complained of, what `LOOK` says, and the stops of the keyboard."""

    complaints: list[dict[str, Any]]
    looks: dict[str, Any]
    stops: list[dict[str, Any]]


def pages(folder: Path) -> dict[str, Page]:
    """The page of a run that is red, and that of its comparison with one that is not."""
    lossy = isolated()
    lossy.produce("h0", 119)
    for number in range(104):
        size = (100 + number) << 20
        lossy.samples.append({"at": 100 + number / 4, "member": "0", "pid": 1, "rss": size, "threads": 9, "fds": 9})
    runs = []
    for name, made in (("lossy", lossy), ("whole", isolated())):
        history = made.load(folder / name / "handmade")
        scenario = ScenarioRun("handmade", "handmade", history.meta.judges, 26.0, title="one tenant is slow")
        findings = (*judge(history), STARVED)
        runs.append(StoredRun(folder / name, replace(result(), scenarios=(scenario,), findings=findings)))
    return {"run": run_page.make(runs[0].result, runs[0].folder), "comparison": comparing.page(runs)}


async def look(shown: Page, folder: Path, width: int, scheme: str) -> Seen:
    """Open a page, wait until it is drawn, look at it, and go through it by keyboard."""
    path = folder / "page.html"
    page.write(shown, path)
    async with browser(folder / "browser") as opened:
        await opened.open(path, width=width, scheme=scheme)
        await opened.until(DRAWN)
        looks = await opened.value(LOOK)
        stops: list[dict[str, Any]] = []
        for _ in range(MOST_STOPS):
            await opened.press_tab()
            stop = await opened.value(FOCUS)
            if stop["tag"] == "BODY":
                break
            stops.append(stop)
        return Seen(opened.complaints, looks, stops)


def test_a_page_is_drawn_fits_and_can_be_read(kind: str, width: int, scheme: str, tmp_path: Path) -> None:
    """No script fails, each curve is a line, nothing leaves the window, text has contrast, each stop can be seen."""
    shown = pages(tmp_path)[kind]
    seen = asyncio.run(look(shown, tmp_path, width, scheme))
    assert seen.complaints == []
    curves = [len(plot.figure["data"]) for section in shown.sections for plot in section.plots]
    assert seen.looks == {"lines": curves, "sideways": 0, "beyond": [], "pale": []}
    assert seen.stops[0]["text"] == "Skip to the content"
    assert 1 < len(seen.stops) < MOST_STOPS
    assert [stop for stop in seen.stops if not stop["visible"]] == []
