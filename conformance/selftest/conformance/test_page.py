"""Pages: one file that needs nothing else, holds all that is plotted, and escapes what it is given."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import plotly.graph_objects
import pytest

from isolane.conformance.report import page, plots
from isolane.conformance.report.page import Page, Section
from isolane.conformance.report.plots import Axes, Curve
from isolane.conformance.report.series import Series, Shade
from isolane.conformance.report.tables import Table

CURVE = Curve("brisk", plots.HEALTHY, Series((0.25, 0.75, 1.25), (100.0, None, 2710.0)))
DASHED = Curve("offered", plots.OFFERED, Series((0.0, 1.5), (98.7, 98.7)), dashed=True)
SHADES = (Shade(0.5, 1.0, "narrow: 5 s/request"),)
AXES = Axes((0, 1.5), 250)


class Reader(HTMLParser):
    """Keeps what a browser would load, the texts of scripts and styles by element, and other text."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the element."""
        self.tags.append((tag, dict(attrs)))
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "srcset", "data", "action"}]

    def handle_data(self, data: str) -> None:
        """Keep the text with the element before it."""
        self.inside.append((self.tags[-1][0] if self.tags else "", data))

    def texts(self, tag: str) -> str:
        """All text that followed an opening tag of this kind."""
        return "".join(text for name, text in self.inside if name == tag)


def figures(text: str) -> list[dict[str, Any]]:
    """The figures in a page."""
    return [json.loads(each) for each in re.findall(r'<script type="application/json">(.*?)</script>', text)]


def whole() -> Page:
    """A page with two plots and a table."""
    section = Section(
        "One shared loop",
        ("It stood still.", "Then it moved."),
        about="How it works.",
        plots=(
            plots.rates("Records accepted a second", (DASHED, CURVE), SHADES, AXES),
            plots.delays("Longest delay", (CURVE,), SHADES, AXES),
        ),
        tables=(Table("Figures", ("", "brisk"), (("records/s", "98.7"),)),),
        warnings=("the harness was starved",),
    )
    return Page("A demo", "What is shown.", (section,), {"Seed": "7"}, {"Run it again": "isolane demo --seed 7"})


def test_a_page_loads_nothing() -> None:
    """No element of it, and no style, names an address; and it forbids itself to connect to any."""
    text = page.render(whole())
    reader = Reader(text)
    assert [each for each in reader.addresses if not each.startswith("#")] == []
    assert not re.search(r"@import|url\(", reader.texts("style"))
    policy = next(attributes for tag, attributes in reader.tags if "http-equiv" in attributes and tag == "meta")
    assert str(policy["content"]).startswith("default-src 'none'")


def test_the_library_is_in_the_page_once() -> None:
    """Plots work offline, and the page is no larger than it must be."""
    assert page.render(whole()).count("* plotly.js v") == 1


def test_a_page_holds_all_that_is_plotted() -> None:
    """Each curve's times and values are in the page, gaps too."""
    rates, delays = figures(page.render(whole()))
    assert [trace["y"] for trace in rates["data"]] == [[98.7, 98.7], [100.0, None, 2710.0]]
    assert [trace["x"] for trace in delays["data"]] == [[0.25, 0.75, 1.25]]


def test_a_page_says_in_text_what_plots_show() -> None:
    """Each plot has a caption, a label for who cannot see it, and a key; figures are in tables with headings."""
    reader = Reader(page.render(whole()))
    labels = [attributes["aria-label"] for tag, attributes in reader.tags if attributes.get("role") == "img"]
    assert labels == ["Records accepted a second; peaks reach 2,710", "Longest delay"]
    assert [tag for tag, _ in reader.tags].count("figcaption") == 2
    text = "".join(text for _, text in reader.inside)
    for said in (
        "It stood still.",
        "Then it moved.",
        "How it works.",
        "the harness was starved",
        "98.7",
        "isolane demo --seed 7",
    ):
        assert said in text


def test_what_a_page_is_given_is_escaped() -> None:
    """Names cannot add elements, neither as text nor inside the data of a plot."""
    evil = "</script><img src=x onerror=alert(1)>"
    curve = Curve(evil, plots.HEALTHY, Series((0.0,), (1.0,)))
    section = Section(evil, (evil,), evil, (plots.rates(evil, (curve,), (Shade(0, 1, evil),), AXES),), warnings=(evil,))
    table = Table(evil, ("", evil), ((evil, evil),))
    text = page.render(Page(evil, evil, (section, Section(evil, tables=(table,))), {evil: evil}, {evil: evil}))
    assert "img" not in [tag for tag, _ in Reader(text).tags]
    assert figures(text)[0]["data"][0]["name"] == evil


@pytest.mark.parametrize("plot", whole().sections[0].plots, ids=["rates", "delays"])
def test_plotly_knows_every_part_of_a_plot(plot: plots.Plot) -> None:
    """A figure says nothing that Plotly would pass over in silence: each attribute exists and takes its value."""
    text = re.sub(r'"--[a-z-]+"', '"#123456"', json.dumps(plot.figure))
    plotly.graph_objects.Figure(json.loads(text))


def test_every_colour_is_one_of_the_page() -> None:
    """A colour that the page does not define, under light and under dark, would be drawn black."""
    text = page.render(whole())
    used = set(re.findall(r'"(--[a-z-]+)"', json.dumps(figures(text))))
    assert used >= {plots.HEALTHY, plots.OFFERED}
    for name in used | {*plots.SICK}:
        assert len(re.findall(rf"{name}: #[0-9a-f]{{6}};", text)) == 2


def test_a_title_says_how_high_a_plot_was_left() -> None:
    """A peak above the axis is not lost: the highest value is in the title. What stays below is not."""
    assert plots.rates("Records", (DASHED, CURVE), (), AXES).title == "Records; peaks reach 2,710"
    calm = Curve("brisk", plots.HEALTHY, Series((0.25,), (250.0,)))
    assert plots.rates("Records", (calm,), (), AXES).title == "Records"


def test_faults_are_shaded_and_named() -> None:
    """The shade has the fault's times, and its label begins where it does."""
    layout = plots.rates("", (CURVE,), SHADES, Axes((0, 1.5), 3000)).figure["layout"]
    assert [(shape["x0"], shape["x1"]) for shape in layout["shapes"]] == [(0.5, 1.0)]
    assert [(label["x"], label["text"]) for label in layout["annotations"]] == [(0.5, "narrow: 5 s/request")]


def test_labels_of_faults_do_not_stand_upon_each_other() -> None:
    """Of faults that begin close to each other the first is labelled, in every plot; each has its shade."""
    shades = [Shade(at, 80, str(number)) for number, at in enumerate((10.0, 10.1, 12.0, 40.0, 42.5), start=1)]
    curve = Curve("brisk", plots.HEALTHY, Series((0.25,), (1.0,)))
    for plot in (
        plots.rates("", (curve,), shades, Axes((0, 80), 1)),
        plots.delays("", (curve,), shades, Axes((0, 80), 1)),
        plots.amounts("", (curve,), shades, (0, 80), "%{y}"),
    ):
        assert [label["text"] for label in plot.figure["layout"]["annotations"]] == ["1", "4", "5"]
        assert len(plot.figure["layout"]["shapes"]) == 5


def test_no_line_ends_at_a_hyphen() -> None:
    """Half an option, an id or a topic reads as something else; what is text stays text."""
    html = page.unbroken("isolane why <RUN> --depth ISO-1.")
    assert html == ('isolane why &lt;RUN&gt; <span class="word">--depth</span> <span class="word">ISO-1.</span>')
