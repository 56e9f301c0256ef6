"""The demo: what it says of each mode is computed from that mode's own history."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from isolane.conformance import cli, demo
from isolane.conformance.checkers import judge
from isolane.conformance.demo import JUDGED, Lived, Mode
from isolane.conformance.history import History
from isolane.conformance.report import demo_page, page
from isolane.conformance.report.demo_account import Account, accounts
from isolane.conformance.report.effect import NothingToMeasureError, effect
from isolane.conformance.selftest.conformance.builders import Story, story
from isolane.conformance.selftest.conformance.results import result
from isolane.conformance.verdict import ExitCode
from isolane.fixtures.implementations import descriptor

RATE = 10
WARM_UP, CALM, ONSET, HEAL, AGAIN, HEALED, DRAIN, END = 98, 100, 105, 117, 123, 131, 134, 136
SICK = (("sick", ONSET, HEAL), ("ill", AGAIN, HEALED))


def made(*, stalls: tuple[tuple[float, float], ...] = (), bites: bool = True) -> Story:
    """A mode's story: the healthy tenant's records wait from the begin of each stall to its end.

    Those of each sick tenant wait from its onset until a second after its heal.
    """
    told = story(healthy=2)
    told.meta["tenants"][2] |= {"name": "ill", "role": "sick"}
    told.meta["topics"][2]["tenant"] = "ill"
    told.phase("warm-up", WARM_UP)
    told.phase("control", CALM)
    for tenant, began, ended in SICK:
        told.fault(f"slow-{tenant}", tenant, began, ended)
        told.events[-2]["script"] = {"latency": 5.0}
        told.phase(f"heal:slow-{tenant}", ended)
        if bites:
            told.attempt(tenant, [None], began + 1, took=5)
    told.phase("drain", DRAIN)
    told.phase("end", END)
    for number in range((DRAIN - WARM_UP) * RATE):
        due = WARM_UP + number / RATE
        waits = [ended - due for began, ended in stalls if began <= due < ended]
        told.deliver("h0", due, delay=max(waits, default=0) + 0.05)
        for tenant, began, ended in SICK:
            told.deliver(tenant, due, delay=ended + 1 - due if began <= due < ended else 0.05)
    return told


def told_of(folder: Path, *stories: Story) -> list[Account]:
    """The accounts of modes called A, B and C, which lived through these stories."""
    modes = []
    for name, each in zip("ABC", stories, strict=False):
        history = each.load(folder / name)
        findings = tuple(finding for finding in judge(history) if finding.requirement == JUDGED)
        modes.append(Lived(Mode("reference", name, "How it works."), history, replace(result(), findings=findings)))
    return accounts(modes)


def history_of(folder: Path, told: Story) -> History:
    """The story as a history."""
    return told.load(folder / "history")


def test_figures_of_a_tenant_that_felt_nothing(tmp_path: Path) -> None:
    """Its rate is kept, its delays are as in the calm, and it has no backlog at the heal."""
    history = history_of(tmp_path, made())
    felt = effect(history, "h0", history.faults[0])
    assert felt.kept == pytest.approx(1, abs=0.02)
    assert felt.worst_rate == pytest.approx(RATE, abs=1)
    assert felt.stall < 0.1
    assert felt.p99 == pytest.approx(felt.calm_p99) == pytest.approx(0.05)
    assert felt.recovery == pytest.approx(0, abs=0.05)


def test_figures_of_a_tenant_that_was_stalled(tmp_path: Path) -> None:
    """The longest stall may outlast the fault; what was due in the fault counts with its whole delay."""
    history = history_of(tmp_path, made(stalls=((ONSET + 3, HEAL + 3),)))
    felt = effect(history, "h0", history.faults[0])
    assert felt.kept == pytest.approx(3 / 12, abs=0.02)
    assert felt.worst_rate == 0
    assert felt.stall == pytest.approx(12, abs=0.1)
    assert felt.p99 == pytest.approx(12, abs=0.2)
    assert felt.calm_p99 == pytest.approx(0.05)
    assert felt.recovery == pytest.approx(3.05)


def test_figures_are_those_of_one_fault(tmp_path: Path) -> None:
    """What a second fault does is not counted with the first, and the calm is that before both."""
    history = history_of(tmp_path, made(stalls=((AGAIN, HEALED + 1),)))
    first, second = (effect(history, "h0", fault) for fault in history.faults)
    assert first.kept == pytest.approx(1, abs=0.02)
    assert first.stall < 0.1
    assert second.kept == pytest.approx(0, abs=0.02)
    assert second.stall == pytest.approx(9, abs=0.1)
    assert second.recovery == pytest.approx(1.05)
    assert first.calm_rate == second.calm_rate == pytest.approx(RATE, abs=1)


def test_figures_of_a_tenant_that_was_given_up(tmp_path: Path) -> None:
    """What is never accepted has an endless delay and never recovers."""
    told = made()
    told.produce("h0", HEAL - 1)
    history = history_of(tmp_path, told)
    felt = effect(history, "h0", history.faults[0])
    assert felt.recovery == math.inf
    lost = made()
    for number in range(100):
        lost.produce("h0", ONSET + 1 + number / 100)
    assert effect(history_of(tmp_path / "lost", lost), "h0", history.faults[0]).p99 == math.inf


def test_without_a_calm_there_is_nothing_to_measure(tmp_path: Path) -> None:
    """A history with no control, or no load for the tenant, is refused with the reason."""
    told = made()
    told.events = [event for event in told.events if event["name"] != "control"]
    history = history_of(tmp_path, told)
    with pytest.raises(NothingToMeasureError, match="'control'"):
        effect(history, "h0", history.faults[0])
    idle = made()
    idle.produced = [line for line in idle.produced if line["topic"] == idle.topic("sick")]
    history = history_of(tmp_path / "idle", idle)
    with pytest.raises(NothingToMeasureError, match="h0 was not offered"):
        effect(history, "h0", history.faults[0])


def test_a_sentence_says_what_the_history_shows(tmp_path: Path) -> None:
    """A mode that stalls the healthy tenant is told so with its figures, and so is one that does not."""
    stalled, isolated = told_of(tmp_path, made(stalls=((ONSET, HEAL),)), made())
    assert stalled.sentences[0] == (
        "A drags h0 down with sick: h0 kept 0 % of its calm rate, its longest stall was 12.0 s, its p99 delay 12.0 s, "
        "and all backlog was gone 1.0 s after the heal."
    )
    assert isolated.sentences[0] == (
        "B isolates h0 from sick: h0 kept 100 % of its calm rate (before: 0 %), its longest stall was 0.05 s (12.0 s), "
        "its p99 delay 0.05 s (12.0 s), and all backlog was gone 1.0 s after the heal."
    )


def test_each_fault_has_its_own_sentence(tmp_path: Path) -> None:
    """A mode may isolate from one tenant and not from another; each is compared with the same fault before."""
    both = ((ONSET, HEAL), (AGAIN, HEALED))
    told = told_of(tmp_path, made(stalls=both), made(stalls=((AGAIN, HEALED - 3),)), made())
    assert [[sentence.partition(":")[0] for sentence in account.sentences] for account in told] == [
        ["A drags h0 down with sick", "It drags h0 down with ill"],
        ["B isolates h0 from sick", "It still drags h0 down with ill, though less"],
        ["C still isolates h0 from sick", "It isolates h0 from ill"],
    ]
    assert "its longest stall was 5.0 s (8.0 s)" in told[1].sentences[1]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (((ONSET, HEAL),), ((ONSET, HEAL + 1),), ", as much as before"),
        (((ONSET, HEAL),), ((ONSET, ONSET + 5),), ", though less"),
        (((ONSET, ONSET + 5),), ((ONSET, HEAL + 2),), ", and more"),
        (((ONSET + 8, HEAL + 4),), ((ONSET, ONSET + 3), (ONSET + 5, HEAL + 4)), ", and more"),
        (((ONSET + 8, HEAL + 4),), ((ONSET, ONSET + 5.5), (ONSET + 6.5, HEAL)), ", in another way"),
    ],
)
def test_a_mode_is_compared_with_the_one_before(
    first: tuple[tuple[float, float], ...],
    second: tuple[tuple[float, float], ...],
    said: str,
    tmp_path: Path,
) -> None:
    """What a change brought depends on both modes' rates and stalls."""
    _, account = told_of(tmp_path, made(stalls=first), made(stalls=second))
    assert account.sentences[0].startswith(f"B still drags h0 down with sick{said}: ")


