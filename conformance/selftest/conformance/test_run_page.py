"""A run's page: verdicts, stories and plots in one file; every link leads somewhere, every plot shows something."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import Mock

import plotly.graph_objects
import pytest

from isolane.conformance.checkers import judge
from isolane.conformance.history import History
from isolane.conformance.report import page, run_page, scenario_section
from isolane.conformance.report.page import Page
from isolane.conformance.report.tables import Cell
from isolane.conformance.result import RunResult, ScenarioRun
from isolane.conformance.scenarios.catalogue import SCENARIOS
from isolane.conformance.selftest.conformance import builders
from isolane.conformance.selftest.conformance.builders import Story, isolated
from isolane.conformance.selftest.conformance.results import STARVED, result
from isolane.conformance.stored import StoredRun
from isolane.conformance.verdict import Verdict
from isolane.fixtures.implementations import descriptor

TITLES = ["Records accepted", "Longest delay", "Requests open", "Memory", "Records of one partition"]


def lived() -> Story:
    """Ten seconds of control, ten of a fault, then two records that are lost; memory is sampled."""
    made = isolated()
    for _ in range(2):
        made.produce("h0", 119)
    for at in range(100, 126):
        made.samples.append({"at": at, "member": "0", "pid": 1, "rss": (100 + at) << 20, "threads": 9, "fds": 9})
    return made


def run(folder: Path, made: Story) -> RunResult:
    """A run of one scenario in its folder."""
    history = made.load(folder / "handmade")
    scenario = ScenarioRun("handmade", "handmade", history.meta.judges, 26.0, title="one tenant is slow")
    return replace(result(), scenarios=(scenario,), findings=(*judge(history), STARVED))


def made_page(folder: Path, made: Story | None = None) -> Page:
    """The page of such a run."""
    return run_page.make(run(folder, made or lived()), folder)


def read(html: str) -> str:
    """The text of a page, as it is read: without the elements around its words."""
    return unescape(re.sub("<[^>]+>", "", html))


class Names(HTMLParser):
    """The anchors and links of a page, and the levels of its headings, in order."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.levels: list[int] = []
        self.labelled: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what names, and what leads."""
        attributes = dict(attrs)
        self.tags.append(tag)
        self.anchors += [attributes["id"] or ""] if "id" in attributes else []
        self.links += [attributes["href"] or ""] if "href" in attributes else []
        self.labelled += [attributes["aria-labelledby"] or ""] if "aria-labelledby" in attributes else []
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))


def test_a_page_says_what_the_run_found(tmp_path: Path) -> None:
    """The verdict first, then profiles, violations with their stories, requirements, scenarios and bounds."""
    html = page.render(made_page(tmp_path))
    text = read(html)
    assert re.search(
        r'class="badge verdict fail">\s*<span class="mark" aria-hidden="true">✗</span> does not conform', html
    )
    for said in (
        "DEL-1 violated in handmade",
        "acknowledged by Kafka",
        "isolane verify reference --depth smoke --seed 7 --only DEL-1",
        "One tenant is slow.",
        "Not judged: TEN-1, TEN-3",
        "commit_interval",
        "What is not judged may be broken",
    ):
        assert said in text
    titles = [section.title for section in made_page(tmp_path / "again").sections]
    assert titles == ["Profiles", "Violations", "Requirements", "Scenario handmade", "What this rests on"]


def test_every_plot_has_data(tmp_path: Path) -> None:
    """Rates, delays, open requests, memory and a partition's progress: each curve has values that are not nothing."""
    sections = made_page(tmp_path).sections
    plots = [plot for section in sections for plot in section.plots]
    assert [plot.title.startswith(title) for plot, title in zip(plots, TITLES, strict=True)] == [True] * len(TITLES)
    for plot in plots:
        for trace in plot.figure["data"]:
            assert any(value for value in trace["y"] if value is not None), f"{plot.title}: {trace['name']}"
            assert len(trace["x"]) == len(trace["y"])
        plotly.graph_objects.Figure(json.loads(re.sub(r'"--[a-z-]+"', '"#123456"', json.dumps(plot.figure))))


def test_the_fault_is_shaded_in_every_plot_and_explained_once(tmp_path: Path) -> None:
    """By its number, which is in a table with the tenant and the times: words would not fit into a small plot."""
    section = next(each for each in made_page(tmp_path).sections if each.plots)
    for plot in section.plots:
        assert [(shape["x0"], shape["x1"]) for shape in plot.figure["layout"]["shapes"]] == [(10, 20)]
    (faults,) = section.tables
    assert faults.rows == (("1", "slow", "10.0 to 20.0\N{NO-BREAK SPACE}s", "sick", ""),)


def test_each_row_of_the_requirements_says_which_it_is_of(tmp_path: Path) -> None:
    """Read out, or on a telephone, a row without a heading could be of any; only what is red leads to a story."""
    found = run(tmp_path, lived())
    more = [
        replace(each, verdict=Verdict.PASS, scenario="other") for each in found.findings if each.requirement == "DEL-1"
    ]
    made = run_page.make(replace(found, findings=(*found.findings, *more)), tmp_path)
    (table,) = next(each for each in made.sections if each.title == "Requirements").tables
    heads = [row[0] for row in table.rows if getattr(row[0], "text", row[0]) == "DEL-1"]
    assert heads == [Cell("DEL-1", link="violations"), "DEL-1"]