def test_a_mode_may_be_worse_than_the_one_before(tmp_path: Path) -> None:
    """One that does harm where the one before did none has done it by itself."""
    _, account = told_of(tmp_path, made(), made(stalls=((ONSET, HEAL),)))
    assert account.sentences[0].startswith("B drags h0 down with sick: h0 kept 0 % of its calm rate (before: 100 %)")


def test_a_fault_that_did_not_bite_proves_nothing(tmp_path: Path) -> None:
    """A mode that no fault reached is not said to isolate."""
    (account,) = told_of(tmp_path, made(bites=False))
    assert account.sentences[0].startswith("A cannot be judged with sick slow (")
    assert "did not bite" in account.sentences[0]


def test_what_else_is_wrong_is_told(tmp_path: Path) -> None:
    """A record lost on the way, and a starved harness, stand beside the sentence as warnings."""
    told = made()
    token = told.produce("h0", HEAL + 1)
    told.commit(END, {f"{token.topic}/0": token.sequence + 1})
    history = history_of(tmp_path, told)
    lived = Lived(demo.MODES[0], history, replace(result(), findings=tuple(judge(history))))
    (account,) = accounts([lived])
    assert [warning.partition(":")[0] for warning in account.warnings if "DEL-1" in warning] == ["DEL-1"]