def test_a_scenario_by_itself_says_only_what_is_known_of_it(tmp_path: Path) -> None:
    """Its folder knows no date, machine or services: no facts without a value."""
    run(tmp_path, lived())
    stored = StoredRun.open(tmp_path / "handmade")
    facts = run_page.make(stored.found, stored.folder).facts
    assert {"Date", "Took", "Machine"}.isdisjoint(facts)
    assert all(facts.values())


def test_what_a_plot_shows_is_in_a_table_too(tmp_path: Path) -> None:
    """For who cannot see it: before the first fault, and in each."""
    section = next(each for each in made_page(tmp_path).sections if each.plots)
    rates = section.plots[0].summary
    assert rates is not None
    assert rates.columns == ("", "before the first fault", "fault 1")
    assert rates.rows[0] == ("sick (sick)", "19.9", "0.2")
    assert rates.rows[1][0] == "h0 (healthy)"


def test_partitions_can_be_chosen_the_worst_first(tmp_path: Path) -> None:
    """The one that fell behind furthest is shown, without a choice having been made."""
    plot = next(each for each in made_page(tmp_path).sections if each.plots).plots[-1]
    assert next(iter(plot.choices)) == "managed_otlp.logs.sick/0"
    assert plot.choices["managed_otlp.logs.sick/0"] == plot.figure["data"]
    assert {trace["name"] for trace in plot.figure["data"]} == {"produced", "accepted or put aside", "committed past"}


def test_no_two_tenants_have_the_same_colour(tmp_path: Path) -> None:
    """Whatever their parts: up to as many as have a curve each in a scenario of the suite."""
    known = descriptor.find("reference")
    shapes = [scenario.shape(known).tenants for scenario in SCENARIOS]
    for number, tenants in enumerate(each for each in shapes if len(each) <= scenario_section.MOST_TENANTS):
        made = builders.story(healthy=len(tenants) - 1)
        for told, tenant in zip(made.meta["tenants"], tenants, strict=True):
            told["role"] = tenant.role
        groups = scenario_section.groups_of(made.load(tmp_path / str(number)))
        assert len({group.colour for group in groups}) == len(tenants)


def test_many_tenants_share_a_curve(tmp_path: Path) -> None:
    """Five hundred curves show nothing."""
    history = isolated(healthy=9, rate=5).load(tmp_path)
    assert [group.name for group in scenario_section.groups_of(history)] == ["1 sick tenants", "9 healthy tenants"]


def test_a_long_scenario_has_longer_bins(tmp_path: Path) -> None:
    """A soak of an hour can still be opened."""
    made = builders.story()
    made.phase("control", 0)
    made.phase("drain", 3600)
    made.phase("end", 3660)
    view = scenario_section.view_of(made.load(tmp_path))
    assert (view.step, view.ended) == (10.0, 3660)


def test_links_and_labels_lead_somewhere_and_headings_skip_no_level(tmp_path: Path) -> None:
    """For who goes through the page by keyboard, or has it read out."""
    names = Names(page.render(made_page(tmp_path)))
    assert len(set(names.anchors)) == len(names.anchors)
    assert {link.removeprefix("#") for link in names.links} <= set(names.anchors)
    assert set(names.labelled) <= set(names.anchors)
    assert names.levels[0] == 1
    assert all(after - before <= 1 for before, after in zip(names.levels, names.levels[1:], strict=False))
    assert {"main", "nav", "header", "footer"} <= set(names.tags)
    assert names.tags.count("caption") == names.tags.count("table")


@pytest.mark.parametrize("damage", ["gone", "damaged"])
def test_a_scenario_without_a_history_says_so(damage: str, tmp_path: Path) -> None:
    """The page is written all the same: the rest of the run is worth being seen."""
    found = run(tmp_path, lived())
    if damage == "gone":
        shutil.rmtree(tmp_path / "handmade")
        scenario = replace(found.scenarios[0], failure="not run: no canary came through")
        found = replace(found, scenarios=(scenario,))
    else:
        (tmp_path / "handmade" / "commits.ndjson").write_text("oops\n{}\n")
    section = next(each for each in run_page.make(found, tmp_path).sections if each.title == "Scenario handmade")
    assert not section.plots
    assert any("no canary came through" in each or "commits.ndjson, line 1" in each for each in section.warnings)


def test_a_history_in_which_nothing_happened_has_a_page(tmp_path: Path) -> None:
    """Empty plots are no reason to fail."""
    assert page.render(made_page(tmp_path, builders.story()))


def test_loading_a_page_reads_each_history_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Histories of soaks are large."""
    found = run(tmp_path, lived())
    load = Mock(side_effect=History.load)
    monkeypatch.setattr(History, "load", load)
    run_page.make(found, tmp_path)
    load.assert_called_once_with(tmp_path / "handmade")