def test_the_page_shows_each_mode_on_the_same_axes(tmp_path: Path) -> None:
    """A section for each mode with its sentence, plots and figures; all plots begin and end together."""
    both = ((ONSET, HEAL), (AGAIN, HEALED))
    told = told_of(tmp_path, made(stalls=both), made(stalls=((AGAIN, HEALED),)), made())
    made_on = replace(
        result(),
        services={"kafka": "Apache Kafka", "elasticsearch": "scripted"},
        machine={"system": "Linux", "architecture": "riscv64", "cores": 2, "python": "3.11.2"},
    )
    shown = demo_page.page(told, made_on, {"Run it again": "isolane demo --seed 7"})
    overview, *modes = shown.sections
    assert [[(row[0], row[2], row[-1]) for row in table.rows] for table in overview.tables] == [
        [("A", "12.0 s", "fail"), ("B", "0.05 s", "pass"), ("C", "0.05 s", "pass")],
        [("A", "8.0 s", "fail"), ("B", "8.0 s", "fail"), ("C", "0.05 s", "pass")],
    ]
    assert [section.says for section in modes] == [account.sentences for account in told]
    figures = modes[1].tables[0]
    assert figures.columns == ("", "h0, sick slow", "h0, ill slow", "sick, slow", "ill, slow")
    assert next(row for row in figures.rows if row[0] == "longest stall")[1:] == ("0.05 s", "8.0 s", "12.0 s", "8.0 s")
    for section in modes:
        shades = section.plots[0].figure["layout"]["shapes"]
        assert [(shade["x0"], shade["x1"]) for shade in shades] == [(0, HEAL - ONSET), (AGAIN - ONSET, HEALED - ONSET)]
    for number in (0, 1):
        ranges = {
            str([section.plots[number].figure["layout"][axis]["range"] for axis in ("xaxis", "yaxis")])
            for section in modes
        }
        assert len(ranges) == 1
    text = page.render(shown)
    for fact in ("riscv64", "3.11.2", "2026-01-02T03:04:05+00:00", "h0 (2 partitions), healthy", "sick: 5 s/request"):
        assert fact in text


def test_one_sick_tenant_can_hold_every_worker() -> None:
    """It has as many partitions as there are sending workers; the other, of the same load, leaves most of them free."""
    for mode in demo.MODES:
        known = descriptor.find(mode.implementation)
        tenants = {tenant.name: tenant for tenant in demo.shape(known).tenants}
        assert tenants[demo.WIDE].partitions == known.limits.workers
        assert tenants[demo.NARROW].partitions + tenants[demo.HEALTHY].partitions <= known.limits.workers / 2
        assert len({tenant.rate for tenant in tenants.values()}) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--services", "redis=native"), "'redis=native': no such service"),
        (("--seed", "-1"), "--seed"),
        (("--out", "."), "is not empty"),
    ],
)
def test_wrong_options_are_wrong_usage(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each is named with its value, and nothing is started."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").touch()
    assert cli.run(["demo", *arguments]) == ExitCode.WRONG_USAGE
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.nightly
def test_the_demo_shows_what_each_mode_brings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It ends well, says a sentence a mode, leaves its page, and histories in which only the limiter isolates."""
    folder = tmp_path / "demo"
    assert cli.run(["demo", "--out", str(folder)]) == ExitCode.CONFORMS
    printed = capsys.readouterr().out
    assert [mode.name for mode in demo.MODES if f"{mode.name} " in printed] == [mode.name for mode in demo.MODES]
    assert str(folder / "demo.html") in printed
    assert (folder / "demo.html").stat().st_size > 0
    codes = [cli.run(["check", str(folder / mode.implementation / demo.SCENARIO.name)]) for mode in demo.MODES]
    assert codes == [ExitCode.VIOLATES, ExitCode.VIOLATES, ExitCode.CONFORMS]
